import { type CallExpression, Node, type PropertyAccessExpression, type PropertyAssignment, ts } from 'ts-morph'
import type { FileRewrite } from '../file-rewrite.ts'
import { rewriteRequestOptions } from '../requests.ts'
import { classOf, hasSpread, propertyValue, stringOf, withoutCasts } from '../syntax.ts'

/** Rewrites calls of a client. */
export function rewriteClientCalls(rewrite: FileRewrite): void {
  for (const access of rewrite.file.getDescendantsOfKind(ts.SyntaxKind.PropertyAccessExpression)) {
    const owner = classOf(access.getExpression())
    if (owner !== 'V1Client' && owner !== 'V2Client') continue
    const parent = access.getParent()
    if (Node.isCallExpression(parent) && parent.getExpression() === access) {
      rewriteCall(rewrite, parent, access, owner === 'V1Client')
    } else if (Node.isBinaryExpression(parent) && parent.getLeft() === access) rewriteEvent(rewrite, access, parent)
    else if (unknownMembers.has(access.getName())) reportMember(rewrite, access)
  }
  for (const property of rewrite.file.getDescendantsOfKind(ts.SyntaxKind.PropertyAssignment)) {
    if (property.getName() === 'versionNegotiation') reportNegotiation(rewrite, property)
  }
}

function reportNegotiation(rewrite: FileRewrite, property: PropertyAssignment): void {
  rewrite.report(
    property,
    property.getText().split('\n')[0]!,
    'A client of Tenon negotiates the newest revision that both sides have.',
    'Delete it, or pass revision or revisions to the client to choose from fewer.',
  )
}

const listCalls = new Set([
  'listTools',
  'listPrompts',
  'listResources',
  'listResourceTemplates',
  'getPrompt',
  'readResource',
])
const unknownMembers = new Set([
  'sendRootsListChanged',
  'registerCapabilities',
  'transport',
  'experimental',
  'fallbackRequestHandler',
  'fallbackNotificationHandler',
])

function rewriteCall(
  rewrite: FileRewrite,
  call: CallExpression,
  access: PropertyAccessExpression,
  isV1: boolean,
): void {
  const name = access.getName()
  const args = call.getArguments()
  if (name === 'callTool') {
    rewriteRequestOptions(rewrite, args[isV1 ? 2 : 1])
    // v1: (params, schema, options)
    if (isV1 && args[1]) rewrite.replaceRange(args[0]!.getEnd(), args[1].getEnd(), '')
  } else if (name === 'request') rewriteRequest(rewrite, call, access, isV1)
  else if (name === 'notification') rewriteMessage(rewrite, call, access, 'notify')
  else if (name === 'complete') {
    rewriteRequestOptions(rewrite, args[1])
    rewriteCompletion(rewrite, call)
  } else if (listCalls.has(name)) rewriteRequestOptions(rewrite, args[1])
  else if (name === 'getNegotiatedProtocolVersion') {
    rewrite.replaceRange(access.getNameNode().getStart(), call.getEnd(), 'revision')
  } else if (name === 'ping') rewriteRequestOptions(rewrite, args[0])
  else if (name === 'connect' && args[1]) {
    rewrite.report(
      call,
      call.getText(),
      'connect() of Tenon takes only a transport.',
      'Pass connectTimeoutMs to the constructor of the client.',
    )
    rewrite.removeArgument(call, 1)
  } else if (unknownMembers.has(name)) reportMember(rewrite, access)
}

/** `request({ method, params }, schema, options)` is `request(method, params, options)`. */
function rewriteRequest(
  rewrite: FileRewrite,
  call: CallExpression,
  access: PropertyAccessExpression,
  isV1: boolean,
): void {
  const [first, second, third] = call.getArguments()
  const options = isV1 ? third : second
  rewriteRequestOptions(rewrite, options)
  const argument = first && withoutCasts(first)
  const message = Node.isObjectLiteralExpression(argument) && !hasSpread(argument) ? argument : undefined
  const needsParams = options !== undefined
  if (isV1 && second && !second.getText().endsWith('ResultSchema')) {
    rewrite.report(
      second,
      second.getText().split('\n')[0]!,
      'request() of Tenon does not check the result by a schema.',
      'Check the result yourself.',
    )
  }
  if (isV1 && second) rewrite.replaceRange(first!.getEnd(), second.getEnd(), '')
  if (message) {
    const method = propertyValue(message, 'method')
    const params = propertyValue(message, 'params')
    if (method)
      return rewrite.spreadArgument(message, params ? [method, params] : needsParams ? [method, '{}'] : [method])
  }
  if (Node.isIdentifier(argument))
    return rewrite.replace(first!, `${argument.getText()}.method, ${argument.getText()}.params`)
  rewrite.report(
    access,
    call.getText().split('\n')[0]!,
    'The request is not written out here.',
    'Call request(method, params, options).',
  )
}

function rewriteMessage(
  rewrite: FileRewrite,
  call: CallExpression,
  access: PropertyAccessExpression,
  to: string,
): void {
  const [first] = call.getArguments()
  const argument = first && withoutCasts(first)
  const message = Node.isObjectLiteralExpression(argument) && !hasSpread(argument) ? argument : undefined
  const method = message && propertyValue(message, 'method')
  rewrite.replace(access.getNameNode(), to)
  if (message && method) {
    const params = propertyValue(message, 'params')
    return rewrite.spreadArgument(message, params ? [method, params] : [method])
  }
  if (Node.isIdentifier(argument))
    return rewrite.replace(first!, `${argument.getText()}.method, ${argument.getText()}.params`)
  rewrite.report(
    access,
    call.getText().split('\n')[0]!,
    'The message is not written out here.',
    'Call notify(method, params).',
  )
}

/** `complete()` resolves with the completion itself, not with `{ completion }`. */
function rewriteCompletion(rewrite: FileRewrite, call: CallExpression): void {
  const awaited = call.getParentIfKind(ts.SyntaxKind.AwaitExpression)
  const parent = awaited?.getParent()
  const access = Node.isParenthesizedExpression(parent) ? parent.getParent() : undefined
  if (awaited && Node.isPropertyAccessExpression(access) && access.getName() === 'completion') {
    rewrite.replaceRange(parent!.getEnd(), access.getEnd(), '')
    return
  }
  const pattern = Node.isVariableDeclaration(parent) ? parent.getNameNode() : undefined
  const [element, ...others] = Node.isObjectBindingPattern(pattern) ? pattern.getElements() : []
  const member = element && (element.getPropertyNameNode() ?? element.getNameNode()).getText()
  if (pattern && element && others.length === 0 && member === 'completion')
    return rewrite.replace(pattern, element.getNameNode().getText())
  if (awaited) rewrite.replaceRange(awaited.getStart(), call.getStart(), '{ completion: await ')
  if (awaited) rewrite.text.appendLeft(call.getEnd(), ' }')
}

function rewriteEvent(rewrite: FileRewrite, access: PropertyAccessExpression, assignment: Node): void {
  if (!Node.isBinaryExpression(assignment)) return
  const name = access.getName()
  const value = assignment.getRight()
  if (
    name === 'onerror' &&
    !value.getText().includes('=> {') &&
    stringOf(value) === undefined &&
    Node.isArrowFunction(value)
  ) {
    const parameter = value.getParameters()[0]?.getNameNode().getText()
    if (parameter !== undefined) {
      const body = value.getBody()
      rewrite.replaceRange(
        access.getNameNode().getStart(),
        body.getStart(),
        `on(${rewrite.literal('error')}, ({ ${parameter === 'error' ? 'error' : `error: ${parameter}`} }) => `,
      )
      rewrite.text.appendLeft(body.getEnd(), ')')
      return
    }
  }
  const hints: Readonly<Record<string, string>> = {
    onclose: "Use client.on('state', ({ state }) => ...): the state is 'closed' at the end.",
    onerror: "Use client.on('error', ({ error }) => ...).",
  }
  rewrite.report(
    assignment,
    access.getText(),
    'A client of Tenon reports this as an event.',
    hints[name] ?? 'See docs/clients.md.',
  )
}

const memberHints: Readonly<Record<string, readonly [string, string]>> = {
  sendRootsListChanged: ['The client reports the change itself.', 'Call client.setRoots(roots).'],
  registerCapabilities: [
    'Capabilities are an option of the constructor.',
    'Pass capabilities, or handlers, to the constructor.',
  ],
  transport: ['A client of Tenon does not show its transport.', 'Keep the transport that you passed to connect().'],
}

function reportMember(rewrite: FileRewrite, access: PropertyAccessExpression): void {
  const name = access.getName()
  const [reason, action] = memberHints[name] ?? [`Clients of Tenon have no "${name}".`, 'See docs/clients.md.']
  rewrite.report(access, access.getText(), reason, action)
}

import {
  type CallExpression,
  type NewExpression,
  Node,
  type ObjectLiteralExpression,
  type PropertyAccessExpression,
  ts,
} from 'ts-morph'
import type { FileRewrite } from '../file-rewrite.ts'
import type { Handlers } from '../handlers.ts'
import {
  castResult,
  dropCatch,
  resultType,
  rewriteElicit,
  rewriteLogParams,
  rewriteNotification,
  rewriteRequestOptions,
  rewriteRoots,
  rewriteSample,
  rewriteServerRequest,
} from '../requests.ts'
import {
  classOf,
  functionOf,
  hasSpread,
  keysOf,
  objectOf,
  propertyValue,
  referencesOf,
  stringOf,
  withoutCasts,
} from '../syntax.ts'

const servers = new Set(['V1McpServer', 'V1Server', 'V2McpServer', 'V2Server'])

/** Rewrites calls of a server that belong to a request in Tenon, and assignments of its events. */
export function rewriteServerCalls(rewrite: FileRewrite, handlers: Handlers): void {
  for (const assignment of rewrite.file.getDescendantsOfKind(ts.SyntaxKind.BinaryExpression)) {
    const left = assignment.getLeft()
    const fn = functionOf(assignment.getRight())
    if (Node.isPropertyAccessExpression(left) && left.getName() === 'oninitialized' && fn === assignment.getRight())
      if (fn) handlers.addNotification(rewrite, fn)
  }
  for (const access of rewrite.file.getDescendantsOfKind(ts.SyntaxKind.PropertyAccessExpression)) {
    const name = access.getName()
    if (!interesting.has(name) || !servers.has(classOf(access.getExpression()) ?? '')) continue
    const parent = access.getParent()
    if (Node.isCallExpression(parent) && parent.getExpression() === access)
      rewriteCall(rewrite, handlers, parent, access)
    else if (Node.isBinaryExpression(parent) && parent.getLeft() === access) rewriteAssignment(rewrite, access, parent)
    else if (name === 'transport' && handlers.linkAt(access) !== undefined) {
      rewrite.replace(access, `${handlers.linkAt(access)}.transport`)
    } else reportMember(rewrite, access, name)
  }
  for (const created of rewrite.file.getDescendantsOfKind(ts.SyntaxKind.NewExpression)) {
    if (servers.has(classOf(created) ?? '')) checkOptions(rewrite, created)
  }
}

const interesting = new Set([
  'elicitInput',
  'createMessage',
  'listRoots',
  'sendLoggingMessage',
  'getClientCapabilities',
  'getClientVersion',
  'notification',
  'request',
  'ping',
  'isConnected',
  'createElicitationCompletionNotifier',
  'fallbackRequestHandler',
  'fallbackNotificationHandler',
  'oninitialized',
  'onclose',
  'onerror',
  'transport',
  'experimental',
])

function rewriteCall(
  rewrite: FileRewrite,
  handlers: Handlers,
  call: CallExpression,
  access: PropertyAccessExpression,
): void {
  const name = access.getName()
  const inHandler: Readonly<Record<string, (ctx: string) => void>> = {
    elicitInput: (ctx) => rewriteElicit(rewrite, call, ctx),
    createMessage: (ctx) => rewriteSample(rewrite, call, ctx),
    listRoots: (ctx) => rewriteRoots(rewrite, call, ctx),
    request: (ctx) => rewriteServerRequest(rewrite, call, ctx),
    notification: (ctx) => rewriteNotification(rewrite, call, ctx),
    getClientCapabilities: (ctx) => rewrite.replace(call, `${ctx}.caller.capabilities`),
    getClientVersion: (ctx) => rewrite.replace(call, `${ctx}.caller.clientInfo`),
  }
  if (Object.hasOwn(inHandler, name) && handlers.has(call)) return inHandler[name]!(handlers.contextAt(call)!)
  if (name === 'sendLoggingMessage') return rewriteLogging(rewrite, handlers, call)
  if (name === 'notification' && rewriteChange(rewrite, call, access)) return
  if (rewriteForClient(rewrite, handlers, call, access)) return
  reportMember(rewrite, access, name)
}

const clientRequests: Readonly<Record<string, string>> = {
  listRoots: 'roots/list',
  createMessage: 'sampling/createMessage',
  elicitInput: 'elicitation/create',
}

/**
 * Outside of requests, a server of v1 means its only client. In the handler of a notification it is the sender; elsewhere it is
 * the first client that has introduced itself.
 */
function rewriteForClient(
  rewrite: FileRewrite,
  handlers: Handlers,
  call: CallExpression,
  access: PropertyAccessExpression,
): boolean {
  const name = access.getName()
  const server = access.getExpression().getText()
  const link = handlers.linkAt(call)
  const fact =
    name === 'getClientCapabilities' ? 'capabilities' : name === 'getClientVersion' ? 'clientInfo' : undefined
  if (fact !== undefined) {
    const any = `${server}.links.map((link) => ${server}.callerOf(link)).find(Boolean)?.${fact}`
    if (link === undefined) reportMember(rewrite, access, name)
    rewrite.replace(call, link === undefined ? any : `${server}.callerOf(${link})?.${fact}`)
    return true
  }
  const method = Object.hasOwn(clientRequests, name) ? clientRequests[name] : undefined
  if (method === undefined) return false
  const any = `${server}.links.find((link) => ${server}.callerOf(link))${rewrite.isTypeScript ? '!' : ''}`
  if (link === undefined) reportMember(rewrite, access, name)
  const [params, options] = call.getArguments()
  rewriteRequestOptions(rewrite, options)
  const callee = call.getExpression()
  const open = `${link ?? any}.request(${rewrite.literal(method)}`
  if (params) rewrite.replaceRange(callee.getStart(), params.getStart(), `${open}, `)
  else rewrite.replaceRange(callee.getStart(), call.getEnd(), `${open})`)
  castResult(rewrite, call, resultType(method))
  return true
}

function rewriteLogging(rewrite: FileRewrite, handlers: Handlers, call: CallExpression): void {
  if (handlers.has(call) && rewriteLogParams(rewrite, call, handlers.contextAt(call)!)) return
  dropCatch(rewrite, call)
  const [, sessionId] = call.getArguments()
  if (!sessionId) return
  rewrite.report(
    call,
    call.getText().split('\n')[0]!,
    'Outside of a handler, sendLoggingMessage() of Tenon reaches all sessions that requested the level.',
    'Use ctx.log in a handler to reach one client.',
  )
  rewrite.removeArgument(call, 1)
}

const changes: Readonly<Record<string, string>> = {
  'notifications/tools/list_changed': 'sendToolListChanged',
  'notifications/prompts/list_changed': 'sendPromptListChanged',
  'notifications/resources/list_changed': 'sendResourceListChanged',
}

/** `notification({ method })` for changes, which reach all clients. */
function rewriteChange(rewrite: FileRewrite, call: CallExpression, access: PropertyAccessExpression): boolean {
  const argument = call.getArguments()[0] && withoutCasts(call.getArguments()[0]!)
  if (!Node.isObjectLiteralExpression(argument) || hasSpread(argument)) return false
  const method = stringOf(propertyValue(argument, 'method'))
  const change = method !== undefined && Object.hasOwn(changes, method) ? changes[method] : undefined
  const params = propertyValue(argument, 'params')
  if (change !== undefined) {
    rewrite.replace(access.getNameNode(), change)
    rewrite.replace(call.getArguments()[0]!, '')
    return true
  }
  if (method === 'notifications/resources/updated' && params) {
    rewrite.replace(access.getNameNode(), 'sendResourceUpdated')
    rewrite.spreadArgument(argument, [params])
    return true
  }
  if (method === 'notifications/message' && params) {
    rewrite.replace(access.getNameNode(), 'sendLoggingMessage')
    rewrite.spreadArgument(argument, [params])
    return true
  }
  return false
}

function rewriteAssignment(rewrite: FileRewrite, access: PropertyAccessExpression, assignment: Node): void {
  if (!Node.isBinaryExpression(assignment)) return
  const name = access.getName()
  const value = assignment.getRight()
  if (name === 'fallbackRequestHandler' || name === 'fallbackNotificationHandler') {
    const setter = name === 'fallbackRequestHandler' ? 'setFallbackRequestHandler' : 'setFallbackNotificationHandler'
    rewrite.replaceRange(access.getNameNode().getStart(), value.getStart(), `${setter}(`)
    rewrite.text.appendLeft(value.getEnd(), ')')
    return
  }
  if (name === 'oninitialized') {
    rewrite.replaceRange(
      access.getNameNode().getStart(),
      value.getStart(),
      `setNotificationHandler(${rewrite.literal('notifications/initialized')}, `,
    )
    rewrite.text.appendLeft(value.getEnd(), ')')
    return
  }
  const transport = name === 'onclose' ? transportOf(access, assignment) : undefined
  if (transport !== undefined) return rewrite.replace(access, `${transport}.onclose`)
  if (name === 'onerror' && moveToOptions(rewrite, access, assignment, value)) return
  reportMember(rewrite, access, name)
}

/** The transport that the server is connected to later in the same block, whose `onclose` connect() respects. */
function transportOf(access: PropertyAccessExpression, assignment: Node): string | undefined {
  const block = assignment.getFirstAncestor((node) => Node.isBlock(node) || Node.isSourceFile(node))
  const server = access.getExpression().getText()
  for (const call of block?.getDescendantsOfKind(ts.SyntaxKind.CallExpression) ?? []) {
    const callee = call.getExpression()
    const [transport] = call.getArguments()
    if (!Node.isPropertyAccessExpression(callee) || callee.getName() !== 'connect' || !Node.isIdentifier(transport))
      continue
    const owner = callee.getExpression().getText()
    if ((owner !== server && `${owner}.server` !== server) || call.getStart() < assignment.getEnd()) continue
    const declaration = transport.getSymbol()?.getDeclarations()[0]
    if (declaration && declaration.getEnd() < assignment.getStart()) return transport.getText()
  }
  return undefined
}

/** In Tenon `onError` is an option. */
function moveToOptions(rewrite: FileRewrite, access: PropertyAccessExpression, assignment: Node, value: Node): boolean {
  const statement = assignment.getParent()
  const created = findCreation(access.getExpression())
  const fn = functionOf(value)
  if (!created || !fn || fn !== value || !Node.isExpressionStatement(statement)) return false
  if (created.getSourceFile() !== rewrite.file) return false
  const [info, options] = created.getArguments()
  const object = options && withoutCasts(options)
  if (!info || (options && !Node.isObjectLiteralExpression(object))) return false
  const parameter = fn.getParameters()[0]
  const annotation = parameter?.getTypeNode()
  const handlerText = annotation
    ? value.getText().slice(0, parameter!.getNameNode().getEnd() - value.getStart()) +
      value.getText().slice(annotation.getEnd() - value.getStart())
    : value.getText()
  const bound = parameter?.getNameNode()
  const usesMembers =
    Node.isIdentifier(bound) &&
    referencesOf(bound, fn).some(
      (use) =>
        Node.isPropertyAccessExpression(use.getParent()) && use.getParent().getText().startsWith(`${use.getText()}.`),
    )
  if (usesMembers) {
    rewrite.report(
      value,
      value.getText().split('\n')[0]!,
      'onError gets a value of type unknown.',
      'Check that it is an Error before you read its members.',
    )
  }
  rewrite.removeStatement(statement)
  rewrite.addServerOption(created, `onError: ${handlerText}`)
  return true
}

/** Finds `new Server(...)` for `server` or `this.server`, also for the `server` member of an `McpServer`. */
function findCreation(node: Node): NewExpression | undefined {
  if (Node.isPropertyAccessExpression(node) && classOf(node.getExpression())?.endsWith('McpServer'))
    return findCreation(node.getExpression())
  const name = Node.isPropertyAccessExpression(node) ? node.getNameNode() : node
  if (!Node.isIdentifier(name)) return undefined
  const declaration = name.getSymbol()?.getDeclarations()[0]
  const value =
    Node.isVariableDeclaration(declaration) || Node.isPropertyDeclaration(declaration)
      ? declaration.getInitializer()
      : undefined
  if (Node.isNewExpression(value)) return value
  if (!Node.isPropertyAccessExpression(node)) return undefined
  // this.server = new Server(...)
  return node
    .getSourceFile()
    .getDescendantsOfKind(ts.SyntaxKind.BinaryExpression)
    .filter((other) => other.getLeft().getText() === node.getText())
    .map((other) => other.getRight())
    .find(Node.isNewExpression)
}

const unknownOptions: Readonly<Record<string, string>> = {
  enforceStrictCapabilities: 'Remove it: Tenon always checks capabilities.',
  debouncedNotificationMethods: 'Remove it: Tenon collects changes, see listChangedDelayMs.',
  taskStore: 'Pass tasks: tasks({ store }) of tenon/tasks.',
  taskMessageQueue: 'Pass tasks: tasks({ store }) of tenon/tasks.',
  jsonSchemaValidator: 'Remove it: Tenon validates JSON Schema itself.',
}

function checkOptions(rewrite: FileRewrite, created: NewExpression): void {
  const options = objectOf(created.getArguments()[1])
  if (!options) return
  if (rewrite.isTypeScript && options.getSourceFile() === rewrite.file) castCapabilities(rewrite, options)
  for (const name of keysOf(options)) {
    if (!Object.hasOwn(unknownOptions, name)) continue
    const property = options.getProperty(name)!
    rewrite.report(property, name, `Servers of Tenon have no option "${name}".`, unknownOptions[name]!)
  }
}

const capabilityNames: Readonly<Record<string, readonly string[] | undefined>> = {
  completions: undefined,
  experimental: undefined,
  extensions: undefined,
  logging: undefined,
  prompts: ['listChanged'],
  resources: ['listChanged', 'subscribe'],
  tasks: undefined,
  tools: ['listChanged'],
}

/** v1 accepts capabilities with any names, for example one for each tool, and sends them. */
function castCapabilities(rewrite: FileRewrite, options: ObjectLiteralExpression): void {
  const capabilities = propertyValue(options, 'capabilities')
  if (!Node.isObjectLiteralExpression(capabilities)) return
  const isOfProtocol = keysOf(capabilities).every((name) => {
    if (!Object.hasOwn(capabilityNames, name)) return false
    const members = capabilityNames[name]
    const value = propertyValue(capabilities, name)
    return !members || !Node.isObjectLiteralExpression(value) || keysOf(value).every((key) => members.includes(key))
  })
  if (isOfProtocol) return
  const type = rewrite.need({ from: 'tenon', name: 'ServerCapabilities', isType: true })
  rewrite.text.appendRight(capabilities.getEnd(), ` as ${type}`)
}

const hints: Readonly<Record<string, readonly [reason: string, action: string]>> = {
  getClientCapabilities: [
    'A server of Tenon has many clients, so their capabilities are facts of a request.',
    'Read ctx.caller.capabilities, or ctx.can(), in a handler.',
  ],
  getClientVersion: [
    'A server of Tenon has many clients, so their names are facts of a request.',
    'Read ctx.caller.clientInfo in a handler.',
  ],
  listRoots: [
    'A server of Tenon has many clients, so questions belong to a request.',
    'Call ctx.roots() in the handlers that need them. Roots are cached until the client reports a change.',
  ],
  elicitInput: [
    'A server of Tenon has many clients, so questions belong to a request.',
    'Pass ctx to this function, and call ctx.elicit(message, schema).',
  ],
  createMessage: [
    'A server of Tenon has many clients, so questions belong to a request.',
    'Pass ctx to this function, and call ctx.sample(params).',
  ],
  request: [
    'A server of Tenon has many clients, so requests belong to a request of the client.',
    'Pass ctx to this function, and call ctx.elicit, ctx.sample or ctx.roots.',
  ],
  notification: [
    'A server of Tenon has many clients.',
    'Pass ctx to this function, and call ctx.notify(method, params).',
  ],
  isConnected: ['A server of Tenon can be connected to any number of clients.', 'Remember what connect() returned.'],
  onclose: [
    'A server of Tenon has many connections.',
    'Set onclose of the transport before you connect it, or await the end of serveStdio.',
  ],
  onerror: ['Errors are reported to an option of the constructor.', 'Pass onError to the constructor.'],
  transport: ['A server of Tenon has many transports.', 'Keep the transport that you passed to connect().'],
  experimental: [
    'Tasks work differently in Tenon.',
    'Pass tasks: tasks() of tenon/tasks, and set execution.taskSupport of the tool. See docs/tasks.md.',
  ],
  createElicitationCompletionNotifier: [
    'In Tenon this belongs to a request.',
    'Use complete() of the answer of ctx.elicitUrl, or ctx.elicitationComplete(id).',
  ],
  ping: ['A server of Tenon has many clients.', 'Use the option ping of the server.'],
}

function reportMember(rewrite: FileRewrite, access: PropertyAccessExpression, name: string): void {
  const [reason, action] = hints[name] ?? [`Servers of Tenon have no "${name}".`, 'See docs/servers.md.']
  rewrite.report(access, access.getText(), reason, action)
}

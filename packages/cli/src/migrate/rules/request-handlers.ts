import { type CallExpression, type Identifier, Node, type Type, ts } from 'ts-morph'
import type { FileRewrite } from '../file-rewrite.ts'
import type { Handlers } from '../handlers.ts'
import { messageOf } from '../methods.ts'
import {
  classOf,
  type FunctionNode,
  functionOf,
  identifiersIn,
  objectOf,
  propertyValue,
  referencesOf,
  resolve,
  returnedBy,
  stringOf,
  withoutCasts,
} from '../syntax.ts'

const owners = new Set(['V1Server', 'V1Client', 'V2Server', 'V2Client'])

/** Rewrites `setRequestHandler(CallToolRequestSchema, (request, extra) => ...)` into `setRequestHandler('tools/call', (params, ctx) => ...)`. */
export function rewriteRequestHandlers(rewrite: FileRewrite, handlers: Handlers): void {
  for (const call of rewrite.file.getDescendantsOfKind(ts.SyntaxKind.CallExpression)) {
    const callee = call.getExpression()
    if (!Node.isPropertyAccessExpression(callee)) continue
    const name = callee.getName()
    if (name !== 'setRequestHandler' && name !== 'setNotificationHandler') continue
    const owner = classOf(callee.getExpression())
    if (owner === undefined || !owners.has(owner)) continue
    rewriteHandler(rewrite, handlers, call, owner, name === 'setRequestHandler')
  }
}

function rewriteHandler(
  rewrite: FileRewrite,
  handlers: Handlers,
  call: CallExpression,
  owner: string,
  isRequest: boolean,
): void {
  const args = call.getArguments()
  const [schema, ...others] = args
  const handler = others.at(-1)
  if (!schema || !handler) return
  const method = methodOf(schema)
  if (method === undefined) {
    rewrite.report(
      call,
      call.getText().split('\n')[0]!,
      'The method of this schema is not known here.',
      "Pass the method as a string: setRequestHandler('my/method', (params, ctx) => ...).",
    )
    return
  }
  const isKnown = Node.isIdentifier(schema) && messageOf(schema.getText()) !== undefined
  if (!isKnown && !stringOf(schema)) reportUnchecked(rewrite, schema)
  if (stringOf(schema) === undefined) rewrite.replace(schema, rewrite.literal(method))
  if (others.length > 1) {
    // v2: (method, { params, result }, handler)
    reportUnchecked(rewrite, others[0]!)
    rewrite.replaceRange(schema.getEnd(), others[0]!.getEnd(), '')
  }
  const fn = functionOf(handler)
  const isInline = fn !== undefined && fn === handler
  if (!isInline) {
    adaptHandler(rewrite, handler, method)
    if (fn && isRequest && owner.endsWith('Server') && fn.getSourceFile() === rewrite.file)
      handlers.add(rewrite, fn, { ctxIndex: 1, placeholders: ['_request'] })
    return
  }
  if (owner.endsWith('Server') && isRequest) {
    handlers.add(rewrite, fn, { ctxIndex: 1, placeholders: ['_params'] })
    keepErrorMessages(rewrite, fn)
    reportErrors(rewrite, fn)
    if (method === 'tools/list' && rewrite.isTypeScript) castTools(rewrite, fn)
    if (rewrite.isTypeScript) castResults(rewrite, fn, method)
  }
  if (owner.endsWith('Server') && !isRequest) handlers.addNotification(rewrite, fn)
  rewriteRequestParameter(rewrite, fn, method)
}

/** Wraps a handler that is defined elsewhere, and expects the request: `(params) => handler({ method, params })`. */
function adaptHandler(rewrite: FileRewrite, handler: Node, method: string): void {
  const signature = handler.getType().getCallSignatures()[0]
  const count = signature?.getParameters().length ?? functionOf(handler)?.getParameters().length ?? 2
  if (count === 0) return
  const [params, ctx] = count > 1 ? ['params, ctx', ', ctx'] : ['params', '']
  const isName = Node.isIdentifier(handler) || Node.isPropertyAccessExpression(handler)
  rewrite.text.appendLeft(handler.getStart(), `(${params}) => ${isName ? '' : '('}`)
  const expected = signature?.getParameters()[0]?.getTypeAtLocation(handler)
  const isStrict = expected !== undefined && !expected.isAny() && !expected.getProperty('method')
  const call = `(${isStrict ? '{ params }' : `{ method: ${rewrite.literal(method)}, params }`}${ctx})`
  rewrite.text.appendRight(handler.getEnd(), `${isName ? '' : ')'}${call}`)
}

/** The results of v1 are typed loosely, those of Tenon are not: a schema has `type: 'object'`, not any string. */
function castTools(rewrite: FileRewrite, fn: FunctionNode): void {
  const tool = () =>
    rewrite.need({ from: 'tenon', name: 'Tool', isType: true }, rewrite.names.has('Tool') ? 'Tool' : undefined)
  for (const object of fn.getDescendantsOfKind(ts.SyntaxKind.ObjectLiteralExpression)) {
    const tools = object.getProperty('tools')
    if (Node.isShorthandPropertyAssignment(tools)) rewrite.replace(tools, `tools: tools as ${tool()}[]`)
    const list = Node.isPropertyAssignment(tools) ? tools.getInitializer() : undefined
    if (list && !Node.isArrayLiteralExpression(list) && !Node.isAsExpression(list))
      rewrite.text.appendRight(list.getEnd(), ` as ${tool()}[]`)
    for (const key of ['inputSchema', 'outputSchema']) {
      const schema = object.getProperty(key)
      const value = Node.isPropertyAssignment(schema) ? schema.getInitializer() : undefined
      if (Node.isCallExpression(value))
        rewrite.text.appendRight(value.getEnd(), ` as ${tool()}[${rewrite.literal(key)}]`)
    }
  }
}

/** Results with members whose types Tenon knows exactly: `type: 'text'`, where the inferred type is any string. */
const exactResults: Readonly<
  Record<string, { readonly type: string; readonly exact: readonly (readonly string[])[] }>
> = {
  'tools/call': { type: 'CallToolResult', exact: [['content', 'type']] },
  'tools/list': { type: 'ListToolsResult', exact: [['tools', 'inputSchema', 'type']] },
  'prompts/get': {
    type: 'GetPromptResult',
    exact: [
      ['messages', 'role'],
      ['messages', 'content', 'type'],
    ],
  },
}

/** v1 accepts results whose types are too wide for Tenon, for example those of a method of the program. */
function castResults(rewrite: FileRewrite, fn: FunctionNode, method: string): void {
  const result = Object.hasOwn(exactResults, method) ? exactResults[method]! : undefined
  if (!result) return
  for (const value of returnedBy(fn)) {
    // The type of a literal is inferred from what is expected of it.
    if (Node.isObjectLiteralExpression(withoutCasts(value)) || Node.isAsExpression(value)) continue
    const type = value.getType()
    const isPromise = type.getSymbol()?.getName() === 'Promise'
    const settled = isPromise ? type.getTypeArguments()[0] : type
    if (!settled || !result.exact.some((path) => isWide(settled, path, value))) continue
    const name = rewrite.need({ from: 'tenon', name: result.type, isType: true })
    const isSimple = Node.isAwaitExpression(value) || Node.isCallExpression(value) || Node.isIdentifier(value)
    if (!isSimple) rewrite.text.appendLeft(value.getStart(), '(')
    rewrite.text.appendRight(value.getEnd(), `${isSimple ? '' : ')'} as ${isPromise ? `Promise<${name}>` : name}`)
  }
}

/** Whether the member at a path may be any string. */
function isWide(type: Type, path: readonly string[], at: Node): boolean {
  if (type.isUnion()) return type.getUnionTypes().some((each) => isWide(each, path, at))
  if (type.isArray()) return isWide(type.getArrayElementTypeOrThrow(), path, at)
  const [name, ...rest] = path
  if (name === undefined) return type.isString()
  const member = type.getProperty(name)?.getTypeAtLocation(at)
  return member !== undefined && isWide(member, rest, at)
}

/** The method of `CallToolRequestSchema`, of a schema of the program, or of a string. */
export function methodOf(schema: Node): string | undefined {
  const text = stringOf(schema)
  if (text !== undefined) return text
  const known = Node.isIdentifier(schema) ? messageOf(schema.getText()) : undefined
  if (known) return known.method
  // z.object({ method: z.literal('my/method'), ... }), or Base.extend({ ... })
  const target = resolve(schema)
  const object = Node.isCallExpression(target) ? objectOf(target.getArguments()[0]) : undefined
  const literal = object && propertyValue(object, 'method')
  return Node.isCallExpression(literal) ? stringOf(literal.getArguments()[0]) : undefined
}

/** Handlers of Tenon get the params, not the whole request. */
function rewriteRequestParameter(rewrite: FileRewrite, fn: FunctionNode, method: string): void {
  const [parameter] = fn.getParameters()
  if (!parameter) return
  const annotation = parameter.getTypeNode()
  const nameNode = parameter.getNameNode()
  if (annotation && annotation.getText() !== 'any') rewrite.replaceRange(nameNode.getEnd(), annotation.getEnd(), '')
  if (Node.isObjectBindingPattern(nameNode)) {
    const [element, ...others] = nameNode.getElements()
    const member = element && (element.getPropertyNameNode() ?? element.getNameNode()).getText()
    if (element && others.length === 0 && member === 'params') {
      const bound = element.getNameNode()
      rewrite.replaceRange(nameNode.getStart(), bound.getStart(), '')
      rewrite.replaceRange(bound.getEnd(), nameNode.getEnd(), '')
    } else {
      rewrite.report(
        nameNode,
        nameNode.getText(),
        'Handlers of Tenon get the params of the request as their first parameter.',
        'Replace the pattern with params.',
      )
    }
    return
  }
  if (!Node.isIdentifier(nameNode)) return
  const name = chooseParamsName(fn, nameNode)
  rewrite.replace(nameNode, name)
  for (const reference of referencesOf(nameNode, fn)) rewriteRequestUse(rewrite, reference, name, method)
}

function rewriteRequestUse(rewrite: FileRewrite, reference: Identifier, name: string, method: string): void {
  const parent = reference.getParent()
  if (Node.isPropertyAccessExpression(parent) && parent.getExpression() === reference) {
    if (parent.getName() === 'params') {
      const declared = parent.getParent()
      // const params = request.params
      if (Node.isVariableDeclaration(declared) && declared.getName() === name)
        return removeDeclaration(rewrite, declared)
      return rewrite.replace(parent, name)
    }
    if (parent.getName() === 'method') return rewrite.replace(parent, rewrite.literal(method))
  }
  if (Node.isVariableDeclaration(parent) && Node.isObjectBindingPattern(parent.getNameNode())) {
    const [element, ...others] = parent.getNameNode().getDescendantsOfKind(ts.SyntaxKind.BindingElement)
    const isParams = element && (element.getPropertyNameNode() ?? element.getNameNode()).getText() === 'params'
    if (isParams && others.length === 0 && element.getNameNode().getText() === name)
      return removeDeclaration(rewrite, parent)
  }
  const params = name === 'params' ? 'params' : `params: ${name}`
  const message = `{ method: ${rewrite.literal(method)}, ${params} }`
  if (Node.isShorthandPropertyAssignment(parent))
    return rewrite.replace(reference, `${reference.getText()}: ${message}`)
  rewrite.replace(reference, Node.isPropertyAccessExpression(parent) ? `(${message})` : message)
}

function removeDeclaration(rewrite: FileRewrite, declaration: Node): void {
  const statement = declaration.getFirstAncestorByKind(ts.SyntaxKind.VariableStatement)
  if (statement?.getDeclarations().length === 1) rewrite.removeStatement(statement)
}

/** `params`, unless the handler uses this name for something else. */
function chooseParamsName(fn: FunctionNode, request: Identifier): string {
  const own = request.getText()
  if (own.startsWith('_')) return own === '_request' || own === '_req' ? '_params' : own
  const isTaken = identifiersIn(fn).some((name) => {
    if (name.getText() !== 'params') return false
    const parent = name.getParent()
    if (Node.isPropertyAccessExpression(parent) && parent.getNameNode() === name) return false
    if (Node.isPropertyAssignment(parent) && parent.getNameNode() === name) return false
    if (Node.isVariableDeclaration(parent)) return parent.getInitializer()?.getText() !== `${own}.params`
    if (Node.isBindingElement(parent))
      return parent.getFirstAncestorByKind(ts.SyntaxKind.VariableDeclaration)?.getInitializer()?.getText() !== own
    return !isBoundToRequest(name, own)
  })
  return isTaken ? `${own}Params` : 'params'
}

/** Whether a name is the variable of `const params = request.params`. */
function isBoundToRequest(name: Identifier, request: string): boolean {
  const declaration = name.getSymbol()?.getDeclarations()[0]
  if (Node.isVariableDeclaration(declaration)) return declaration.getInitializer()?.getText() === `${request}.params`
  const variable = Node.isBindingElement(declaration)
    ? declaration.getFirstAncestorByKind(ts.SyntaxKind.VariableDeclaration)
    : undefined
  return variable?.getInitializer()?.getText() === request
}

/** v1 and v2 send the message of any error. Tenon sends only those of a ProtocolError, and "Internal error" otherwise. */
function keepErrorMessages(rewrite: FileRewrite, fn: FunctionNode): void {
  for (const thrown of fn.getDescendantsOfKind(ts.SyntaxKind.ThrowStatement)) {
    const error = thrown.getExpression()
    if (!Node.isNewExpression(error) || error.getExpression().getText() !== 'Error') continue
    const [message, options] = error.getArguments()
    if (isCaught(thrown, fn) || !message || options) continue
    const protocolError = rewrite.need({ from: 'tenon', name: 'ProtocolError' })
    const codes = rewrite.need(
      { from: 'tenon', name: 'ErrorCode' },
      rewrite.names.has('ErrorCode') ? 'ErrorCode' : undefined,
    )
    rewrite.replaceRange(error.getStart(), message.getStart(), `new ${protocolError}(${codes}.InternalError, `)
  }
}

/** Objects whose `parse` is not one of a schema. */
const otherParsers = new Set(['JSON', 'Date', 'URL', 'path', 'url', 'qs', 'querystring', 'marked', 'yaml', 'YAML'])

/** Reports errors in a handler of `Server` whose text clients no longer get, also in functions of the same file that it calls. */
function reportErrors(rewrite: FileRewrite, fn: FunctionNode, isHandler = true, seen = new Set<Node>([fn])): void {
  for (const call of fn.getDescendantsOfKind(ts.SyntaxKind.CallExpression)) {
    if (isCaught(call, fn)) continue
    const called = functionOf(call.getExpression())
    if (called && called.getSourceFile() === rewrite.file && !seen.has(called)) {
      seen.add(called)
      reportErrors(rewrite, called, false, seen)
    }
    const callee = call.getExpression()
    if (!Node.isPropertyAccessExpression(callee) || !/^parse(Async)?$/.test(callee.getName())) continue
    if (call.getArguments().length === 0 || otherParsers.has(callee.getExpression().getText())) continue
    rewrite.report(
      call,
      call.getText().split('\n')[0]!,
      'If it throws, the official SDK sends the text of the schema error. Tenon sends "Internal error", because such a text may give away internals.',
      'Use safeParse() and throw new ProtocolError(ErrorCode.InvalidParams, message), or return { isError: true, content } for the model.',
    )
  }
  for (const thrown of fn.getDescendantsOfKind(ts.SyntaxKind.ThrowStatement)) {
    if (isCaught(thrown, fn) || isProtocolError(thrown.getExpression(), isHandler)) continue
    rewrite.report(
      thrown,
      thrown.getText().split('\n')[0]!.replace(/;$/, ''),
      'The official SDK sends the message of any error. Tenon sends that of a ProtocolError, and "Internal error" for others.',
      'Throw new ProtocolError(ErrorCode.InternalError, message) if clients should get the message.',
    )
  }
}

/** Whether an error is one of the protocol, or becomes one: `new Error(message)` in the handler itself. */
function isProtocolError(error: Node | undefined, isHandler: boolean): boolean {
  if (!error) return true
  const name = classOf(error)
  if (name === 'V1McpError' || name === 'V2ProtocolError') return true
  const isPlain = Node.isNewExpression(error) && error.getExpression().getText() === 'Error'
  return isHandler && isPlain && error.getArguments().length === 1
}

/** Whether an error that is thrown at a node is caught in the function, and not thrown again. */
function isCaught(node: Node, fn: FunctionNode): boolean {
  return node
    .getAncestors()
    .some((ancestor) => Node.isTryStatement(ancestor) && ancestor.getPos() >= fn.getPos() && isInBlock(node, ancestor))
}

function isInBlock(node: Node, statement: Node): boolean {
  const clause = Node.isTryStatement(statement) ? statement.getCatchClause() : undefined
  if (!Node.isTryStatement(statement) || !clause) return false
  const caught = clause.getVariableDeclaration()?.getName()
  const isRethrown = clause
    .getDescendantsOfKind(ts.SyntaxKind.ThrowStatement)
    .some((rethrow) => rethrow.getExpression().getText() === caught)
  if (isRethrown) return false
  const block = statement.getTryBlock()
  return node.getPos() >= block.getPos() && node.getEnd() <= block.getEnd()
}

function reportUnchecked(rewrite: FileRewrite, schema: Node): void {
  rewrite.report(
    schema,
    schema.getText().split('\n')[0]!,
    'Tenon does not check the params of custom methods.',
    'Parse the params in the handler with your schema.',
  )
}

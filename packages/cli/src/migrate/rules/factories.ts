import { type CallExpression, Node, ts } from 'ts-morph'
import type { FileRewrite } from '../file-rewrite.ts'
import type { OldImport } from '../old-imports.ts'
import {
  type FunctionNode,
  functionOf,
  hasSpread,
  isChanged,
  isFunction,
  keysOf,
  propertyValue,
  referencesOf,
  withoutCasts,
} from '../syntax.ts'

/** v2 creates a server for each connection or request. A server of Tenon serves any number of clients, so it is passed itself. */
export function rewriteFactories(rewrite: FileRewrite, imports: readonly OldImport[]): void {
  for (const { module, names } of imports) {
    if (!module.startsWith('@modelcontextprotocol/')) continue
    for (const { name, uses } of names) {
      for (const use of uses) {
        const call = use.getParentIfKind(ts.SyntaxKind.CallExpression)
        if (!call || call.getExpression() !== use) continue
        if (name === 'createMcpHandler') renameIdentity(rewrite, call)
        if (name === 'serveStdio' || name === 'createMcpHandler') rewriteFactory(rewrite, call, name)
        else if (name === 'toNodeHandler') rewriteNodeHandler(rewrite, call)
      }
    }
  }
}

function rewriteFactory(rewrite: FileRewrite, call: CallExpression, name: string): void {
  const [factory, options] = call.getArguments()
  const fn = functionOf(factory)
  const isInline = fn !== undefined && fn === factory
  const body = isInline && Node.isArrowFunction(fn) && fn.getParameters().length === 0 ? fn.getBody() : undefined
  if (options && !moveOptions(rewrite, call, options, body)) reportOptions(rewrite, options)
  if (!factory || !fn) return
  const hasContext = fn.getParameters().length > 0
  // A server for one tenant must not become the server for all, so a factory that needs the context does not compile.
  const args = hasContext ? 'USE_ctx_IN_HANDLERS' : ''
  if (hasContext) {
    rewrite.report(
      factory,
      factory.getText().split('\n')[0]!,
      'The server of Tenon is created once, so the context of a connection or request is not known here, and this does not compile.',
      'Read ctx.caller, ctx.auth and ctx.request in handlers.',
    )
  }
  // Over stdio there is one client.
  const isShared = name === 'createMcpHandler' && reportState(rewrite, fn)
  if (isShared) rewrite.text.appendLeft(factory.getStart(), `${stateStub}(`)
  if (!isInline) rewrite.text.appendLeft(factory.getEnd(), `(${args})`)
  else if (body && !Node.isBlock(body)) rewrite.replaceRange(fn.getStart(), body.getStart(), '')
  else {
    rewrite.text.appendLeft(fn.getStart(), '(')
    rewrite.text.appendRight(fn.getEnd(), `)(${args})`)
  }
  if (isShared) rewrite.text.appendLeft(factory.getEnd(), ')')
}

/** A function that does not exist. It keeps a factory whose servers have a state of their own. */
const stateStub = 'GIVE_EACH_CALLER_ITS_OWN'

/** Reports variables of a factory that its handlers change: one caller would see what another one left there. */
function reportState(rewrite: FileRewrite, factory: FunctionNode): boolean {
  const body = factory.getBody()
  const called = body && withoutCasts(body)
  const fn = (Node.isCallExpression(called) ? functionOf(called.getExpression()) : undefined) ?? factory
  const changed = fn
    .getDescendantsOfKind(ts.SyntaxKind.VariableDeclaration)
    .filter((declaration) => functionAround(declaration) === fn)
    .map((declaration) => declaration.getNameNode())
    .filter(Node.isIdentifier)
    .filter((name) => referencesOf(name, fn).some((use) => functionAround(use) !== fn && isChanged(use)))
  for (const name of changed) {
    rewrite.report(
      fn.getSourceFile() === rewrite.file ? name : factory,
      name.getText(),
      'Each request had a server of its own. A server of Tenon serves all callers, so they would share this, and the program does not compile.',
      `Keep it per caller, for example by ctx.auth or ctx.sessionId, and remove ${stateStub}.`,
    )
  }
  return changed.length > 0
}

function functionAround(node: Node): Node | undefined {
  return node.getFirstAncestor((ancestor) => isFunction(ancestor))
}

/** Makes `onerror` an option of a server that is created right here. Returns false if something stays. */
function moveOptions(rewrite: FileRewrite, call: CallExpression, options: Node, body: Node | undefined): boolean {
  if (!Node.isObjectLiteralExpression(options) || keysOf(options).join() !== 'onerror' || hasSpread(options))
    return false
  const created = body && withoutCasts(body)
  // The second argument of a class of the program may be anything.
  if (!Node.isNewExpression(created) || !created.getType().getSymbol()?.getName().startsWith('V2')) return false
  const [info, own, ...others] = created.getArguments()
  const handler = propertyValue(options, 'onerror')
  if (!info || !handler || handler === options.getProperty('onerror') || others.length > 0) return false
  if (own && !Node.isObjectLiteralExpression(own)) return false
  rewrite.addServerOption(created, `onError: ${handler.getText()}`)
  rewrite.removeArgument(call, 1)
  return true
}

/** They stay, so that the compiler points to what has no effect any more. */
function reportOptions(rewrite: FileRewrite, options: Node): void {
  rewrite.report(
    options,
    options.getText().split('\n')[0]!,
    'The options have other names in Tenon.',
    "Pass onError (for onerror) or revisions: ['2026-07-28'] (for legacy: 'reject') to the server. docs/http.md and docs/stdio.md list the others.",
  )
}

/** `handler.fetch(request, { authInfo })` has the identity in `auth`. Without it, all callers would be the same one. */
function renameIdentity(rewrite: FileRewrite, created: CallExpression): void {
  const variable = created.getParentIfKind(ts.SyntaxKind.VariableDeclaration)?.getNameNode()
  if (!Node.isIdentifier(variable)) return
  for (const use of referencesOf(variable)) {
    const access = use.getParentIfKind(ts.SyntaxKind.PropertyAccessExpression)
    const call = access?.getParentIfKind(ts.SyntaxKind.CallExpression)
    const extras = access?.getName() === 'fetch' ? call?.getArguments()[1] : undefined
    const identity = Node.isObjectLiteralExpression(extras) ? extras.getProperty('authInfo') : undefined
    if (Node.isShorthandPropertyAssignment(identity)) rewrite.text.appendLeft(identity.getStart(), 'auth: ')
    else if (Node.isPropertyAssignment(identity)) rewrite.replace(identity.getNameNode(), 'auth')
  }
}

/** The handler of Tenon has a member for `node:http`. */
function rewriteNodeHandler(rewrite: FileRewrite, call: CallExpression): void {
  const [handler] = call.getArguments()
  if (!handler) return
  rewrite.replaceRange(call.getStart(), handler.getStart(), '')
  rewrite.replaceRange(handler.getEnd(), call.getEnd(), '.node')
}

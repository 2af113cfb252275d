import { type CallExpression, Node, ts } from 'ts-morph'
import type { FileRewrite } from '../file-rewrite.ts'
import type { OldImport } from '../old-imports.ts'
import { functionOf } from '../syntax.ts'

/** v2 creates a server for each connection or request. A server of Tenon serves any number of clients, so it is passed itself. */
export function rewriteFactories(rewrite: FileRewrite, imports: readonly OldImport[]): void {
  for (const { module, names } of imports) {
    if (!module.startsWith('@modelcontextprotocol/')) continue
    for (const { name, uses } of names) {
      for (const use of uses) {
        const call = use.getParentIfKind(ts.SyntaxKind.CallExpression)
        if (!call || call.getExpression() !== use) continue
        if (name === 'serveStdio' || name === 'createMcpHandler') rewriteFactory(rewrite, call)
        else if (name === 'toNodeHandler') rewriteNodeHandler(rewrite, call)
      }
    }
  }
}

function rewriteFactory(rewrite: FileRewrite, call: CallExpression): void {
  const [factory, options] = call.getArguments()
  if (options) {
    rewrite.report(
      options,
      options.getText().split('\n')[0]!,
      'The options have other names in Tenon.',
      'docs/http.md and docs/stdio.md list them. Errors are reported to onError of the server.',
    )
    rewrite.removeArgument(call, 1)
  }
  const fn = functionOf(factory)
  if (!factory || !fn) return
  if (fn.getParameters().length > 0) {
    rewrite.report(
      factory,
      factory.getText().split('\n')[0]!,
      'The server of Tenon is created once, so facts of a request are not known here.',
      'Read ctx.caller, ctx.auth and ctx.request in handlers.',
    )
  }
  if (fn !== factory) rewrite.text.appendLeft(factory.getEnd(), '()')
  else if (Node.isArrowFunction(fn) && !Node.isBlock(fn.getBody())) {
    rewrite.replaceRange(fn.getStart(), fn.getBody().getStart(), '')
  } else {
    rewrite.text.appendLeft(fn.getStart(), '(')
    rewrite.text.appendRight(fn.getEnd(), ')()')
  }
}

/** The handler of Tenon has a member for `node:http`. */
function rewriteNodeHandler(rewrite: FileRewrite, call: CallExpression): void {
  const [handler] = call.getArguments()
  if (!handler) return
  rewrite.replaceRange(call.getStart(), handler.getStart(), '')
  rewrite.replaceRange(handler.getEnd(), call.getEnd(), '.node')
}

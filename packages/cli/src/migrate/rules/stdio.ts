import { type CallExpression, type NewExpression, Node, ts } from 'ts-morph'
import type { FileRewrite } from '../file-rewrite.ts'
import { classOf, referencesOf } from '../syntax.ts'

const servers = new Set(['V1McpServer', 'V1Server', 'V2McpServer', 'V2Server'])

/** Rewrites `server.connect(new StdioServerTransport())` into `serveStdio(server)`, if the transport is used for nothing else. */
export function rewriteStdio(rewrite: FileRewrite): void {
  for (const created of rewrite.file.getDescendantsOfKind(ts.SyntaxKind.NewExpression)) {
    if (classOf(created) !== 'V1StdioServerTransport' || created.getArguments().length > 0) continue
    const call = connectCallOf(created)
    if (!call) continue
    const callee = call.getExpression()
    if (!Node.isPropertyAccessExpression(callee) || !servers.has(classOf(callee.getExpression()) ?? '')) continue
    const declaration = created.getParent()
    if (Node.isVariableDeclaration(declaration)) {
      const statement = declaration.getVariableStatement()
      if (statement?.getDeclarations().length !== 1) continue
      rewrite.removeStatement(statement)
    }
    const serveStdio = rewrite.need({ from: 'tenon/server', name: 'serveStdio' })
    const server = callee.getExpression()
    rewrite.text.appendLeft(call.getStart(), `${serveStdio}(`)
    rewrite.replaceRange(server.getEnd(), call.getEnd(), ')')
  }
}

/** The only use of a transport: as the argument of `connect`, directly or by its name. */
function connectCallOf(created: NewExpression): CallExpression | undefined {
  const parent = created.getParent()
  if (isConnect(parent)) return parent
  const name = Node.isVariableDeclaration(parent) ? parent.getNameNode() : undefined
  if (!Node.isIdentifier(name)) return undefined
  const [use, ...others] = referencesOf(name)
  const call = use?.getParent()
  return others.length === 0 && isConnect(call) ? call : undefined
}

function isConnect(node: Node | undefined): node is CallExpression {
  if (!Node.isCallExpression(node)) return false
  const callee = node.getExpression()
  return Node.isPropertyAccessExpression(callee) && callee.getName() === 'connect' && node.getArguments().length === 1
}

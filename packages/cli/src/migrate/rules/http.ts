import { Node, ts } from 'ts-morph'
import type { FileRewrite } from '../file-rewrite.ts'

/** Reports HTTP code that keeps its own sessions. The transports exist in Tenon too, but one handler replaces such code. */
export function rewriteHttp(rewrite: FileRewrite): void {
  for (const created of rewrite.file.getDescendantsOfKind(ts.SyntaxKind.NewExpression)) {
    const name = created.getExpression().getText()
    if (!/^(Node)?StreamableHTTPServerTransport$|^SSEServerTransport$/.test(name) || !isOld(rewrite, name)) continue
    rewrite.report(
      created,
      `new ${name}(...)`,
      'The transport exists in Tenon and was kept, but sessions, streams and both protocol eras need no code of your own.',
      'Consider createMcpHandler(server), or serveHttp(server): docs/http.md.',
    )
  }
}

function isOld(rewrite: FileRewrite, name: string): boolean {
  return rewrite.file.getImportDeclarations().some((declaration) => {
    const isOfficial = declaration.getModuleSpecifierValue().startsWith('@modelcontextprotocol/')
    return (
      isOfficial &&
      declaration
        .getNamedImports()
        .some((specifier) => Node.isImportSpecifier(specifier) && specifier.getName() === name)
    )
  })
}

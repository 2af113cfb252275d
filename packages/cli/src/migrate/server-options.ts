import { type CallExpression, type NewExpression, Node } from 'ts-morph'
import type { FileRewrite } from './file-rewrite.ts'
import { withoutCasts } from './syntax.ts'

/** `new McpServer(info, options)`, or `super(info, options)` in a class of the program. */
export type ServerCreation = NewExpression | CallExpression

/** Writes the options that rules added to servers. Several rules may add one to the same server, so it is done once. */
export function writeServerOptions(rewrite: FileRewrite): void {
  for (const [created, properties] of rewrite.serverOptions) writeOptions(rewrite, created, properties.join(', '))
}

function writeOptions(rewrite: FileRewrite, created: ServerCreation, text: string): void {
  const [info, options] = created.getArguments()
  if (!options) {
    if (info) rewrite.text.appendLeft(info.getEnd(), `, { ${text} }`)
    return
  }
  const object = withoutCasts(options)
  if (!Node.isObjectLiteralExpression(object)) {
    rewrite.text.appendLeft(options.getStart(), '{ ...')
    rewrite.text.appendRight(options.getEnd(), `, ${text} }`)
    return
  }
  const last = object.getProperties().at(-1)
  if (!last) rewrite.replace(object, `{ ${text} }`)
  else if (last.getStartLineNumber() === object.getStartLineNumber())
    rewrite.text.appendLeft(last.getEnd(), `, ${text}`)
  else rewrite.text.appendLeft(last.getEnd(), `,\n${rewrite.lineIndent(last)}${text}`)
}

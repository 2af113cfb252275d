import { type CallExpression, Node, ts } from 'ts-morph'
import type { FileRewrite } from '../file-rewrite.ts'
import type { HandlerShape, Handlers } from '../handlers.ts'
import { classOf, functionOf, isString, keysOf, objectOf, resolve } from '../syntax.ts'

const annotationKeys = new Set(['title', 'readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'])

const withArguments: HandlerShape = { ctxIndex: 1, placeholders: ['_args'] }
/** v1 and v2 call the handler of a tool without arguments with the context alone. */
const withoutArguments: HandlerShape = { ctxIndex: 0, placeholders: [], inserted: ['_args'] }

/** Rewrites `tool()`, `prompt()` and `resource()` into `registerTool()` and so on, and finds the handlers of all of them. */
export function rewriteRegistrations(rewrite: FileRewrite, handlers: Handlers): void {
  for (const call of rewrite.file.getDescendantsOfKind(ts.SyntaxKind.CallExpression)) {
    const callee = call.getExpression()
    if (!Node.isPropertyAccessExpression(callee)) continue
    const method = callee.getName()
    if (!/^(registerT|registerP|registerR|tool$|prompt$|resource$)/.test(method)) continue
    const owner = classOf(callee.getExpression())
    if (owner !== 'V1McpServer' && owner !== 'V2McpServer') continue
    if (call.getArguments().some((argument) => Node.isSpreadElement(argument))) {
      reportArguments(rewrite, call)
      continue
    }
    if (method === 'tool') rewriteTool(rewrite, handlers, call)
    else if (method === 'prompt') rewritePrompt(rewrite, handlers, call)
    else if (method === 'resource') rewriteResource(rewrite, handlers, call)
    else if (method === 'registerTool') readRegistered(rewrite, handlers, call, 'inputSchema')
    else if (method === 'registerPrompt') readRegistered(rewrite, handlers, call, 'argsSchema')
    else if (method === 'registerResource') addReader(rewrite, handlers, call, call.getArguments()[3])
  }
}

/** `tool(name, description?, schema or annotations?, annotations?, handler)` of v1. */
function rewriteTool(rewrite: FileRewrite, handlers: Handlers, call: CallExpression): void {
  const [, ...rest] = call.getArguments()
  const handler = rest.pop()
  const parts: [key: string, value: Node][] = []
  if (rest[0] && isDescription(rest)) parts.push(['description', rest.shift()!])
  const [first, second] = rest
  if (first) parts.push([isAnnotations(first) ? 'annotations' : 'inputSchema', first])
  if (second) parts.push(['annotations', second])
  if (first && !second && !isCertain(first)) {
    rewrite.report(
      first,
      first.getText(),
      'It was taken for the schema of the arguments, but tool() also takes annotations in this place.',
      'If it has annotations, rename inputSchema to annotations.',
    )
  }
  renameMethod(rewrite, call, 'registerTool')
  writeConfig(rewrite, call, parts)
  const hasSchema = parts.some(([key]) => key === 'inputSchema')
  addHandler(rewrite, handlers, handler, hasSchema ? withArguments : withoutArguments)
}

/** `prompt(name, description?, schema?, handler)` of v1. */
function rewritePrompt(rewrite: FileRewrite, handlers: Handlers, call: CallExpression): void {
  const [, ...rest] = call.getArguments()
  const handler = rest.pop()
  const parts: [key: string, value: Node][] = []
  if (rest[0] && (isString(rest[0]) || rest.length > 1)) parts.push(['description', rest.shift()!])
  if (rest[0]) parts.push(['argsSchema', rest[0]])
  renameMethod(rewrite, call, 'registerPrompt')
  writeConfig(rewrite, call, parts)
  const hasSchema = parts.some(([key]) => key === 'argsSchema')
  addHandler(rewrite, handlers, handler, hasSchema ? withArguments : withoutArguments)
}

/** `resource(name, uri or template, metadata?, handler)` of v1. */
function rewriteResource(rewrite: FileRewrite, handlers: Handlers, call: CallExpression): void {
  const [, where, third, fourth] = call.getArguments()
  renameMethod(rewrite, call, 'registerResource')
  if (where && third && !fourth) rewrite.text.appendLeft(where.getEnd(), ', {}')
  addReader(rewrite, handlers, call, fourth ?? third)
}

/** `registerTool` and `registerPrompt` have the same form in Tenon, except for handlers without arguments. */
function readRegistered(rewrite: FileRewrite, handlers: Handlers, call: CallExpression, schemaKey: string): void {
  const [, config, handler] = call.getArguments()
  const object = objectOf(config)
  const properties = object && keysOf(object)
  const hasUnknown = object?.getProperties().some((property) => Node.isSpreadAssignment(property)) ?? true
  if (properties?.includes(schemaKey) || (hasUnknown && functionOf(handler)?.getParameters().length === 2)) {
    addHandler(rewrite, handlers, handler, withArguments)
  } else if (!hasUnknown) {
    addHandler(rewrite, handlers, handler, withoutArguments)
  } else if (functionOf(handler)?.getParameters().length === 1) {
    // Handlers with arguments are far more common.
    addHandler(rewrite, handlers, handler, withArguments)
    const type = config?.getType()
    if (type?.getProperty(schemaKey)) return
    rewrite.report(
      handler!,
      `${call.getExpression().getText()}(...)`,
      `It is not known here whether there is an ${schemaKey}. Handlers of Tenon always get (args, ctx).`,
      `If there is no ${schemaKey}, insert _args in front of the parameter.`,
    )
  } else addHandler(rewrite, handlers, handler, withArguments)
}

function addReader(rewrite: FileRewrite, handlers: Handlers, call: CallExpression, handler: Node | undefined): void {
  const where = call.getArguments()[1]
  const target = where && resolve(where)
  const isTemplate = Node.isNewExpression(target) && target.getExpression().getText().endsWith('ResourceTemplate')
  const placeholders = isTemplate ? ['_uri', '_variables'] : ['_uri']
  addHandler(rewrite, handlers, handler, { ctxIndex: placeholders.length, placeholders })
}

function addHandler(rewrite: FileRewrite, handlers: Handlers, node: Node | undefined, shape: HandlerShape): void {
  const fn = functionOf(node)
  if (!fn) return
  if (fn.getSourceFile() === rewrite.file) handlers.add(rewrite, fn, shape)
  else if (shape.inserted && fn.getParameters().length > 0) {
    // The function may have other callers, so it stays as it is.
    rewrite.replace(node!, `(_args, ctx) => ${node!.getText()}(ctx)`)
  }
}

function isDescription(rest: readonly Node[]): boolean {
  const [first] = rest
  if (!first) return false
  if (isString(first)) return true
  // (name, schema, annotations, handler) has a schema here, which is an object.
  return rest.length > 1 && !Node.isObjectLiteralExpression(resolve(first)) && !first.getText().endsWith('.shape')
}

function isAnnotations(node: Node): boolean {
  const object = objectOf(node)
  if (!object) return false
  const keys = keysOf(object)
  return keys.length > 0 && keys.every((key) => annotationKeys.has(key)) && !/\bz\.|\(/.test(object.getText())
}

function isCertain(node: Node): boolean {
  return objectOf(node) !== undefined || /\.shape$|[sS]chema|[pP]arams|[aA]rgs|[iI]nput|[sS]hape/.test(node.getText())
}

function renameMethod(rewrite: FileRewrite, call: CallExpression, name: string): void {
  const callee = call.getExpression()
  if (Node.isPropertyAccessExpression(callee)) rewrite.replace(callee.getNameNode(), name)
}

/** Puts arguments into an object: over several lines, if the arguments are. */
function writeConfig(rewrite: FileRewrite, call: CallExpression, parts: readonly (readonly [string, Node])[]): void {
  const [name, ...rest] = call.getArguments()
  const [first] = parts
  const last = parts.at(-1)
  if (!name || !first || !last) {
    if (name && rest.length > 0) rewrite.text.appendLeft(name.getEnd(), ', {}')
    return
  }
  const isTall = first[1].getStartLineNumber() > name.getEndLineNumber()
  const indent = isTall ? rewrite.lineIndent(first[1]) : ''
  const unit = rewrite.indentUnit
  const [open, close] = isTall ? [`{\n${indent}${unit}`, `,\n${indent}}`] : ['{ ', ' }']
  parts.forEach(([key, value], index) => {
    const property = value.getText() === key ? '' : `${key}: `
    const shifted =
      index > 0 && isTall && value.getStartLineNumber() > parts[index - 1]![1].getEndLineNumber() ? unit : ''
    rewrite.text.appendLeft(value.getStart(), `${index === 0 ? open : shifted}${property}`)
    if (isTall) rewrite.indent(value, unit)
  })
  rewrite.text.appendLeft(last[1].getEnd(), close)
}

function reportArguments(rewrite: FileRewrite, call: CallExpression): void {
  rewrite.report(
    call,
    call.getText().split('\n')[0]!,
    'The arguments are spread, so they are not known here.',
    'Write registerTool(name, { description, inputSchema }, handler), or the same for prompts and resources.',
  )
}

import { type Identifier, Node, ts } from 'ts-morph'
import type { FileRewrite } from '../file-rewrite.ts'
import type { Handlers } from '../handlers.ts'
import { findNewName, messageTypeText } from '../names.ts'
import type { OldImport, OldName } from '../old-imports.ts'
import { classOf } from '../syntax.ts'

/** Rewrites uses of imported types, schemas and errors that have no counterpart of the same shape. */
export function rewriteTypes(rewrite: FileRewrite, imports: readonly OldImport[], handlers: Handlers): void {
  const isClient = imports.some(({ names }) => names.some(({ name }) => name === 'Client'))
  for (const { names } of imports) {
    for (const old of names) {
      for (const use of old.uses) {
        if (rewrite.consumed.has(use)) continue
        if (old.name === 'McpError' || old.name === 'ProtocolError') rewriteError(rewrite, use, isClient, handlers)
        else if (old.name === 'ErrorCode') rewriteErrorCode(rewrite, use)
        else if (old.name === 'UserError') rewriteUserError(rewrite, use)
        else if (old.name === 'fromJsonSchema') rewriteJsonSchema(rewrite, use)
        else if (old.name.endsWith('Schema')) rewriteSchema(rewrite, old, use)
        else rewriteType(rewrite, old, use)
      }
    }
  }
  rewriteErrorMembers(rewrite)
}

/** `RequestHandlerExtra<A, B>` is `Context`, `ToolCallback<S>` is `ToolHandler<S, undefined>`, `CallToolRequest` is an object type. */
function rewriteType(rewrite: FileRewrite, { name, isType }: OldName, use: Identifier): void {
  const reference = use.getParent()
  const message = messageTypeText(name, rewrite.quote)
  if (message && Node.isTypeReference(reference)) {
    if (message.params !== undefined) rewrite.need({ from: 'tenon', name: message.params, isType: true })
    rewrite.replace(reference, message.text)
    return
  }
  if (!Node.isTypeReference(reference)) return
  const args = reference.getTypeArguments()
  if (name === 'RequestHandlerExtra') {
    const local = rewrite.need({ from: 'tenon/server', name: 'Context', isType: true })
    rewrite.replace(reference, local)
  } else if (name === 'ToolCallback') {
    const local = rewrite.need({ from: 'tenon/server', name: 'ToolHandler', isType: true })
    rewrite.replace(reference, `${local}<${args[0]?.getText() ?? 'undefined'}, undefined>`)
  } else if (name === 'PromptCallback' && args.length === 0) {
    const local = rewrite.need({ from: 'tenon/server', name: 'PromptHandler', isType: true })
    rewrite.replace(reference, `${local}<undefined>`)
  } else if (name === 'FastMCP' && isType) {
    rewrite.replace(reference, rewrite.need({ from: 'tenon/server', name: 'McpServer', isType: true }))
  } else if (name === 'FastMCP' && args.length > 0) {
    rewrite.replace(reference, rewrite.need({ from: 'tenon/server', name: 'McpServer' }))
  }
}

/** FastMCP sends the second argument of `new UserError(message, extras)` as structured content. */
function rewriteUserError(rewrite: FileRewrite, use: Identifier): void {
  const created = use.getParent()
  const extras =
    Node.isNewExpression(created) && created.getExpression() === use ? created.getArguments()[1] : undefined
  if (!extras) return
  rewrite.text.appendLeft(extras.getStart(), '{ structuredContent: ')
  rewrite.text.appendRight(extras.getEnd(), ' }')
}

/** `fromJsonSchema(schema)` of v2 is the schema: Tenon takes JSON Schemas wherever it takes others. */
function rewriteJsonSchema(rewrite: FileRewrite, use: Identifier): void {
  const call = use.getParent()
  if (!Node.isCallExpression(call) || call.getExpression() !== use) return
  const [schema, validator] = call.getArguments()
  if (!schema) return
  if (validator) {
    rewrite.report(
      validator,
      validator.getText().split('\n')[0]!,
      'The validator was removed: Tenon validates JSON Schemas itself.',
      'Pass compileJsonSchema to the server if it needs a validator of its own: docs/servers.md.',
    )
  }
  rewrite.replaceRange(call.getStart(), schema.getStart(), '')
  rewrite.replaceRange(schema.getEnd(), call.getEnd(), '')
}

/** `z.infer<typeof CallToolResultSchema>` is `CallToolResult`. */
function rewriteSchema(rewrite: FileRewrite, { name, module }: OldName, use: Identifier): void {
  const query = use.getParent()
  const reference = query?.getParent()
  if (Node.isTypeQuery(query) && Node.isTypeReference(reference)) {
    const typeName = name.replace(/Schema$/, '')
    const message = messageTypeText(typeName, rewrite.quote)
    if (message) {
      if (message.params !== undefined) rewrite.need({ from: 'tenon', name: message.params, isType: true })
      return rewrite.replace(reference, message.text)
    }
    const found = findNewName(module, typeName)
    if (found) return rewrite.replace(reference, rewrite.need(found))
  }
  rewriteToolInput(rewrite, name, use)
}

/** `const ToolInputSchema = ToolSchema.shape.inputSchema` exists only for its type. */
function rewriteToolInput(rewrite: FileRewrite, name: string, use: Identifier): void {
  const shape = use.getParent()
  const member = shape?.getParent()
  if (name !== 'ToolSchema' || !Node.isPropertyAccessExpression(member)) return
  const declaration = member.getParent()
  const variable = Node.isVariableDeclaration(declaration) ? declaration.getNameNode() : undefined
  const statement = Node.isVariableDeclaration(declaration) ? declaration.getVariableStatement() : undefined
  if (!Node.isIdentifier(variable) || !statement || statement.isExported()) return
  const queries = rewrite.file
    .getDescendantsOfKind(ts.SyntaxKind.TypeQuery)
    .filter((query) => query.getExprName().getText() === variable.getText())
  const references = rewrite.file
    .getDescendantsOfKind(ts.SyntaxKind.Identifier)
    .filter((other) => other.getText() === variable.getText() && other !== variable)
  if (references.length !== queries.length) return
  const tool = rewrite.need(
    { from: 'tenon', name: 'Tool', isType: true },
    rewrite.names.has('Tool') ? 'Tool' : undefined,
  )
  for (const query of queries) {
    const reference = query.getParentIfKind(ts.SyntaxKind.TypeReference)
    if (reference) rewrite.replace(reference, `${tool}[${rewrite.literal(member.getName())}]`)
  }
  rewrite.removeStatement(statement)
}

/** `new McpError(code, message)`, in 2.x `new ProtocolError(code, message)`, is a `ProtocolError`. A client gets the errors of a server as `PeerError`. */
function rewriteError(rewrite: FileRewrite, use: Identifier, isClient: boolean, handlers: Handlers): void {
  const parent = use.getParent()
  const isCreated = Node.isNewExpression(parent) && parent.getExpression() === use
  const isTest = Node.isBinaryExpression(parent) && parent.getOperatorToken().getText() === 'instanceof'
  const name = isClient && isTest ? 'PeerError' : 'ProtocolError'
  rewrite.rename(use, rewrite.need({ from: 'tenon', name }))
  if (isCreated && isInTool(use) && handlers.has(use)) {
    rewrite.report(
      parent,
      parent.getText().split('\n')[0]!,
      'In a tool of McpServer, the official SDK answers with isError and the text of the error. Tenon answers with the JSON-RPC error.',
      'Throw a ToolError if the model should see the text.',
    )
  }
}

function isInTool(node: Node): boolean {
  return node
    .getAncestors()
    .some(
      (ancestor) =>
        Node.isCallExpression(ancestor) && /\.(tool|registerTool)$/.test(ancestor.getExpression().getText()),
    )
}

const codes = new Set([
  'ParseError',
  'InvalidRequest',
  'MethodNotFound',
  'InvalidParams',
  'InternalError',
  'UrlElicitationRequired',
])

function rewriteErrorCode(rewrite: FileRewrite, use: Identifier): void {
  const parent = use.getParent()
  if (Node.isTypeReference(parent)) return rewrite.replace(parent, 'number')
  if (!Node.isPropertyAccessExpression(parent) || codes.has(parent.getName())) return
  rewrite.report(
    parent,
    parent.getText(),
    'A timeout or a lost connection is not a JSON-RPC error in Tenon.',
    "Use TimeoutError or ClosedError of tenon, or compare error.code with 'timeout' or 'closed'.",
  )
}

/** `error.code` of a JSON-RPC error is `rpcCode`. */
function rewriteErrorMembers(rewrite: FileRewrite): void {
  for (const access of rewrite.file.getDescendantsOfKind(ts.SyntaxKind.PropertyAccessExpression)) {
    if (access.getName() !== 'code') continue
    const owner = classOf(access.getExpression())
    if (owner !== 'V1McpError' && owner !== 'V2ProtocolError') continue
    rewrite.replace(access.getNameNode(), 'rpcCode')
  }
}

import { type CallExpression, type ClassDeclaration, type ClassExpression, Node, type Type, ts } from 'ts-morph'
import type { FileRewrite } from '../file-rewrite.ts'
import type { OldImport } from '../old-imports.ts'
import type { ServerCreation } from '../server-options.ts'
import { classOf, classOfType, objectOf, resolve } from '../syntax.ts'
import { methodOf } from './request-handlers.ts'

const servers = new Set(['V1McpServer', 'V1Server', 'V2McpServer', 'V2Server'])
const transports = /^(Node|WebStandard)?StreamableHTTPServerTransport$/
const stub = 'PASS_revisions_TO_McpServer'
const revisions = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05']

/** Code by which a program may let in only those who sent `initialize`. */
interface Guard {
  readonly rewrite: FileRewrite
  /** Where it is reported. */
  readonly at: Node
  /** What must not compile if no server is known that could refuse the requests. */
  readonly input: Node
  readonly found: string
}

/**
 * Keeps closed what a program guards by `initialize` or by sessions. The official SDK refuses requests of 2026-07-28 there, and
 * they have neither, so the servers of such a program serve the other revisions only.
 */
export function keepHandshake(imports: ReadonlyMap<FileRewrite, readonly OldImport[]>): void {
  if (![...imports.values()].some((old) => old.length > 0)) return
  const guards = [...imports].flatMap(([rewrite, old]) => [
    ...initializeHandlers(rewrite),
    ...sessionIdGenerators(rewrite),
    ...unknownOptions(rewrite, old),
  ])
  if (guards.length === 0) return
  const isClosed = [...imports.keys()].map(closeServers).some(Boolean)
  for (const { rewrite, at, input, found } of guards) {
    if (!isClosed) wrap(rewrite, input)
    rewrite.report(
      at,
      found,
      `Requests of 2026-07-28 do not send initialize and have no session. ${isClosed ? 'They are refused by `revisions` until you have moved this check to every request.' : 'The server that has to refuse them is not known here, so this does not compile.'}`,
      isClosed
        ? 'Check every request, for example by the option auth of serveHttp, and remove `revisions` then.'
        : `Pass revisions: [${revisions.map((id) => `'${id}'`).join(', ')}] to the server, or check every request.`,
    )
  }
}

function initializeHandlers(rewrite: FileRewrite): Guard[] {
  return rewrite.file.getDescendantsOfKind(ts.SyntaxKind.CallExpression).flatMap((call) => {
    const callee = call.getExpression()
    const [schema] = call.getArguments()
    if (!Node.isPropertyAccessExpression(callee) || callee.getName() !== 'setRequestHandler' || !schema) return []
    if (!servers.has(classOf(callee.getExpression()) ?? '') || methodOf(schema) !== 'initialize') return []
    return { rewrite, at: call, input: schema, found: firstLine(call) }
  })
}

/** Wherever it is written: the options of a transport may be those of another file, or of a class of the program. */
function sessionIdGenerators(rewrite: FileRewrite): Guard[] {
  const inOptions = rewrite.file.getDescendantsOfKind(ts.SyntaxKind.ObjectLiteralExpression).flatMap((input) =>
    input
      .getProperties()
      .filter((property) => isGenerator(property) && !isUndefined(property))
      .map((at) => ({ rewrite, at, input, found: firstLine(at) })),
  )
  const assigned = rewrite.file.getDescendantsOfKind(ts.SyntaxKind.BinaryExpression).flatMap((assignment) => {
    const left = assignment.getLeft()
    const input = assignment.getRight()
    const isAssignment = assignment.getOperatorToken().getKind() === ts.SyntaxKind.EqualsToken
    if (!isAssignment || !Node.isPropertyAccessExpression(left) || left.getName() !== 'sessionIdGenerator') return []
    return isNone(input) ? [] : { rewrite, at: assignment, input, found: firstLine(assignment) }
  })
  return [...inOptions, ...assigned]
}

/** Transports whose options are not written in the program, so that they may have sessions. */
function unknownOptions(rewrite: FileRewrite, imports: readonly OldImport[]): Guard[] {
  const uses = imports.flatMap(({ names }) =>
    names.filter(({ name }) => transports.test(name)).flatMap((it) => it.uses),
  )
  return uses.flatMap((use) => {
    const created = use.getParentIfKind(ts.SyntaxKind.NewExpression)
    const [input] = created?.getArguments() ?? []
    if (!created || created.getExpression() !== use || !input || isNone(input) || isWritten(input)) return []
    return { rewrite, at: created, input, found: firstLine(created) }
  })
}

/** Whether an object is written in the program, or at least what it has as `sessionIdGenerator`. */
function isWritten(node: Node): boolean {
  const properties = objectOf(node)?.getProperties()
  if (!properties) return false
  const own = properties.findLastIndex(isGenerator)
  return properties.every(
    (property, index) => index < own || !Node.isSpreadAssignment(property) || isWritten(property.getExpression()),
  )
}

function isGenerator(property: Node): boolean {
  return 'getName' in property && /^['"]?sessionIdGenerator['"]?$/.test((property as { getName(): string }).getName())
}

function isUndefined(property: Node): boolean {
  const value = Node.isPropertyAssignment(property) ? property.getInitializer() : undefined
  return value !== undefined && isNone(value)
}

function isNone(node: Node): boolean {
  const value = resolve(node)
  return value.getText() === 'undefined' || Node.isVoidExpression(value)
}

/** Returns whether the file has a server. */
function closeServers(rewrite: FileRewrite): boolean {
  const found = [
    ...rewrite.file.getDescendantsOfKind(ts.SyntaxKind.NewExpression).filter((created) => isServer(created.getType())),
    ...rewrite.file.getDescendantsOfKind(ts.SyntaxKind.CallExpression).filter(isSuperOfServer),
  ]
  return found.map((created) => close(rewrite, created)).some(Boolean)
}

function close(rewrite: FileRewrite, created: ServerCreation): boolean {
  const args = created.getArguments()
  const [first] = args
  if (!first) return false
  if (args.some((argument) => Node.isSpreadElement(argument))) {
    rewrite.text.appendLeft(first.getStart(), `...${stub}(`)
    rewrite.text.appendRight(args.at(-1)!.getEnd(), ')')
  } else rewrite.addServerOption(created, `revisions: [${revisions.map((id) => rewrite.literal(id)).join(', ')}]`)
  return true
}

/** Whether `new` of a type passes its arguments to the constructor of an official server. */
function isServer(type: Type): boolean {
  return servers.has(classOfType(type) ?? '') && !hasConstructor(type)
}

function isSuperOfServer(call: CallExpression): boolean {
  if (call.getExpression().getKind() !== ts.SyntaxKind.SuperKeyword) return false
  const own = call.getFirstAncestor(isClass)
  return (
    own
      ?.getType()
      .getBaseTypes()
      .some((base) => isServer(base)) ?? false
  )
}

/** Whether a class of the program, or one between it and the official class, has a constructor. */
function hasConstructor(type: Type): boolean {
  if (servers.has(type.getSymbol()?.getName() ?? '')) return false
  const declarations = type.getSymbol()?.getDeclarations() ?? []
  if (declarations.some((own) => isClass(own) && own.getConstructors().length > 0)) return true
  return type.getBaseTypes().some((base) => hasConstructor(base))
}

function isClass(node: Node): node is ClassDeclaration | ClassExpression {
  return Node.isClassDeclaration(node) || Node.isClassExpression(node)
}

function wrap(rewrite: FileRewrite, node: Node): void {
  rewrite.text.appendLeft(node.getStart(), `${stub}(`)
  rewrite.text.appendRight(node.getEnd(), ')')
}

function firstLine(node: Node): string {
  return node.getText().split('\n')[0]!
}

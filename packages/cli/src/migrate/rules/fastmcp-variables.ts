import {
  type CallExpression,
  type ForOfStatement,
  type Identifier,
  Node,
  type ObjectLiteralExpression,
  type ParameterDeclaration,
  type PropertyAccessExpression,
  ts,
} from 'ts-morph'
import type { FileRewrite } from '../file-rewrite.ts'
import type { Handlers } from '../handlers.ts'
import { reportSession, sessionStub } from '../session.ts'
import {
  classOf,
  type FunctionNode,
  hasSpread,
  isChanged,
  isFunction,
  keysOf,
  propertyNamed,
  propertyValue,
  withoutCasts,
} from '../syntax.ts'
import { functionBehind, readsAllParameters, takesParameter } from './fastmcp-auth.ts'

/** The members of a FastMCP tool that are options in Tenon, and the names that they have there. */
const options: Readonly<Record<string, string>> = {
  description: 'description',
  parameters: 'inputSchema',
  outputSchema: 'outputSchema',
  annotations: 'annotations',
  _meta: '_meta',
}

/** A tool that some variable can be. */
interface FoundTool {
  readonly object: ObjectLiteralExpression
  readonly rewrite: FileRewrite
  readonly execute: Node
  readonly fn: FunctionNode | undefined
}

/**
 * Rewrites `server.addTool(tool)` into `server.registerTool(tool.name, { ... }, tool.execute)`. That is certain only if every
 * value of the variable is written out in the program, with members that are known. Returns undefined otherwise.
 */
export function rewriteToolVariable(
  rewrite: FileRewrite,
  rewrites: ReadonlyMap<string, FileRewrite>,
  handlers: Handlers,
  call: CallExpression,
  access: PropertyAccessExpression,
): FoundTool[] | undefined {
  const [variable, ...others] = call.getArguments()
  if (!Node.isIdentifier(variable) || others.length > 0) return undefined
  const objects = objectsBehind(variable)
  if (!objects || objects.length === 0) return undefined
  const tools = objects.map((object) => toTool(object, rewrites))
  if (!tools.every((tool) => tool !== undefined)) return undefined
  const keys = new Set(objects.flatMap(keysOf))
  const name = variable.getText()
  const config = Object.keys(options).flatMap((key) => (keys.has(key) ? [`${options[key]}: ${name}.${key}`] : []))
  rewrite.replace(access.getNameNode(), 'registerTool')
  rewrite.text.appendLeft(
    variable.getStart(),
    `${name}.name, ${config.length > 0 ? `{ ${config.join(', ')} }` : '{}'}, `,
  )
  rewrite.text.appendLeft(variable.getEnd(), '.execute')
  addHandlers(rewrite, rewrites, handlers, variable, tools)
  return tools
}

function toTool(object: ObjectLiteralExpression, rewrites: ReadonlyMap<string, FileRewrite>): FoundTool | undefined {
  const rewrite = rewrites.get(object.getSourceFile().getFilePath())
  const execute = propertyValue(object, 'execute')
  const isKnown = keysOf(object).every((key) => Object.hasOwn(options, key) || key === 'name' || key === 'execute')
  if (!rewrite || !execute || !propertyNamed(object, 'name') || !isKnown) return undefined
  const fn = functionBehind(execute)
  // registerTool() gets the function without its object.
  const usesThis = fn && !Node.isArrowFunction(fn) && fn.getDescendantsOfKind(ts.SyntaxKind.ThisKeyword).length > 0
  return usesThis ? undefined : { object, rewrite, execute, fn }
}

function addHandlers(
  rewrite: FileRewrite,
  rewrites: ReadonlyMap<string, FileRewrite>,
  handlers: Handlers,
  variable: Identifier,
  tools: readonly FoundTool[],
): void {
  let isMarked = false
  const onSession = () => {
    if (isMarked) return
    isMarked = true
    rewrite.text.prependRight(variable.getStart(), `${sessionStub}(`)
    rewrite.text.appendLeft(variable.getEnd(), ')')
  }
  const hasSession = mayHaveSession(rewrites)
  for (const { rewrite: own, execute, fn } of tools) {
    const isVisible = fn && fn.getSourceFile() === own.file && !readsAllParameters(fn)
    if (isVisible) handlers.add(own, fn, { ctxIndex: 1, placeholders: ['_args'], onSession })
    else if (fn && !takesParameter(fn, 1)) continue
    else if (hasSession) {
      reportSession(own, execute)
      onSession()
    } else reportContext(own, execute)
  }
}

/** Without an option such as `authenticate`, the session is always undefined, so that no check can depend on it. */
function mayHaveSession(rewrites: ReadonlyMap<string, FileRewrite>): boolean {
  const created = [...rewrites.values()]
    .flatMap(({ file }) => file.getDescendantsOfKind(ts.SyntaxKind.NewExpression))
    .filter((each) => classOf(each) === 'FastServer')
  return (
    created.length === 0 ||
    created.some((each) => {
      const first = each.getArguments()[0]
      const object = first && withoutCasts(first)
      if (!Node.isObjectLiteralExpression(object) || hasSpread(object)) return true
      return keysOf(object).some((key) => /auth/i.test(key))
    })
  )
}

const hiddenContext = 'What this function does with the context of FastMCP is not visible here.'

/** Reports the first tool of those that the same function returns, such as `wrap(...)`. */
function reportContext(rewrite: FileRewrite, execute: Node): void {
  const wrapper = Node.isCallExpression(execute) ? `${execute.getExpression().getText()}(` : undefined
  if (wrapper && rewrite.findings.some(({ found, reason }) => reason === hiddenContext && found.startsWith(wrapper)))
    return
  rewrite.report(
    execute,
    execute.getText().split('\n')[0]!,
    hiddenContext,
    'Use the members of ctx instead: ctx.log, ctx.progress(...), ctx.caller.clientInfo. docs/servers.md lists them.',
  )
}

/** The object literals that a value can be, or undefined if it may be something else. */
function objectsBehind(value: Node, depth = 0): ObjectLiteralExpression[] | undefined {
  const inner = withoutCasts(value)
  if (Node.isObjectLiteralExpression(inner)) return hasSpread(inner) ? undefined : [inner]
  if (!Node.isIdentifier(inner) || depth > 8) return undefined
  const declaration = declarationBehind(inner)
  if (Node.isParameterDeclaration(declaration)) return objectsOfParameter(declaration, depth + 1)
  if (!Node.isVariableDeclaration(declaration) || !isConstant(declaration.getNameNode())) return undefined
  const loop = declaration.getParent()?.getParent()
  if (Node.isForOfStatement(loop)) return elementsBehind(loop.getExpression(), depth + 1)
  const initial = declaration.getInitializer()
  return initial && objectsBehind(initial, depth + 1)
}

/** The object literals in a list, or undefined if it may have others. */
function elementsBehind(list: Node, depth: number): ObjectLiteralExpression[] | undefined {
  const inner = withoutCasts(list)
  if (Node.isArrayLiteralExpression(inner)) {
    return joined(
      inner.getElements().map((element) => {
        return Node.isSpreadElement(element)
          ? elementsBehind(element.getExpression(), depth + 1)
          : objectsBehind(element, depth + 1)
      }),
    )
  }
  if (!Node.isIdentifier(inner) || depth > 8) return undefined
  const declaration = declarationBehind(inner)
  if (!Node.isVariableDeclaration(declaration) || !isConstant(declaration.getNameNode())) return undefined
  const initial = declaration.getInitializer()
  return initial && elementsBehind(initial, depth + 1)
}

/** The object literals that callers of a function pass to it. All of them have to be known. */
function objectsOfParameter(parameter: ParameterDeclaration, depth: number): ObjectLiteralExpression[] | undefined {
  const fn = parameter.getParent()
  if (!isFunction(fn) || !isConstant(parameter.getNameNode()) || parameter.isRestParameter()) return undefined
  const index = fn.getParameters().indexOf(parameter)
  const outer = fn.getParent()
  const loop = Node.isCallExpression(outer) ? outer.getExpression() : undefined
  if (Node.isPropertyAccessExpression(loop) && loop.getName() === 'forEach' && index === 0)
    return elementsBehind(loop.getExpression(), depth)
  const name = Node.isFunctionDeclaration(fn) ? fn.getNameNode() : variableOf(fn)
  if (!name || isExported(name)) return undefined
  return joined(
    usesOf(name).map((use) => {
      const call = use.getParent()
      const argument =
        Node.isCallExpression(call) && call.getExpression() === use ? call.getArguments()[index] : undefined
      return argument && objectsBehind(argument, depth)
    }),
  )
}

function variableOf(fn: FunctionNode): Identifier | undefined {
  const declaration = fn.getParent()
  const name = Node.isVariableDeclaration(declaration) ? declaration.getNameNode() : undefined
  return Node.isIdentifier(name) && isConstant(name) ? name : undefined
}

function isExported(name: Identifier): boolean {
  const statement = name.getFirstAncestor((node) => Node.isStatement(node))
  const isModified = Node.isExportable(statement) && statement.isExported()
  return isModified || name.getSourceFile().getExportedDeclarations().has(name.getText())
}

/** Whether a variable keeps its value, and nothing that gets it can change what it holds. */
function isConstant(name: Node, depth = 0): boolean {
  return Node.isIdentifier(name) && depth < 6 && usesOf(name).every((use) => isRead(use, depth + 1))
}

/** Whether a use of a variable only reads it: a member, a copy, a tool that is added, a function that only reads it too. */
function isRead(use: Identifier, depth: number): boolean {
  if (isChanged(use)) return false
  const parent = use.getParent()
  if (Node.isPropertyAccessExpression(parent)) return isReadOfMember(parent, depth)
  if (Node.isSpreadAssignment(parent) || Node.isSpreadElement(parent) || Node.isExportAssignment(parent)) return true
  if (Node.isForOfStatement(parent)) return isConstant(loopVariable(parent), depth)
  if (Node.isArrayLiteralExpression(parent)) return isListRead(parent, depth)
  if (!Node.isCallExpression(parent)) return false
  if (parent.getExpression() === use) return true
  const callee = parent.getExpression()
  if (Node.isPropertyAccessExpression(callee) && classOf(callee.getExpression()) === 'FastServer') return true
  const parameter = functionBehind(callee)?.getParameters()[parent.getArguments().indexOf(use)]
  return parameter !== undefined && !parameter.isRestParameter() && isConstant(parameter.getNameNode(), depth)
}

/** `tool.name`, or a call such as `tools.forEach(...)`, whose function gets what the list holds. */
function isReadOfMember(access: PropertyAccessExpression, depth: number): boolean {
  const call = access.getParent()
  if (!Node.isCallExpression(call) || call.getExpression() !== access) return true
  return call.getArguments().every((argument) => {
    if (Node.isStringLiteral(argument) || Node.isNumericLiteral(argument)) return true
    const [element, ...others] = functionBehind(argument)?.getParameters() ?? []
    return element !== undefined && others.length === 0 && isConstant(element.getNameNode(), depth)
  })
}

/** Whether a list in brackets is only read: in a loop, or in a variable that is only read. */
function isListRead(list: Node, depth: number): boolean {
  const parent = list.getParent()
  if (Node.isForOfStatement(parent)) return isConstant(loopVariable(parent), depth)
  if (Node.isVariableDeclaration(parent)) return isConstant(parent.getNameNode(), depth)
  return Node.isPropertyAccessExpression(parent) && isReadOfMember(parent, depth)
}

function loopVariable(loop: ForOfStatement): Node {
  const declared = loop.getInitializer()
  return Node.isVariableDeclarationList(declared) ? declared.getDeclarations()[0]!.getNameNode() : declared
}

/** The uses of a name in all files, without its declaration and its imports. */
function usesOf(name: Identifier): Identifier[] {
  return name
    .findReferencesAsNodes()
    .filter(Node.isIdentifier)
    .filter(
      (use) =>
        use !== name &&
        !use.getFirstAncestor((node) => Node.isImportDeclaration(node) || Node.isExportDeclaration(node)),
    )
}

/** The declaration of a name, in the file that it is imported from, also as its default export. */
function declarationBehind(name: Identifier): Node | undefined {
  const symbol = name.getSymbol()
  const declaration = (symbol?.getAliasedSymbol() ?? symbol)?.getDeclarations()[0]
  const exported = Node.isExportAssignment(declaration) ? declaration.getExpression() : undefined
  return Node.isIdentifier(exported) ? declarationBehind(exported) : declaration
}

function joined(parts: readonly (ObjectLiteralExpression[] | undefined)[]): ObjectLiteralExpression[] | undefined {
  return parts.every((part) => part !== undefined) ? [...new Set(parts.flat())] : undefined
}

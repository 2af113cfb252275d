import {
  type ArrowFunction,
  type FunctionDeclaration,
  type FunctionExpression,
  type Identifier,
  type MethodDeclaration,
  Node,
  type ObjectLiteralElementLike,
  type ObjectLiteralExpression,
  type PropertyAccessExpression,
  type Type,
  ts,
} from 'ts-morph'

/** A function that can be a handler. */
export type FunctionNode = ArrowFunction | FunctionExpression | FunctionDeclaration | MethodDeclaration

/** Returns the function that an expression is, or that a name refers to. */
export function functionOf(node: Node | undefined): FunctionNode | undefined {
  const target = node && resolve(node)
  return isFunction(target) ? target : undefined
}

/** Returns the object literal that an expression is, or that a constant refers to. */
export function objectOf(node: Node | undefined): ObjectLiteralExpression | undefined {
  const target = node && resolve(node)
  return Node.isObjectLiteralExpression(target) ? target : undefined
}

/** Follows names, imports and casts to the expression or function behind them. */
export function resolve(node: Node, depth = 0): Node {
  const inner = withoutCasts(node)
  if (!Node.isIdentifier(inner) || depth > 5) return inner
  const declaration = declarationOf(inner)
  if (Node.isVariableDeclaration(declaration)) {
    const value = declaration.getInitializer()
    const isConstant = declaration.getVariableStatement()?.getDeclarationKind() === 'const'
    return value && isConstant ? resolve(value, depth + 1) : inner
  }
  return Node.isFunctionDeclaration(declaration) ? declaration : inner
}

/** Returns the expression without parentheses, `as`, `satisfies` and `!`. */
export function withoutCasts(node: Node): Node {
  const isWrapped =
    Node.isParenthesizedExpression(node) ||
    Node.isAsExpression(node) ||
    Node.isSatisfiesExpression(node) ||
    Node.isNonNullExpression(node) ||
    Node.isTypeAssertion(node)
  return isWrapped ? withoutCasts(node.getExpression()) : node
}

/** Returns the declaration of a name, in the file that it is imported from. */
export function declarationOf(name: Identifier): Node | undefined {
  const symbol = name.getSymbol()
  return (symbol?.getAliasedSymbol() ?? symbol)?.getDeclarations()[0]
}

/** Returns the names that refer to a declared name, in its own file. */
export function referencesOf(name: Identifier, within: Node = name.getSourceFile()): Identifier[] {
  const symbol = name.getSymbol()
  if (!symbol) return []
  return identifiersIn(within).filter((other) => {
    if (other === name || other.getText() !== name.getText()) return false
    const parent = other.getParent()
    if (Node.isPropertyAccessExpression(parent) && parent.getNameNode() === other) return false
    if (Node.isShorthandPropertyAssignment(parent)) return parent.getValueSymbol() === symbol
    if (Node.isExportSpecifier(parent)) return parent.getNameNode() === other
    return other.getSymbol() === symbol
  })
}

/** Returns all identifiers below a node. */
export function identifiersIn(node: Node): Identifier[] {
  return node.getDescendants().filter(Node.isIdentifier)
}

/** Returns the value of a property: of `a: 1`, of the shorthand `a`, or the method itself. */
export function propertyValue(object: ObjectLiteralExpression, name: string): Node | undefined {
  const property = propertyNamed(object, name)
  if (Node.isPropertyAssignment(property)) return property.getInitializer()
  if (Node.isShorthandPropertyAssignment(property)) return property.getNameNode()
  return Node.isMethodDeclaration(property) ? property : undefined
}

/** Whether an object literal has a spread, so that it may have further properties. */
export function hasSpread(object: ObjectLiteralExpression): boolean {
  return object.getProperties().some((property) => Node.isSpreadAssignment(property))
}

/** The names of the properties of an object literal. */
export function keysOf(object: ObjectLiteralExpression): string[] {
  return object.getProperties().flatMap((property) => {
    return Node.isSpreadAssignment(property) ? [] : plainName(property.getName())
  })
}

/** The property of an object literal with this name, however it is written: `name`, `'name'` or `['name']`. */
export function propertyNamed(object: ObjectLiteralExpression, name: string): ObjectLiteralElementLike | undefined {
  return object
    .getProperties()
    .find((property) => !Node.isSpreadAssignment(property) && plainName(property.getName()) === name)
}

function plainName(name: string): string {
  return name.replace(/^\[\s*|\s*\]$/g, '').replace(/^['"`]|['"`]$/g, '')
}

/** Returns the value of a string literal, also of a constant one. */
export function stringOf(node: Node | undefined): string | undefined {
  const value = node && resolve(node)
  if (Node.isStringLiteral(value) || Node.isNoSubstitutionTemplateLiteral(value)) return value.getLiteralValue()
  return undefined
}

/** Whether an expression is certainly a string. */
export function isString(node: Node): boolean {
  const value = resolve(node)
  if (Node.isStringLiteral(value) || Node.isNoSubstitutionTemplateLiteral(value) || Node.isTemplateExpression(value))
    return true
  if (Node.isBinaryExpression(value) && value.getOperatorToken().getText() === '+') return true
  const type = node.getType()
  return type.isString() || type.isStringLiteral() || (type.isUnion() && type.getUnionTypes().every(isStringType))
}

/** Returns the class or interface of an official package that an expression has: `V1McpServer`, `V2Context` ... */
export function classOf(node: Node): string | undefined {
  return classOfType(node.getType())
}

/** Returns the class of an official package that a type is. */
export function classOfType(type: Type, depth = 0): string | undefined {
  if (type.isUnion()) {
    for (const part of type.getUnionTypes()) {
      const found = classOfType(part, depth + 1)
      if (found !== undefined) return found
    }
    return undefined
  }
  const name = type.getSymbol()?.getName()
  if (name !== undefined && /^(V1|V2|Fast)[A-Z]/.test(name)) return name
  if (depth > 4 || !(type.isClass() || type.isInterface())) return undefined
  for (const base of type.getBaseTypes()) {
    const found = classOfType(base, depth + 1)
    if (found !== undefined) return found
  }
  return undefined
}

/** Returns the innermost function around a node for which a condition is true. */
export function enclosing<T extends Node>(node: Node, matches: (ancestor: Node) => ancestor is T): T | undefined {
  return node.getAncestors().find(matches)
}

/** Whether a node is a function. */
export function isFunction(node: Node | undefined): node is FunctionNode {
  return (
    Node.isArrowFunction(node) ||
    Node.isFunctionExpression(node) ||
    Node.isFunctionDeclaration(node) ||
    Node.isMethodDeclaration(node)
  )
}

/** Whether a call is a call of a method: `x.name(...)`. */
export function isMethodCall(node: Node): node is Node & { getExpression(): PropertyAccessExpression } {
  return Node.isCallExpression(node) && Node.isPropertyAccessExpression(node.getExpression())
}

function isStringType(type: Type): boolean {
  return type.isString() || type.isStringLiteral()
}

/** The values that a function returns itself, not those of functions in it. */
export function returnedBy(fn: FunctionNode): Node[] {
  const body = fn.getBody()
  if (body && !Node.isBlock(body)) return [body]
  return fn
    .getDescendantsOfKind(ts.SyntaxKind.ReturnStatement)
    .filter((statement) => statement.getFirstAncestor((ancestor) => functionOf(ancestor) === ancestor) === fn)
    .flatMap((statement) => statement.getExpression() ?? [])
}

const changingMethods = /^(push|unshift|pop|shift|splice|sort|reverse|fill|set|add|delete|clear|append)$/

/** Whether a use changes a variable or what it holds: `x = 1`, `x.y++`, `x.push(1)`, `delete x.y`. */
export function isChanged(use: Identifier): boolean {
  let target: Node = use
  for (let parent: Node | undefined = use.getParent(); parent !== undefined; parent = target.getParent()) {
    if (!Node.isPropertyAccessExpression(parent) && !Node.isElementAccessExpression(parent)) break
    if (parent.getExpression() !== target) break
    target = parent
  }
  const parent = target.getParent()
  if (Node.isCallExpression(parent) && parent.getExpression() === target)
    return Node.isPropertyAccessExpression(target) && changingMethods.test(target.getName())
  if (Node.isDeleteExpression(parent)) return true
  if (Node.isPrefixUnaryExpression(parent) || Node.isPostfixUnaryExpression(parent))
    return /^(\+\+|--)|(\+\+|--)$/.test(parent.getText())
  return (
    Node.isBinaryExpression(parent) &&
    parent.getLeft() === target &&
    /^([-+*/%&|^]|\*\*|<<|>>>?|&&|\|\||\?\?)?=$/.test(parent.getOperatorToken().getText())
  )
}

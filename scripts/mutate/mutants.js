import { posix } from 'node:path'
import ts from 'typescript-5'
import { parse, pointsOf } from './points.js'

/** Kinds of mutants, each a mistake that a person could make. */
export const operators = {
  await: 'dropped await',
  negated: 'negated condition',
  guard: 'removed guard',
  operand: 'dropped operand',
  bound: 'off by one',
  swapped: 'swapped arguments',
  call: 'removed call',
}

/**
 * Lists the mutants of a source file.
 * @returns Each replaces the text from `start` to `end`. `point` is the index of the code that must run for a test to notice it
 * (see `pointsOf`), or -1 if it runs when the module is loaded. `branch` is the index of the code that runs where the mutant makes
 * a difference, if that is known. `uses` are the sources that the code imports something from.
 */
export function mutantsOf(path, text) {
  const file = parse(path, text)
  const indexes = new Map(pointsOf(file).map((node, index) => [node, index]))
  const imports = importsOf(file)
  const found = []
  const visit = (node, within) => {
    const inside = indexes.get(node) ?? within
    for (const [operator, start, end, replacement] of mutationsOf(node, file)) {
      // Without its guard, code behaves differently only where the guard would have left it.
      const point = operator === 'guard' ? indexes.get(node.thenStatement) : inside
      const branch = operator === 'operand' ? indexes.get(decisiveBranch(node)) : undefined
      const line = file.getLineAndCharacterOfPosition(start).line + 1
      const uses = [...new Set(namesIn(node).flatMap((name) => imports.get(name) ?? []))]
      found.push({ path, operator, start, end, replacement, line, point, branch, uses })
    }
    ts.forEachChild(node, (child) => visit(child, inside))
  }
  visit(file, -1)
  return found
}

/**
 * The branch of an `if` that runs where a dropped operand of its condition counts. For `||`, the others are false and it is true, so
 * the condition is true. `&&` is the opposite.
 */
function decisiveBranch(node) {
  const { kind } = node.operatorToken
  let { parent } = node
  while (ts.isParenthesizedExpression(parent) || parent.operatorToken?.kind === kind) parent = parent.parent
  if (!ts.isIfStatement(parent)) return undefined
  return kind === ts.SyntaxKind.BarBarToken ? parent.thenStatement : parent.elseStatement
}

/** The paths of imported sources, by the names that are imported. */
function importsOf(file) {
  const found = new Map()
  for (const statement of file.statements) {
    if (!ts.isImportDeclaration(statement) || statement.importClause?.isTypeOnly) continue
    const { text } = statement.moduleSpecifier
    const { namedBindings } = statement.importClause ?? {}
    if (!text.startsWith('.') || !namedBindings || !ts.isNamedImports(namedBindings)) continue
    const path = posix.join(posix.dirname(file.fileName), text)
    for (const { name } of namedBindings.elements) found.set(name.text, path)
  }
  return found
}

function namesIn(node) {
  const found = []
  const visit = (each) => {
    if (ts.isIdentifier(each)) found.push(each.text)
    ts.forEachChild(each, visit)
  }
  visit(node)
  return found
}

/** The text of a file with one mutant. */
export function mutate(text, { start, end, replacement }) {
  return text.slice(0, start) + replacement + text.slice(end)
}

function* mutationsOf(node, file) {
  const start = node.getStart(file)
  const textOf = (child) => child.getText(file)
  if (ts.isAwaitExpression(node)) yield ['await', start, node.expression.getStart(file), '']
  if (ts.isIfStatement(node)) {
    yield* negated(node.expression, file)
    if (isGuard(node)) yield ['guard', start, node.end, ';']
  }
  if (ts.isConditionalExpression(node)) yield* negated(node.condition, file)
  if (ts.isBinaryExpression(node)) {
    const operator = node.operatorToken
    const bound = bounds.get(operator.kind)
    if (bound) yield ['bound', operator.getStart(file), operator.end, bound]
    if (isLogical(operator.kind)) yield ['operand', start, node.end, `(${textOf(node.left)})`]
  }
  if (ts.isCallExpression(node) || ts.isNewExpression(node)) {
    const [first, second] = node.arguments ?? []
    if (second && !isCommutative(node, file) && isPlain(first) && isPlain(second) && textOf(first) !== textOf(second)) {
      yield ['swapped', first.getStart(file), second.end, `${textOf(second)}, ${textOf(first)}`]
    }
  }
  if (ts.isExpressionStatement(node) && isRemovable(node.expression, file)) yield ['call', start, node.end, ';']
}

function* negated(condition, file) {
  yield ['negated', condition.getStart(file), condition.end, `!(${condition.getText(file)})`]
}

const bounds = new Map([
  [ts.SyntaxKind.LessThanToken, '<='],
  [ts.SyntaxKind.LessThanEqualsToken, '<'],
  [ts.SyntaxKind.GreaterThanToken, '>='],
  [ts.SyntaxKind.GreaterThanEqualsToken, '>'],
])

function isLogical(kind) {
  return kind === ts.SyntaxKind.AmpersandAmpersandToken || kind === ts.SyntaxKind.BarBarToken
}

/** `if (...) return`, `if (...) throw` and the like, without `else`. */
function isGuard({ thenStatement, elseStatement, parent }) {
  if (elseStatement || ts.isIfStatement(parent)) return false
  const last = ts.isBlock(thenStatement) ? thenStatement.statements.at(-1) : thenStatement
  return last !== undefined && (ts.isReturnStatement(last) || ts.isThrowStatement(last) || ts.isContinueStatement(last))
}

/** The order of two arguments makes no difference. */
function isCommutative(node, file) {
  return node.arguments.length === 2 && /^Math\.(?:max|min)$/.test(node.expression.getText(file))
}

/** Arguments that could be mistaken for each other: not functions, objects or spreads. */
function isPlain(node) {
  return (
    ts.isIdentifier(node) ||
    ts.isPropertyAccessExpression(node) ||
    ts.isLiteralExpression(node) ||
    ts.isCallExpression(node) ||
    node.kind === ts.SyntaxKind.ThisKeyword
  )
}

/** A statement that only calls something. Timers that let the process exit have no effect that a test in the process could see. */
function isRemovable(expression, file) {
  let called = expression
  while (ts.isAwaitExpression(called) || ts.isVoidExpression(called)) called = called.expression
  if (!ts.isCallExpression(called) || called.expression.kind === ts.SyntaxKind.SuperKeyword) return false
  return !/\bunref$/.test(called.expression.getText(file))
}

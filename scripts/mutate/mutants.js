import ts from 'typescript-5'

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
 * (see `pointsOf`), or -1 if it runs when the module is loaded.
 */
export function mutantsOf(path, text) {
  const file = parse(path, text)
  const indexes = new Map(pointsOf(file).map((node, index) => [node, index]))
  const found = []
  const visit = (node, within) => {
    const inside = indexes.get(node) ?? within
    for (const [operator, start, end, replacement] of mutationsOf(node, file)) {
      // Without its guard, code behaves differently only where the guard would have left it.
      const point = operator === 'guard' ? indexes.get(node.thenStatement) : inside
      const line = file.getLineAndCharacterOfPosition(start).line + 1
      found.push({ path, operator, start, end, replacement, line, point })
    }
    ts.forEachChild(node, (child) => visit(child, inside))
  }
  visit(file, -1)
  return found
}

/** The text of a file with one mutant. */
export function mutate(text, { start, end, replacement }) {
  return text.slice(0, start) + replacement + text.slice(end)
}

/** The parts of a file that may or may not run: functions that have a body, and the branches of `if`. In the order of the text. */
function pointsOf(file) {
  const found = []
  const visit = (node) => {
    if (isPoint(node)) found.push(node)
    ts.forEachChild(node, visit)
  }
  visit(file)
  return found
}

function isPoint(node) {
  if (ts.isFunctionLike(node)) return node.body !== undefined
  const { parent } = node
  return parent !== undefined && ts.isIfStatement(parent) && node !== parent.expression && !ts.isIfStatement(node)
}

/** Inserts code into every point that records that it ran. Lines keep their numbers. */
export function instrument(path, text) {
  const file = parse(path, text)
  const points = pointsOf(file)
  const name = JSON.stringify(path)
  // A function declaration can be called before its module is evaluated, so nothing here may depend on the order.
  const header =
    `var __hits; function __hit(n) { __hits ??= ((globalThis.__tenonHits ??= new Map()).get(${name}) ?? ` +
    `globalThis.__tenonHits.set(${name}, new Uint8Array(${points.length})).get(${name})); __hits[n] = 1 } `
  const insertions = points.flatMap((point, index) => insertionsFor(point, index, file))
  let result = header
  let last = 0
  // Of two at the same place, the one that ends something comes first, and an outer one opens before an inner one.
  for (const { at, inserted } of insertions.toSorted((one, other) => one.at - other.at || one.rank - other.rank)) {
    result += text.slice(last, at) + inserted
    last = at
  }
  return result + text.slice(last)
}

function insertionsFor(point, index, file) {
  const code = ts.isFunctionLike(point) ? point.body : point
  const start = code.getStart(file)
  if (ts.isBlock(code)) return [{ at: start + 1, rank: index, inserted: `__hit(${index});` }]
  const [open, close] = ts.isFunctionLike(point) ? [`(__hit(${index}),`, ')'] : [`{__hit(${index});`, '}']
  return [
    { at: start, rank: index, inserted: open },
    { at: code.end, rank: -1 - index, inserted: close },
  ]
}

function parse(path, text) {
  return ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true)
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
    if (second && isPlain(first) && isPlain(second) && textOf(first) !== textOf(second)) {
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

import ts from 'typescript-5'

/** The parts of a file that may or may not run: functions that have a body, and the branches of `if`. In the order of the text. */
export function pointsOf(file) {
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

export function parse(path, text) {
  return ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true)
}

// Accounts for every row of spec/requirements.tsv: a test names it in its title, or spec/untestable.tsv gives the reason why none
// does. Fails if a row has neither. Whether a test passes is for `npm test` to show.
//
//     npm run trace               the figures, and every row that no test proves, with its reason
//     npm run trace -- --rows     every row, with the tests that prove it
//     npm run trace -- --verify   also compares the titles with those that vitest collects
import { readFileSync } from 'node:fs'
import { collectedTitles, isCollected, testTitles } from './test-titles.js'

const root = new URL('..', import.meta.url).pathname
const all = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28']

const rows = readTable('spec/requirements.tsv').map(([id, level, side, revisions, requirement]) => ({
  id,
  level,
  side,
  revisions: revisions.split(','),
  requirement,
  prefix: id.split('-')[0],
}))
const reasons = readTable('spec/untestable.tsv').map(([id, kind, reason]) => ({ id, kind, reason }))
const reasonOf = new Map(reasons.map((each) => [each.id, each]))
const titles = testTitles()
const proofs = new Map()
for (const title of titles) proofs.set(title.id, [...(proofs.get(title.id) ?? []), title])

const isProven = (row) => proofs.get(row.id)?.some(({ when }) => when !== 'never') ?? false
const isConditional = (row) => isProven(row) && proofs.get(row.id).every(({ when }) => when !== 'always')
const isExplained = (row) => !isProven(row) && reasonOf.has(row.id)
const isOpen = (row) => !isProven(row) && !reasonOf.has(row.id)

printBy('prefix', [...new Set(rows.map((row) => row.prefix))], (row) => [row.prefix])
printBy('level', [...new Set(rows.map((row) => row.level))], (row) => [row.level])
printBy('side', [...new Set(rows.map((row) => row.side))], (row) => [row.side])
printBy('revision', [...all, 'draft'], (row) => row.revisions)

if (process.argv.includes('--rows')) printRows('All rows', rows)
printRows('Proven only where the tests can run', rows.filter(isConditional))
printRows('Not proven by a test', rows.filter(isExplained))
printRows('Neither proven nor explained', rows.filter(isOpen))
console.log(
  `\ntrace: ${rows.length} rows: ${rows.filter(isProven).length} proven, ${rows.filter(isExplained).length} with a reason, ${rows.filter(isOpen).length} open`,
)

if (rows.some(isOpen)) process.exitCode = 1
for (const problem of contradictions()) {
  console.error(problem)
  process.exitCode = 1
}
if (process.argv.includes('--verify')) {
  for (const problem of differences()) {
    console.error(problem)
    process.exitCode = 1
  }
}

function printBy(title, groups, of) {
  console.log(`\n${title.padEnd(14)}   rows  proven  reason    open`)
  for (const group of groups) {
    const here = rows.filter((row) => of(row).includes(group))
    const cells = [here.length, ...[isProven, isExplained, isOpen].map((is) => here.filter(is).length)]
    console.log(`${group.padEnd(14)} ${cells.map((cell) => String(cell).padStart(6)).join('  ')}`)
  }
}

function printRows(title, list) {
  if (list.length === 0) return
  console.log(`\n${title}: ${list.length}`)
  for (const row of list) console.log(`  ${row.id}  ${row.level}  ${row.requirement}\n    ${evidence(row)}`)
}

function evidence(row) {
  if (isProven(row)) return [...new Set(proofs.get(row.id).map(({ file }) => file))].join(', ')
  return reasonOf.get(row.id)?.reason ?? 'no test and no reason'
}

/** Contradictions in the tables, which would make the figures meaningless. */
function* contradictions() {
  const known = new Set(rows.map((row) => row.id))
  for (const id of repeated(rows.map((row) => row.id))) yield `spec/requirements.tsv: ${id} is listed twice`
  for (const id of repeated(reasons.map((each) => each.id))) yield `spec/untestable.tsv: ${id} is listed twice`
  for (const [id, [{ file }]] of proofs) if (!known.has(id)) yield `${file}: unknown requirement ${id}`
  for (const { id, file, when } of titles) if (when === 'never') yield `${file}: the test of ${id} is skipped`
  for (const { id, kind, reason } of reasons) {
    if (!known.has(id)) yield `spec/untestable.tsv: unknown requirement ${id}`
    if (kind !== 'later' && kind !== 'untestable') yield `spec/untestable.tsv: ${id} has the unknown kind "${kind}"`
    if (!reason) yield `spec/untestable.tsv: ${id} has no reason`
    if (proofs.has(id)) yield `spec/untestable.tsv: ${id} is marked "${kind}", but ${proofs.get(id)[0].file} proves it`
  }
}

/** What the sources say and vitest does not, and the other way round. */
function* differences() {
  const keys = (list) => new Set(list.map(({ id, file }) => `${file}: ${id}`))
  const read = keys(titles.filter(({ file }) => isCollected(file)))
  const collected = keys(collectedTitles())
  for (const key of read) if (!collected.has(key)) yield `${key} is in the source, but in no title that vitest collects`
  for (const key of collected)
    if (!read.has(key)) yield `${key} is in a title that vitest collects, but was not found in the source`
}

function repeated(ids) {
  return new Set(ids.filter((id, index) => ids.indexOf(id) !== index))
}

function readTable(path) {
  const [, ...lines] = readFileSync(new URL(path, `file://${root}`), 'utf8')
    .trim()
    .split('\n')
  return lines.map((line) => line.split('\t'))
}

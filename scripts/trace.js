// Reports which requirements are covered: reads the ids in test titles and compares them with spec/requirements.tsv. The titles
// come from vitest, because some are built at run time. Whether a test passes is for `npm test` to show.
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

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
const proven = provenIds()

const isMust = (row) => row.level.startsWith('MUST')
const isProven = (row) => proven.has(row.id)
const outside = (row) => reasonOf.get(row.id)?.kind === 'later'
const untestable = (row) => reasonOf.get(row.id)?.kind === 'untestable'

printBy('prefix', [...new Set(rows.map((row) => row.prefix))], (row) => [row.prefix])
printBy('level', [...new Set(rows.map((row) => row.level))], (row) => [row.level])
printBy('side', [...new Set(rows.map((row) => row.side))], (row) => [row.side])
printBy('revision', [...all, 'draft'], (row) => row.revisions)

const scope = rows.filter((row) => isMust(row) && !outside(row))
const open = scope.filter((row) => !isProven(row))
console.log(`\nIn reach now: ${scope.length} MUST rows, ${scope.length - open.length} proven`)
for (const revision of all) {
  const here = scope.filter((row) => row.revisions.includes(revision))
  const done = here.filter(isProven)
  console.log(`  ${revision}  ${done.length} of ${here.length}  ${((100 * done.length) / here.length).toFixed(1)} %`)
}
if (open.length > 0) console.log('\nMUST rows in reach that no test proves:')
for (const row of open) {
  const why = untestable(row) ? reasonOf.get(row.id).reason : 'no reason given'
  console.log(`  ${row.id}  ${row.requirement.slice(0, 90)}\n    ${why}`)
}
if (process.argv.includes('--missing')) {
  for (const row of rows.filter((row) => !isProven(row) && !outside(row)))
    console.log(`${row.id}\t${row.level}\t${row.side}\t${row.requirement}`)
}

const musts = rows.filter(isMust)
const unaccounted = musts.filter((row) => !isProven(row) && !untestable(row))
console.log(`\nMUST rows that are neither proven nor untestable: ${unaccounted.length}`)
for (const row of unaccounted) console.log(`  ${row.id}  ${row.requirement.slice(0, 90)}`)
console.log(
  `\ntrace: ${musts.filter(isProven).length} of ${musts.length} MUST rows proven, ${rows.filter(isProven).length} of ${rows.length} rows in all`,
)

for (const problem of contradictions()) {
  console.error(problem)
  process.exitCode = 1
}

function printBy(title, groups, of) {
  console.log(`\n${title.padEnd(14)} MUST proven  of     all proven  of     later`)
  for (const group of groups) {
    const here = rows.filter((row) => of(row).includes(group))
    const must = here.filter(isMust)
    const cells = [
      must.filter(isProven).length,
      must.length,
      here.filter(isProven).length,
      here.length,
      here.filter(outside).length,
    ]
    console.log(`${group.padEnd(14)} ${cells.map((cell) => String(cell).padStart(6)).join('  ')}`)
  }
}

function provenIds() {
  const ids = new Map()
  for (const { title, file } of [...vitestTitles(), ...nodeTestTitles()]) {
    for (const [, list] of title.matchAll(/\[((?:[A-Z]+-\d{3}(?:,\s*)?)+)\]/g)) {
      for (const id of list.split(/,\s*/)) ids.set(id, [...(ids.get(id) ?? []), file.slice(root.length)])
    }
  }
  return ids
}

/** The tests of `npm test` and of `npm run test:slow`. */
function vitestTitles() {
  const options = { cwd: root, encoding: 'utf8', maxBuffer: 1 << 28, stdio: ['ignore', 'pipe', 'ignore'] }
  const listed = execFileSync(join(root, 'node_modules/.bin/vitest'), ['list', '--json'], options)
  return JSON.parse(listed.slice(listed.indexOf('[\n'))).map(({ name, file }) => ({ title: name, file }))
}

/** The suites in private folders (interop, browser, runtimes ...) run under node:test. Their titles are read from the source. */
function* nodeTestTitles() {
  for (const folder of ['test', 'examples', 'conformance'].map((name) => join(root, name)).filter(existsSync)) {
    for (const name of readdirSync(folder, { recursive: true })) {
      if (name.includes('node_modules') || !/\.test\.[cm]?[jt]s$/.test(name)) continue
      yield { title: readFileSync(join(folder, name), 'utf8'), file: join(folder, name) }
    }
  }
}

/** Contradictions in the tables, which would make the figures meaningless. */
function* contradictions() {
  const known = new Set(rows.map((row) => row.id))
  for (const id of repeated(rows.map((row) => row.id))) yield `spec/requirements.tsv: ${id} is listed twice`
  for (const id of repeated(reasons.map((each) => each.id))) yield `spec/untestable.tsv: ${id} is listed twice`
  for (const [id, [file]] of proven) if (!known.has(id)) yield `${file}: unknown requirement ${id}`
  for (const { id, kind, reason } of reasons) {
    if (!known.has(id)) yield `spec/untestable.tsv: unknown requirement ${id}`
    if (kind !== 'later' && kind !== 'untestable') yield `spec/untestable.tsv: ${id} has the unknown kind "${kind}"`
    if (!reason) yield `spec/untestable.tsv: ${id} has no reason`
    if (proven.has(id)) yield `spec/untestable.tsv: ${id} is marked "${kind}", but ${proven.get(id)[0]} proves it`
  }
}

function repeated(ids) {
  return new Set(ids.filter((id, index) => ids.indexOf(id) !== index))
}

function readTable(path) {
  const [, ...lines] = readFileSync(join(root, path), 'utf8').trim().split('\n')
  return lines.map((line) => line.split('\t'))
}

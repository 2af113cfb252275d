// What of the ledger is proven: reads the ids in test titles and compares them with spec/requirements.tsv. It asks
// vitest for the titles, because some are put together at run time; that a test passes is for `npm test` to show.
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
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
const reasons = new Map(readTable('spec/untestable.tsv').map(([id, kind, reason]) => [id, { kind, reason }]))
const proven = provenIds()
checkIds()

const isMust = (row) => row.level.startsWith('MUST')
const isProven = (row) => proven.has(row.id)
const outside = (row) => reasons.get(row.id)?.kind === 'later'
const untestable = (row) => reasons.get(row.id)?.kind === 'untestable'

printBy('prefix', [...new Set(rows.map((row) => row.prefix))], (row) => [row.prefix])
printBy('level', [...new Set(rows.map((row) => row.level))], (row) => [row.level])
printBy('side', [...new Set(rows.map((row) => row.side))], (row) => [row.side])
printBy('revision', [...all, 'seed-draft'], (row) => row.revisions)

const scope = rows.filter((row) => isMust(row) && !outside(row))
const open = scope.filter((row) => !isProven(row))
console.log(`\nIn reach now (there is no host yet): ${scope.length} MUST rows, ${scope.length - open.length} proven`)
for (const revision of all) {
  const here = scope.filter((row) => row.revisions.includes(revision))
  const done = here.filter(isProven)
  console.log(`  ${revision}  ${done.length} of ${here.length}  ${((100 * done.length) / here.length).toFixed(1)} %`)
}
if (open.length > 0) console.log('\nMUST rows in reach that no test proves:')
for (const row of open) {
  const why = untestable(row) ? reasons.get(row.id).reason : 'no reason given'
  console.log(`  ${row.id}  ${row.requirement.slice(0, 90)}\n    ${why}`)
}
if (process.argv.includes('--missing')) {
  for (const row of rows.filter((row) => !isProven(row) && !outside(row)))
    console.log(`${row.id}\t${row.level}\t${row.side}\t${row.requirement}`)
}

const musts = rows.filter(isMust)
console.log(
  `\ntrace: ${musts.filter(isProven).length} of ${musts.length} MUST rows proven, ${rows.filter(isProven).length} of ${rows.length} rows in all`,
)

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
  for (const { title, file } of [...vitestTitles(), ...interopTitles()]) {
    for (const [, list] of title.matchAll(/\[((?:[A-Z]+-\d{3}(?:,\s*)?)+)\]/g)) {
      for (const id of list.split(/,\s*/)) ids.set(id, [...(ids.get(id) ?? []), file])
    }
  }
  return ids
}

function vitestTitles() {
  const options = { cwd: root, encoding: 'utf8', maxBuffer: 1 << 28, stdio: ['ignore', 'pipe', 'ignore'] }
  const listed = execFileSync(join(root, 'node_modules/.bin/vitest'), ['list', '--json'], options)
  return JSON.parse(listed.slice(listed.indexOf('[\n'))).map(({ name, file }) => ({ title: name, file }))
}

/** These run under node:test in a folder of their own; their titles are read from the source. */
function* interopTitles() {
  const folder = join(root, 'test/interop')
  for (const name of readdirSync(folder).filter((name) => name.endsWith('.test.js'))) {
    yield { title: readFileSync(join(folder, name), 'utf8'), file: join(folder, name) }
  }
}

/** A title that names a row that does not exist proves nothing, and neither does one that is called untestable. */
function checkIds() {
  const known = new Set(rows.map((row) => row.id))
  const strays = [...proven].filter(([id]) => !known.has(id))
  for (const [id, files] of strays) console.error(`${files[0].slice(root.length)}: there is no requirement ${id}`)
  const contradictions = [...reasons.keys()].filter((id) => reasons.get(id).kind === 'untestable' && proven.has(id))
  for (const id of contradictions)
    console.error(`spec/untestable.tsv: ${id} is proven by ${proven.get(id)[0].slice(root.length)}`)
  if (strays.length + contradictions.length > 0) process.exitCode = 1
}

function readTable(path) {
  const [, ...lines] = readFileSync(join(root, path), 'utf8').trim().split('\n')
  return lines.map((line) => line.split('\t'))
}

import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { report } from './report.js'
import { clientSubject, Suite, startAuthorization, startGateway, startServer } from './suite.js'
import { judge } from './verdicts.js'

// npm run conformance -- [--only SIDE] [--scenario NAME] [--revision R] [--verbose]
//
// --only      one side: server, gateway, gateway-to-2025-11-25, client or authorization
// --scenario  one scenario, by name
// --revision  one revision
// --verbose   prints all output of the suite, and keeps its files

const { values: options } = parseArgs({
  options: {
    only: { type: 'string' },
    scenario: { type: 'string' },
    revision: { type: 'string' },
    verbose: { type: 'boolean', default: false },
  },
})
const expected = JSON.parse(readFileSync(new URL('expected.json', import.meta.url), 'utf8'))
// A gateway has to pass what the server passes, so the lists of gateways have only the exceptions.
expected.gateway = { ...expected.server, ...expected.gateway }
expected['gateway-to-2025-11-25'] = { ...expected.gateway, ...expected['gateway-to-2025-11-25'] }
const starts = {
  server: startServer,
  gateway: () => startGateway('gateway'),
  'gateway-to-2025-11-25': () => startGateway('gateway-to-2025-11-25', '2025-11-25'),
  client: () => ({ subject: clientSubject, close: () => {} }),
  authorization: startAuthorization,
}
const sides = choose(options.only, Object.keys(starts))
const known = [...new Set(sides.flatMap((side) => Object.keys(expected[side])))]
const scenarios = choose(options.scenario, known)
const chosen = sides.filter((side) => scenarios.some((name) => name in expected[side]))
const revisions = choose(options.revision, ['2025-11-25', '2026-07-28'])

const results = mkdtempSync(join(tmpdir(), 'conformance-'))
process.once('exit', () => {
  if (options.verbose) console.log(`\nWhat the suite wrote is in ${results}`)
  else rmSync(results, { recursive: true, force: true })
})
const suite = new Suite(results, (output) => options.verbose && console.log(output))
console.log(`${suite.description}\n`)

const rows = []
for (const side of chosen) rows.push(...(await runFixture(starts[side])))
console.log(report(rows))
if (rows.length === 0 || rows.some(({ verdict }) => verdict === 'FAIL')) process.exitCode = 1

async function runFixture(start) {
  const fixture = await start()
  try {
    return await runRevisions(fixture.subject)
  } finally {
    fixture.close()
  }
}

/** Runs one revision at a time: some scenarios measure intervals below a second. */
async function runRevisions(subject) {
  const found = []
  for (const revision of revisions) found.push(...(await runRevision(subject, revision)))
  return found
}

async function runRevision(subject, revision) {
  const table = expected[subject.side]
  const names = Object.keys(table).filter((name) => revision in table[name] && scenarios.includes(name))
  if (names.length === 0) return []
  const set = await runSet(subject, revision)
  const strangers = [...set.keys()].filter((name) => !names.includes(name) && options.scenario === undefined)
  const byName = names.filter((name) => isRunByName(name, subject, set))
  const inSet = [...names.filter((name) => set.has(name) || !byName.includes(name)), ...strangers].map((scenario) =>
    judge({ scenario, revision, mode: subject.side }, table[scenario], set.get(scenario)),
  )
  return [...inSet, ...(await runByName(subject, revision, byName))]
}

async function runSet(subject, revision) {
  if (subject.mode === 'authorization') return suite.authorization(subject, revision)
  return options.scenario === undefined ? suite.set(subject, revision) : new Map()
}

/**
 * Scenarios that no set contains are run by name. So is every client scenario that is due, a second time, because only
 * then does the suite check the exit code of the client.
 */
function isRunByName(name, { mode, side }, set) {
  if (mode === 'authorization') return false
  return !set.has(name) || (mode === 'client' && expected[side][name].notDue === undefined)
}

/** Two clients run at a time; there is only one server, whose state the scenarios would share. */
async function runByName(subject, revision, names) {
  const mode = `${subject.side} by name`
  const found = new Map()
  const waiting = [...names]
  const work = async () => {
    for (let scenario = waiting.shift(); scenario !== undefined; scenario = waiting.shift()) {
      const result = await suite.byName(subject, revision, scenario)
      found.set(scenario, judge({ scenario, revision, mode }, expected[subject.side][scenario], result))
    }
  }
  await Promise.all(subject.mode === 'client' ? [work(), work()] : [work()])
  return names.map((name) => found.get(name))
}

/** Returns the selected item, or all of them. */
function choose(wanted, known) {
  if (wanted === undefined) return known
  if (known.includes(wanted)) return [wanted]
  console.error(`There is no ${wanted} here, only ${known.join(', ')}`)
  process.exit(1)
}

import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { groups } from './cases.js'
import { Failure } from './child.js'
import { MachineUsage, quietMoment } from './machine-usage.js'
import { report, writeReport } from './report.js'

// node run.js [--rounds N] [--quick] [--only case,...] [--patient] [--write] [--file path]
//
// --quick    two short rounds, for development
// --only     some cases: their names, or a common prefix such as `http`, `gateway` or `compat`
// --patient  waits for a quiet machine, and repeats measurements that other programs disturbed
// --write    updates docs/performance.md, or the given file

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string' },
    quick: { type: 'boolean', default: false },
    only: { type: 'string' },
    patient: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
    file: { type: 'string', default: fileURLToPath(new URL('../docs/performance.md', import.meta.url)) },
  },
})
const times = options.quick
  ? { warmUpSeconds: 0.5, sliceSeconds: 0.1, slices: 2 }
  : { warmUpSeconds: 1.5, sliceSeconds: 0.1, slices: 6 }
const rounds = Number(options.rounds ?? (options.quick ? 2 : 5))
const chosen = choose(options.only)
/** The parts of the report: `bench`, or the block that a group names. */
const blocks = [...new Set(chosen.map(blockOf))]
if (options.write && (rounds < 5 || !blocks.every(isComplete))) {
  throw new Error(
    'Only all cases, or all of `--only gateway` or `--only compat`, in at least five rounds are worth writing down',
  )
}
const absent = isBuilt('tenon/server') ? [] : ['tenon', 'tenon-json-schema', 'tenon-audit', 'direct']
if (absent.length > 0) console.error('tenon is not built and is left out')

// Case name -> contestant -> one figure per round.
const results = new Map(chosen.flatMap(({ cases }) => cases.map(({ name }) => [name, new Map()])))
const foreignShares = []
for (let round = 0; round < rounds; round++) {
  for (const group of chosen) {
    if (round < (group.maxRounds ?? rounds)) foreignShares.push(await runUndisturbed(group, round))
  }
}

for (const block of blocks) {
  const text = report(casesOf(block), results, { rounds, ...times, foreignShare: mean(foreignShares) })
  console.log(text)
  if (options.write) writeReport(options.file, text, block)
}
if (options.write) console.log(`written to ${options.file}`)
// Other contestants may fail at features they do not support; the baseline and Tenon may not.
if (failed().some((contestant) => /^(bare|direct|tenon)/.test(contestant))) process.exitCode = 1

function choose(names) {
  if (names === undefined) return groups
  const known = groups.flatMap((group) => group.cases.map(({ name }) => name))
  const wanted = names.split(',').flatMap((wish) => {
    const meant = known.includes(wish) ? [wish] : known.filter((name) => name.startsWith(`${wish}-`))
    if (meant.length === 0) throw new Error(`No case ${wish}; there are ${known.join(', ')}`)
    return meant
  })
  return groups
    .map((group) => ({ ...group, cases: group.cases.filter(({ name }) => wanted.includes(name)) }))
    .filter((group) => group.cases.length > 0)
}

function blockOf({ block = 'bench' }) {
  return block
}

function isComplete(block) {
  const count = (list) => list.filter((group) => blockOf(group) === block).flatMap(({ cases }) => cases).length
  return count(chosen) === count(groups)
}

function casesOf(block) {
  const own = chosen.filter((group) => blockOf(group) === block)
  return own.flatMap(({ contestants, labels, baseline, rival, cases }) =>
    cases.map((each) => ({ ...each, contestants, labels, baseline, rival })),
  )
}

function isBuilt(specifier) {
  try {
    return existsSync(fileURLToPath(import.meta.resolve(specifier)))
  } catch {
    return false
  }
}

/** Runs a group and returns the CPU share of other programs meanwhile. */
async function runUndisturbed(group, round) {
  for (let patience = options.patient ? 5 : 0; ; patience--) {
    if (patience > 0) await quietMoment()
    const usage = new MachineUsage()
    await runGroup(group, round)
    const share = usage.foreignShare()
    if (share < 0.1 || patience <= 0) return share
    showProgress(`others took ${Math.round(share * 100)} % of the machine: once more`)
  }
}

/**
 * All contestants of a group run at the same time and are measured in alternating slices, in a rotating order, so that
 * a slow moment of the machine affects all of them.
 */
async function runGroup(group, round) {
  const present = group.contestants.filter((contestant) => !absent.includes(contestant))
  const entrants = present.map((contestant) => ({ contestant, subject: undefined, failure: undefined }))
  try {
    for (const entrant of rotate(entrants, round)) {
      await attempt(entrant, async () => {
        entrant.subject = await group.start(entrant.contestant)
        await group.warmUp?.(entrant.subject, times)
      })
    }
    for (const each of group.cases) await runCase(each, entrants, round)
  } finally {
    for (const { subject } of entrants) await subject?.close()
  }
}

async function runCase({ name, slices = Infinity, warmUp, slice, figure }, entrants, round) {
  showProgress(`round ${round + 1} of ${rounds}: ${name}`)
  const samples = new Map(entrants.map((entrant) => [entrant, []]))
  for (const entrant of rotate(entrants, round)) {
    await attempt(entrant, async () => warmUp?.(entrant.subject, times))
  }
  for (let turn = 0; turn < Math.min(slices, times.slices); turn++) {
    for (const entrant of rotate(entrants, round + turn)) {
      await attempt(entrant, async () => samples.get(entrant).push(await slice(entrant.subject, times)))
    }
  }
  for (const entrant of entrants) {
    const row = results.get(name)
    if (!row.has(entrant.contestant)) row.set(entrant.contestant, [])
    const { failure } = entrant
    row.get(entrant.contestant)[round] = failure ? { failure } : figure(samples.get(entrant))
  }
}

/** A contestant that exits or stops responding is removed from this group; a wrong response ends the whole run. */
async function attempt(entrant, action) {
  if (entrant.failure) return
  try {
    await action()
  } catch (error) {
    if (!(error instanceof Failure)) throw new Error(`${entrant.contestant}: ${error.message}`, { cause: error })
    entrant.failure = error.message
  }
}

function mean(values) {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

function rotate(list, by) {
  const start = by % list.length
  return [...list.slice(start), ...list.slice(0, start)]
}

function showProgress(line) {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${line}`)
  else console.error(line)
}

function failed() {
  return [...results.values()].flatMap((row) =>
    [...row].filter(([, figures]) => figures.some(({ failure }) => failure)).map(([contestant]) => contestant),
  )
}

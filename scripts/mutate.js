// Measures whether the tests notice mistakes: makes small mutants of the sources of the SDK, runs the tests that cover each of
// them, and prints the mutants that no test fails for. The files themselves are never changed.
//
//   npm run mutate -- --sample 40 --seed 1 --folder auth,transport
//   npm run mutate -- --file packages/sdk/src/era/access.ts:31
import { readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { parseArgs } from 'node:util'
import { readCoverage } from './mutate/coverage.js'
import { mutantsOf, mutate, operators } from './mutate/mutants.js'
import { MutantPool } from './mutate/pool.js'
import { changedLines, rates, report } from './mutate/report.js'
import { sample } from './mutate/sample.js'
import { chooseTests } from './mutate/tests.js'
import { sources } from './sources.js'

const root = new URL('..', import.meta.url).pathname

/** Helpers for the tests of users, and files that only export. */
const leftOut = new Set(['testing', 'entry'])

const { values: options } = parseArgs({
  options: {
    sample: { type: 'string' },
    seed: { type: 'string', default: '1' },
    folder: { type: 'string' },
    file: { type: 'string' },
    workers: { type: 'string', default: '2' },
    control: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
})
const log = (text) => process.stderr.write(`${text}\n`)

const files = [...sources(`${root}packages/sdk/src`)].map((file) => relative(root, file))
const texts = new Map(files.map((path) => [path, readFileSync(root + path, 'utf8')]))
const mutants = chooseMutants()
const coverage = await readCoverage(log)
const results = []
const jobs = []
for (const mutant of mutants) {
  const tests = chooseTests(mutant, coverage)
  const limitMs = 40_000 + 3 * tests.reduce((sum, { ms }) => sum + ms, 0)
  const replacement = options.control ? texts.get(mutant.path).slice(mutant.start, mutant.end) : mutant.replacement
  if (tests.length > 0) jobs.push({ mutant, replacement, tests, limitMs })
  else results.push({ ...describe(mutant), status: 'uncovered', files: 0 })
}
log(`${mutants.length} mutants, ${jobs.length} of them in code that tests run`)
const began = performance.now()
await new MutantPool().run(jobs, Number(options.workers), ({ mutant, tests }, { status, killedBy, ms }) => {
  results.push({ ...describe(mutant), status, killedBy, files: tests.length, ms })
  const place = `${mutant.path}:${mutant.line} ${operators[mutant.operator]}`
  const by = killedBy === undefined ? '' : ` (${killedBy})`
  log(`${results.length}/${mutants.length} ${status} in ${(ms / 1000).toFixed(1)} s: ${place}${by}`)
})
const seconds = (performance.now() - began) / 1000
if (options.json)
  console.log(JSON.stringify({ seed: Number(options.seed), seconds, rates: rates(results), results }, null, 2))
else report(results, seconds, console.log)
// Not before everything was written: a pipe takes a while.
process.stdout.write('', () => process.exit())

/** All mutants of a file or line, or a sample that is spread evenly over the folders. */
function chooseMutants() {
  const [path, line] = options.file?.split(':') ?? []
  const folders = options.folder?.split(',')
  const isWanted = (file) =>
    path ? file === path : folders ? folders.includes(folderOf(file)) : !leftOut.has(folderOf(file))
  const found = [...texts]
    .filter(([file]) => isWanted(file))
    .flatMap(([file, text]) => mutantsOf(file, text))
    .filter((mutant) => line === undefined || mutant.line === Number(line))
  if (found.length === 0) {
    log(
      'No mutants there. Pass folders of packages/sdk/src (--folder auth,era) or a source file (--file packages/sdk/src/x.ts:12).',
    )
    process.exit(1)
  }
  const count = options.sample === undefined ? (path ? found.length : 20) : Number(options.sample)
  return sample(found, count, Number(options.seed), (mutant) => folderOf(mutant.path))
}

function folderOf(path) {
  return path.split('/')[3].replace(/\.ts$/, '')
}

function describe(mutant) {
  const { path, line, operator } = mutant
  const text = texts.get(path)
  return {
    path,
    line,
    folder: folderOf(path),
    operator: operators[operator],
    ...changedLines(text, mutate(text, mutant)),
  }
}

import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { createVitest } from 'vitest/node'

const root = new URL('../..', import.meta.url).pathname
/** The numbers of functions and branches depend on how they are found. */
const points = hashOf(readFileSync(new URL('./points.js', import.meta.url)))
const cache = join(root, 'node_modules/.cache/tenon-mutate/coverage.json')

/**
 * Returns for each fast test file how long it takes, and which functions and branches of which sources it runs. The result is cached: after a
 * change, only the tests are run again that changed, or that run something in a source that changed.
 * @param log Receives lines about the progress.
 */
export async function readCoverage(log) {
  const known = readCache()
  const sources = hashesIn('packages/sdk/src', (name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
  const changed = new Set(
    [...sources.keys(), ...Object.keys(known.sources)].filter((path) => known.sources[path] !== sources.get(path)),
  )
  const isCurrent = ([path, test]) =>
    test.isPassed &&
    // A test can have been removed or renamed.
    existsSync(join(root, path)) &&
    test.hash === hashOfTest(path) &&
    !Object.keys(test.hits).some((source) => changed.has(source))
  const kept = Object.fromEntries(Object.entries(known.tests).filter(isCurrent))
  const tests = { ...kept, ...(await run(new Set(Object.keys(kept)), log)) }
  const coverage = { points, sources: Object.fromEntries(sources), tests }
  mkdirSync(dirname(cache), { recursive: true })
  writeFileSync(cache, JSON.stringify(coverage))
  return tests
}

function readCache() {
  try {
    const known = JSON.parse(readFileSync(cache, 'utf8'))
    if (known.points === points) return known
  } catch {
    // There is none yet.
  }
  return { sources: {}, tests: {} }
}

/** Runs all test files but those that are known. */
async function run(known, log) {
  const folder = mkdtempSync(join(tmpdir(), 'tenon-hits-'))
  process.env.TENON_MUTATE = 'coverage'
  process.env.TENON_HITS = folder
  const found = {}
  const reporter = {
    onTestModuleEnd(module) {
      const path = relative(root, module.moduleId)
      const { duration, collectDuration } = module.diagnostic()
      const isPassed = module.state() === 'passed'
      if (!isPassed) log(`${path} fails without a mutant, so it is not used`)
      found[path] = {
        hash: hashOfTest(path),
        project: module.project.name,
        ms: Math.round(duration),
        isPassed,
        hits: {},
      }
      const count = Object.keys(found).length
      if (count % 50 === 0) log(`${count} test files done (${Math.round(collectDuration)} ms to load the last)`)
    },
  }
  try {
    const vitest = await createVitest('test', {
      config: join(root, 'scripts/mutate/vitest.config.js'),
      root,
      watch: false,
      reporters: [reporter],
    })
    await vitest.standalone()
    const all = await vitest.globTestSpecifications()
    const missing = all.filter(({ moduleId }) => !known.has(relative(root, moduleId)))
    if (missing.length > 0) log(`Running ${missing.length} of ${all.length} test files to see which sources they cover`)
    if (missing.length > 0) await vitest.runTestSpecifications(missing)
    await vitest.close()
    for (const name of readdirSync(folder)) {
      const test = found[relative(root, decodeURIComponent(name))]
      if (test) test.hits = JSON.parse(readFileSync(join(folder, name), 'utf8'))
    }
  } finally {
    rmSync(folder, { recursive: true })
    process.exitCode = undefined
  }
  return found
}

function hashesIn(folder, isWanted) {
  const names = readdirSync(join(root, folder), { recursive: true }).filter(isWanted)
  return new Map(names.sort().map((name) => [join(folder, name), hashOf(readFileSync(join(root, folder, name)))]))
}

const support = new Map()

/** A test file depends on itself, and on the helpers of its package. */
function hashOfTest(path) {
  const folder = path.split('/').slice(0, 2).join('/')
  if (!support.has(folder)) {
    const helpers = hashesIn(
      folder,
      (name) => /^(ui\/)?test\//.test(name) && /\.(ts|js)$/.test(name) && !name.endsWith('.test.ts'),
    )
    support.set(folder, [...helpers.values()].join())
  }
  return hashOf(readFileSync(join(root, path)), support.get(folder))
}

function hashOf(...parts) {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest('base64url').slice(0, 16)
}

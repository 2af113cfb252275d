// Runs the test suite of the official SDK 1.x against `packages/compat-v1`, prints passed and failed tests per file, and groups the
// failures by reason. Every file of the suite counts. The sources are not part of this repository: check out the branch `v1.x` of the official SDK, run `npm ci`
// there, and name the folder in TENON_V1_SOURCE.
//
//   TENON_V1_SOURCE=../typescript-sdk npm run compat                          # the whole suite
//   TENON_V1_SOURCE=../typescript-sdk npm run compat -- test/server/mcp.test.ts
//   TENON_V1_SOURCE=../typescript-sdk npm run compat -- --baseline            # the suite against its own sources
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const args = process.argv.slice(2)
const isBaseline = args.includes('--baseline')
const isVerbose = args.includes('--verbose')
const files = args.filter((arg) => !arg.startsWith('--'))
const source = resolve(
  process.env.TENON_V1_SOURCE ?? fail('Set TENON_V1_SOURCE to a checkout of the official SDK, branch v1.x.'),
)
const vitest = join(source, 'node_modules/vitest/vitest.mjs')
if (!existsSync(vitest)) fail(`${source} has no node_modules: run "npm ci" there.`)

const expected = readExpected(fileURLToPath(new URL('v1-expected-failures.tsv', import.meta.url)))
const report = runVitest()
printReport(report)

function runVitest() {
  const folder = mkdtempSync(join(tmpdir(), 'tenon-compat-'))
  try {
    const output = join(folder, 'report.json')
    const config = fileURLToPath(new URL('vitest.config.js', import.meta.url))
    const flags = ['run', '--root', source, '--config', config, '--reporter=json', `--outputFile=${output}`]
    const env = { ...process.env, TENON_V1_SOURCE: source, ...(isBaseline && { TENON_COMPAT_BASELINE: '1' }) }
    const { stderr } = spawnSync(process.execPath, [vitest, ...flags, ...files], {
      cwd: source,
      env,
      encoding: 'utf8',
      maxBuffer: 2 ** 28,
      stdio: ['ignore', 'ignore', isVerbose ? 'inherit' : 'pipe'],
    })
    if (!existsSync(output)) fail(`vitest wrote no report:\n${stderr}`)
    return JSON.parse(readFileSync(output, 'utf8'))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function printReport({ testResults }) {
  const totals = { passed: 0, failed: 0, unexpected: [] }
  const reasons = new Map()
  for (const { name, assertionResults, message } of testResults.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const file = relative(source, name)
    const failed = assertionResults.filter(({ status }) => status === 'failed')
    const passed = assertionResults.filter(({ status }) => status === 'passed')
    console.log(`${String(passed.length).padStart(5)} passed ${String(failed.length).padStart(4)} failed  ${file}`)
    if (assertionResults.length === 0) {
      console.log(`      did not load: ${firstLine(message)}`)
      totals.unexpected.push(`${file} did not load`)
    }
    totals.passed += passed.length
    totals.failed += failed.length
    for (const { fullName, failureMessages } of failed) {
      const reason = expected.find((entry) => entry.file === file && entry.pattern.test(fullName))?.reason
      if (!reason) totals.unexpected.push(`${file}: ${fullName}\n      ${firstLine(failureMessages[0])}`)
      const key = reason ?? 'not explained'
      reasons.set(key, (reasons.get(key) ?? 0) + 1)
    }
  }
  if (reasons.size > 0) console.log('\nFailures by reason:')
  for (const [reason, count] of [...reasons].toSorted((a, b) => b[1] - a[1]))
    console.log(`${String(count).padStart(5)}  ${reason}`)
  if (totals.unexpected.length > 0)
    console.log(`\nNot explained:\n${totals.unexpected.map((each) => `    ${each}`).join('\n')}`)
  console.log(`\n${totals.passed} of ${totals.passed + totals.failed} passed`)
  if (totals.unexpected.length > 0) process.exitCode = 1
}

/** Columns: file, regular expression for the full name of the test, reason. */
function readExpected(path) {
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => line.split('\t'))
    .map(([file, pattern, reason]) => ({ file, pattern: new RegExp(pattern), reason }))
}

function firstLine(text = '') {
  return text.split('\n')[0].slice(0, 300)
}

function fail(message) {
  console.error(message)
  process.exit(2)
}

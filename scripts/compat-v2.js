// Runs the public tests and the examples of the official packages 2.x against `packages/compat-v2*`, prints passed and failed tests
// per file, and groups the failures by reason. The sources are not part of this repository: check out the branch `main` of the
// official SDK and name the folder in TENON_V2_SOURCE.
//
//   TENON_V2_SOURCE=../typescript-sdk npm run compat:v2                              # test/e2e and test/integration
//   TENON_V2_SOURCE=../typescript-sdk npm run compat:v2 -- test/e2e/scenarios/tools.test.ts
//   TENON_V2_SOURCE=../typescript-sdk npm run compat:v2 -- --examples [story ...]     # the examples, one process per side
//   ... --only=client,node: with the published packages for the others
//   ... --baseline: with the published packages instead of ours; --verbose: all output; --full: whole failure messages
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runExamples } from '../test/compat/v2/examples.js'
import { printReport, readExpected } from '../test/compat/v2/report.js'

const args = process.argv.slice(2)
const isBaseline = args.includes('--baseline')
const isVerbose = args.includes('--verbose')
const isFull = args.includes('--full')
const only = args
  .find((arg) => arg.startsWith('--only='))
  ?.slice('--only='.length)
  .split(',')
const names = args.filter((arg) => !arg.startsWith('--'))

const repository = fileURLToPath(new URL('..', import.meta.url))
const home = join(repository, 'test/compat/v2')
const source = resolve(
  process.env.TENON_V2_SOURCE ?? fail('Set TENON_V2_SOURCE to a checkout of the official SDK, branch main.'),
)
/** The copy of the sources that runs. Its `node_modules` leads to the packages under test. */
const work = join(home, 'dist', isBaseline ? 'baseline' : 'suite')

install()
copySources()
linkPackages()
const expected = readExpected(join(home, 'expected-failures.tsv'))
if (args.includes('--examples')) await runExamples({ work, home, names, expected, isVerbose })
else printReport(runVitest(), { work, expected, isFull })

/** Installs what the suite depends on, and the published packages for the baseline. */
function install() {
  const installed = join(home, 'node_modules/.package-lock.json')
  const lock = join(home, 'package-lock.json')
  if (existsSync(installed) && statSync(installed).mtimeMs >= statSync(lock).mtimeMs) return
  const { status } = spawnSync('npm', ['install', '--no-save', '--no-audit', '--no-fund'], {
    cwd: home,
    stdio: 'inherit',
  })
  if (status !== 0) fail('npm install failed')
}

function copySources() {
  for (const folder of ['test/e2e', 'test/integration', 'test/helpers', 'examples', 'packages/core-internal/src']) {
    const target = join(work, folder)
    rmSync(target, { recursive: true, force: true })
    const isSource = (path) => !/\/(node_modules|tsconfig\.json|vitest\.config\.js)$/.test(path)
    cpSync(join(source, folder), target, { recursive: true, filter: isSource })
  }
  writeFileSync(join(work, 'package.json'), '{ "private": true, "type": "module" }\n')
}

function linkPackages() {
  rmSync(join(work, 'node_modules'), { recursive: true, force: true })
  // `npx tsx` looks for programs here.
  link('.bin', join(home, 'node_modules/.bin'))
  link('@mcp-examples/shared', join(work, 'examples/shared'))
  link('@mcp-examples/todos-server', join(work, 'examples/todos-server'))
  link('@modelcontextprotocol/test-helpers', join(work, 'test/helpers'))
  writePackage('test/helpers', '@modelcontextprotocol/test-helpers', './src/index.ts')
  link('@modelcontextprotocol/core-internal', join(work, 'core-internal'))
  cpSync(join(home, 'core-internal'), join(work, 'core-internal'), { recursive: true })
  if (isBaseline) return
  for (const name of only ?? ['server', 'client', 'node', 'express', 'hono'])
    link(`@modelcontextprotocol/${name}`, join(repository, `packages/compat-v2-${name}`))
}

function link(name, target) {
  const path = join(work, 'node_modules', name)
  mkdirSync(dirname(path), { recursive: true })
  symlinkSync(target, path, 'dir')
}

function writePackage(folder, name, entry) {
  writeFileSync(join(work, folder, 'package.json'), JSON.stringify({ name, type: 'module', exports: { '.': entry } }))
}

function runVitest() {
  const output = join(work, 'report.json')
  rmSync(output, { force: true })
  const vitest = join(home, 'node_modules/vitest/vitest.mjs')
  const flags = ['run', '--root', work, '--config', join(home, 'vitest.config.js'), '--reporter=json']
  const { stderr } = spawnSync(process.execPath, [vitest, ...flags, `--outputFile=${output}`, ...names.map(inWork)], {
    cwd: work,
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
    stdio: ['ignore', isVerbose ? 'inherit' : 'ignore', isVerbose ? 'inherit' : 'pipe'],
  })
  if (!existsSync(output)) fail(`vitest wrote no report:\n${stderr}`)
  return JSON.parse(readFileSync(output, 'utf8'))
}

function inWork(path) {
  return path.startsWith('/') ? relative(source, path) : path
}

function fail(message) {
  console.error(message)
  process.exit(2)
}

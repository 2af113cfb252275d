// Reads from the sources of all tests which requirements their titles name. Nothing is run: loading every test file to ask for its
// titles takes a hundred times as long. `npm run trace -- --verify` compares the answer with the titles that vitest collects.
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseSync } from 'vite'

const root = new URL('..', import.meta.url).pathname
const inBrackets = /\[((?:[A-Z]+-\d{3}(?:,\s*)?)+)\]/g
const idList = /^[A-Z]+-\d{3}(?:, [A-Z]+-\d{3})*$/

/** Tests that vitest runs. */
const vitestFile = /^packages\/[^/]+\/(?:src|test|ui\/test)\/.*\.test\.ts$/
/** Tests in private folders (interop, browser, runtimes ...), which run under node:test. */
const nodeTestFile = /^(?:test|examples|conformance)\/.*\.test\.[cm]?[jt]s$/

const contracts = 'packages/sdk/src/testing/store-contracts'
const suites = readdirSync(join(root, contracts)).flatMap((file) =>
  [...readFileSync(join(root, contracts, file), 'utf8').matchAll(/export function (\w+Contract)\b/g)].map(
    ([, name]) => ({
      name,
      module: `${contracts}/${file}`,
    }),
  ),
)

/**
 * Every requirement that a title names, with the test file: `{ id, file, when }`. `when` is `always`, `if` for a test with a
 * condition (`it.skipIf`), and `never` for one that is skipped (`it.skip`, `it.todo`).
 */
export function testTitles() {
  const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
  })
    .split('\n')
    .filter((file) => existsSync(join(root, file)))
  return files
    .filter((file) => vitestFile.test(file) || nodeTestFile.test(file))
    .flatMap((file) => titlesOf(file).map((title) => ({ ...title, file })))
}

/** The same as vitest collects it. It includes tests that are skipped. */
export function collectedTitles() {
  const options = { cwd: root, encoding: 'utf8', maxBuffer: 1 << 28, stdio: ['ignore', 'pipe', 'ignore'] }
  // Files share workers, because starting a process for each takes longer than loading it. The project "gateway" repeats files.
  const projects = ['fast-shared', 'fast-alone', 'slow'].flatMap((name) => ['--project', name])
  const listed = execFileSync(
    join(root, 'node_modules/.bin/vitest'),
    ['list', '--json', '--no-isolate', ...projects],
    options,
  )
  return JSON.parse(listed.slice(listed.indexOf('[\n'))).flatMap(({ name, file }) =>
    idsIn(name).map((id) => ({ id, file: file.slice(root.length) })),
  )
}

export const isCollected = (file) => vitestFile.test(file)

/** A file that calls a suite of `tenon/testing`, such as `eventStoreContract`, runs the tests of the suite as well. */
function titlesOf(file) {
  const source = readFileSync(join(root, file), 'utf8')
  const called = suites.filter(({ name }) => source.includes(`${name}(`))
  return [file, ...new Set(called.flatMap(({ module }) => partsOf(module)))].flatMap(titlesIn)
}

/** The module of a suite and those beside it that it imports. */
function partsOf(module) {
  const source = readFileSync(join(root, module), 'utf8')
  const imported = [...source.matchAll(/from '\.\/([\w-]+\.ts)'/g)].map(([, name]) => `${contracts}/${name}`)
  return [module, ...imported.flatMap(partsOf)]
}

const known = new Map()

function titlesIn(file) {
  if (!known.has(file)) known.set(file, titlesInSource(file, readFileSync(join(root, file), 'utf8')))
  return known.get(file)
}

/** The requirements in the titles of one file: `{ id, when }`. */
export function titlesInSource(file, source) {
  if (!/\b[A-Z]+-\d{3}\b/.test(source)) return []
  const { program, errors } = parseSync(file, source)
  if (errors.length > 0) throw new Error(`${file}: ${errors[0].message}`)
  // A title such as `rejects ${what} [${id}]` or 'rejects this [%s]' takes its ids from a table.
  const takesIds = /\[(?:\$\{|%s)/.test(source)
  const found = []
  visit(program, 'always')
  return found

  function visit(node, when) {
    if (Array.isArray(node)) for (const each of node) visit(each, when)
    if (typeof node?.type !== 'string') return
    for (const id of idsOf(node)) found.push({ id, when })
    const inside = node.type === 'CallExpression' ? (condition(node.callee) ?? when) : when
    for (const key in node) if (typeof node[key] === 'object' && key !== 'parent') visit(node[key], inside)
  }

  function idsOf(node) {
    if (node.type === 'TemplateElement') return idsIn(node.value.raw)
    if (node.type !== 'Literal' || typeof node.value !== 'string') return []
    return takesIds && idList.test(node.value) ? node.value.split(', ') : idsIn(node.value)
  }
}

/** Whether a call such as `it.skip(...)`, `describe.skipIf(x)(...)` or `it.skipIf(x).each(...)(...)` runs its tests. */
function condition(callee) {
  if (callee.type === 'CallExpression') return condition(callee.callee)
  if (callee.type !== 'MemberExpression') return undefined
  const name = callee.property.name
  if (name === 'skip' || name === 'todo') return 'never'
  if (name === 'skipIf' || name === 'runIf') return 'if'
  return condition(callee.object)
}

function idsIn(text) {
  return [...text.matchAll(inBrackets)].flatMap(([, list]) => list.split(/,\s*/))
}

// Measures what the findings of a host detect, and what false alarms they raise.
//
//   node scripts/measure-findings.js                        the attacks in packages/sdk/test/host/corpus
//   node scripts/measure-findings.js <folder> ...           and the packages installed in these folders: READMEs as results and
//                                                           as arguments, descriptions and URLs as arguments
//   node scripts/measure-findings.js --definitions <file>   and definitions of servers: a JSON list of { id, definitions }
//
// Packages are split into two halves by a hash of their name, so that one half can be used to write rules and the other to
// measure them. Nothing of a package is stored.
import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'

const corpus = new URL('../packages/sdk/test/host/corpus/', import.meta.url)
const isVerbose = process.argv.includes('--verbose')
const rest = process.argv.slice(2).filter((arg) => arg !== '--verbose')
const at = rest.indexOf('--definitions')
const [, definitionsFile] = at < 0 ? [] : rest.splice(at, 2)

const measure = await load('./measure.ts')
const { inspectArguments, inspectDefinitions, inspectResult } = await load('../../../src/host/findings/inspect.ts')

/** Words that are also names of tools. */
const toolNames = [
  'read_file',
  'write_file',
  'search',
  'fetch',
  'send_email',
  'run_command',
  'create_issue',
  'get',
  'list',
]

measureAttacks()
if (rest.length > 0) measurePackages(rest)
if (definitionsFile) measureDefinitions(JSON.parse(readFileSync(definitionsFile, 'utf8')))

async function load(path) {
  const folder = mkdtempSync(join(tmpdir(), 'tenon-measure-'))
  const outfile = join(folder, 'module.mjs')
  const entry = new URL(path, corpus).pathname
  await build({ entryPoints: [entry], bundle: true, platform: 'node', format: 'esm', outfile, logLevel: 'error' })
  const loaded = await import(pathToFileURL(outfile).href)
  rmSync(folder, { recursive: true })
  return loaded
}

function readCorpus(name) {
  return JSON.parse(readFileSync(new URL(name, corpus), 'utf8'))
}

function measureAttacks() {
  const argumentCorpus = readCorpus('held-out-arguments.json')
  const textCorpus = readCorpus('held-out-texts.json')
  const secondLook = readCorpus('second-look.json')
  const attacks = [
    ...argumentCorpus.attacks.map((attack) => [attack, measure.inspectArgument(attack)]),
    ...textCorpus.attacks.map((attack) => [attack, measure.inspectSample(attack)]),
    ...secondLook.arguments.map((attack) => [attack, measure.inspectArgument(attack)]),
    ...secondLook.texts.map((attack) => [attack, measure.inspectSample(attack)]),
  ]
  const counts = new Map()
  for (const [attack, findings] of attacks) {
    const severity = measure.severityOf(findings)
    if (severity === 'missed' && isVerbose) console.log('missed', JSON.stringify(attack).slice(0, 300))
    for (const key of [`set ${attack.set} ${attack.class}`, `set ${attack.set}`]) {
      const count = counts.get(key) ?? { attacks: 0, high: 0, low: 0, missed: 0 }
      count.attacks++
      count[severity]++
      counts.set(key, count)
    }
  }
  console.table(Object.fromEntries([...counts].sort(([a], [b]) => (a < b ? -1 : 1))))
  const benign = [
    ...argumentCorpus.benign.map((sample) => [JSON.stringify(sample.value), measure.inspectArgument(sample)]),
    ...textCorpus.benign.packages.map((name) => [name, measure.inspectPackage(name)]),
    ...textCorpus.benign.scopes.map(({ scopes, tools }) => [scopes.join(' '), measure.inspectScopes(scopes, tools)]),
  ]
  report('ordinary arguments, packages and scopes', benign)
}

function measurePackages(folders) {
  const packages = new Map()
  for (const folder of folders) for (const found of packagesIn(folder)) packages.set(found.name, found)
  for (const half of ['development', 'held out']) {
    const chosen = [...packages.values()].filter(({ name }) => halfOf(name) === half)
    const readmes = chosen.filter(({ readme }) => readme !== undefined)
    report(
      `${half}: READMEs as results`,
      readmes.map(({ name, readme }) => [
        name,
        inspectResult({ content: [{ type: 'text', text: readme }] }, toolNames),
      ]),
    )
    report(
      `${half}: READMEs as arguments`,
      readmes.map(({ name, readme }) => [name, inspectArguments({ content: readme }, toolWith('content'))]),
    )
    report(
      `${half}: descriptions, URLs and files as arguments`,
      chosen.map(({ name, values }) => [name, inspectArguments(values, toolWith(...Object.keys(values)))]),
    )
  }
}

function toolWith(...properties) {
  const schemas = properties.map((property) => [property, { type: 'string' }])
  return { name: 'save', inputSchema: { type: 'object', properties: Object.fromEntries(schemas) } }
}

function halfOf(name) {
  return createHash('sha256').update(name).digest()[0] % 2 === 0 ? 'development' : 'held out'
}

function measureDefinitions(servers) {
  report(
    'definitions of servers',
    servers.map(({ id, definitions }) => [id, inspectDefinitions(id, definitions, [])]),
  )
  const tools = servers.flatMap(({ definitions }) => definitions.tools)
  console.log(`${tools.length} tools of ${servers.length} servers`)
}

function* packagesIn(folder) {
  const modules = join(folder, 'node_modules')
  if (!existsSync(modules)) return
  for (const entry of readdirSync(modules)) {
    const paths = entry.startsWith('@') ? readdirSync(join(modules, entry)).map((name) => join(entry, name)) : [entry]
    for (const path of paths) {
      const inside = join(modules, path)
      if (entry.startsWith('.') || !statSync(inside).isDirectory()) continue
      yield* packageAt(inside)
      yield* packagesIn(inside)
    }
  }
}

function* packageAt(folder) {
  const manifest = join(folder, 'package.json')
  if (!existsSync(manifest)) return
  const { name, description, homepage, main, author, license, repository } = JSON.parse(readFileSync(manifest, 'utf8'))
  const file = readdirSync(folder).find((entry) => /^readme(?:\.md|\.markdown)?$/i.test(entry))
  const readme = file && readFileSync(join(folder, file), 'utf8')
  const texts = { title: description, name: description, url: homepage, path: main, author: author?.name ?? author }
  const more = { license, repository: repository?.url ?? repository }
  const values = Object.fromEntries(
    Object.entries({ ...texts, ...more }).filter(([, value]) => typeof value === 'string'),
  )
  if (name) yield { name, readme, values }
}

function report(title, inspected) {
  const alarms = inspected.filter(([, findings]) => findings.length > 0)
  const rules = {}
  for (const [, findings] of alarms) {
    for (const rule of new Set(findings.map(({ rule, severity }) => `${rule} (${severity})`)))
      rules[rule] = (rules[rule] ?? 0) + 1
  }
  console.log(`${title}: ${alarms.length} of ${inspected.length} raise an alarm`, rules)
  if (!isVerbose) return
  for (const [name, findings] of alarms)
    for (const { rule, severity, message, excerpt } of findings)
      console.log(`  ${String(name).slice(0, 60)}: ${severity} ${rule}: ${message} ${excerpt}`)
}

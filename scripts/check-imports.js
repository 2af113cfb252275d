// Fails when an import goes against the picture in ARCHITECTURE.md: arrows never turn back.
import { readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join, relative, sep } from 'node:path'
import { sources } from './sources.js'

const root = new URL('../packages/sdk/src', import.meta.url).pathname

/** What each folder may import besides itself, `util/`, `errors.ts` and the types of `store/ports.ts`. */
const allowed = {
  util: [],
  jsonrpc: [],
  schema: [],
  protocol: ['jsonrpc', 'schema'],
  store: [],
  net: [],
  // `protocol` for the identity that a token stands for (`auth-info.ts`), which servers and transports share.
  auth: ['store', 'net', 'protocol'],
  transport: ['jsonrpc', 'protocol', 'store', 'auth', 'net'],
  replay: ['jsonrpc', 'protocol'],
  era: ['replay', 'jsonrpc', 'protocol'],
  server: ['era', 'replay', 'schema', 'protocol', 'jsonrpc'],
  client: ['era', 'schema', 'protocol', 'jsonrpc'],
  web: ['net', 'protocol'],
  tasks: ['server', 'era', 'replay', 'store', 'protocol', 'jsonrpc'],
  serve: ['server', 'transport', 'protocol', 'jsonrpc'],
  connect: ['server', 'client', 'transport', 'protocol', 'jsonrpc'],
  host: ['connect', 'server', 'client', 'era', 'replay', 'auth', 'net', 'store', 'schema', 'protocol', 'jsonrpc'],
  schemas: ['schema', 'protocol'],
  testing: [
    'host',
    'schemas',
    'store',
    'auth',
    'net',
    'serve',
    'connect',
    'server',
    'client',
    'transport',
    'schema',
    'protocol',
    'jsonrpc',
  ],
  entry: [
    'store',
    'tasks',
    'auth',
    'web',
    'net',
    'serve',
    'connect',
    'host',
    'testing',
    'schemas',
    'server',
    'client',
    'transport',
    'era',
    'replay',
    'schema',
    'protocol',
    'jsonrpc',
  ],
}

/** Where Node's own modules may be used. */
const nodeAllowed = [
  'transport/stdio/',
  'serve/http.ts',
  'client/terminal/',
  'auth/node/',
  'net/node/',
  'host/node/',
  'store/sqlite/',
  'store/redis/',
  'testing/',
]

/** Only these folders may name a revision by its date. Other code asks `Revision` or `Caller` for a fact. */
const revisionsAllowed = ['protocol', 'era', 'schemas', 'testing']

const revisionDates = new RegExp(
  readdirSync(join(root, 'protocol/revisions'))
    .map((file) => basename(file, '.ts'))
    .filter((name) => /^\d/.test(name))
    .join('|'),
)

const commentOrString = /\/\*[\s\S]*?\*\/|\/\/.*|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\[\s\S]|[^`\\])*`/g

/** The only files that touch the time, timers and randomness of the runtime, so that a simulation can replace them. */
const runtimePorts = ['util/clock.ts', 'util/scheduler.ts', 'util/random.ts']
const runtimeGlobals =
  /(?<![\w.#$'])(?:(?:globalThis|window|self)\.)?(?:(?:set|clear)(?:Timeout|Interval|Immediate)\b|Date\.now\b|new Date\(\)|performance\.now\b|Math\.random\b|crypto\.(?:randomUUID|getRandomValues)\b|AbortSignal\.timeout\b)/

/** On Node 20, each `AbortSignal.any` leaves a reference on a signal that lives long. `joinSignals` of util/abort.ts does not. */
const leakingSignals = /\bAbortSignal\.any\(/

const problems = []
for (const file of sources(root)) {
  const path = relative(root, file).split(sep).join('/')
  const folder = path.includes('/') ? path.split('/')[0] : undefined
  const text = readFileSync(file, 'utf8')
  // Types are gone when the code runs.
  const code = text.replace(/^import type [^']* from '(?:node:.*|.*\/store\/ports\.ts)'$/gm, '')
  for (const [, specifier] of code.matchAll(/(?:from|import\()\s*'([^']+)'/g)) check(path, folder, file, specifier)
  if (folder && !revisionsAllowed.includes(folder)) checkDates(path, text)
  if (!runtimePorts.includes(path)) checkRuntimeGlobals(path, text)
  if (leakingSignals.test(text.replace(commentOrString, '')))
    problems.push(`${path}: use joinSignals, not AbortSignal.any`)
}
// `tenon/internal` may change in any version. Nothing that users copy or read may name it.
for (const folder of ['examples', 'packages/cli/templates', 'docs']) {
  for (const file of filesBelow(new URL(`../${folder}`, import.meta.url).pathname)) {
    const isAllowed = file.endsWith('docs/decisions.md')
    if (!isAllowed && readFileSync(file, 'utf8').includes('tenon/internal'))
      problems.push(
        `${relative(new URL('..', import.meta.url).pathname, file)}: names tenon/internal, which is for our packages only`,
      )
  }
}
if (problems.length > 0) {
  console.error(problems.join('\n'))
  process.exit(1)
}
console.log('imports: every arrow points the right way')

function check(path, folder, file, specifier) {
  if (specifier.startsWith('node:')) {
    if (!nodeAllowed.some((place) => path.startsWith(place))) problems.push(`${path}: ${specifier} is not allowed here`)
    return
  }
  if (!specifier.startsWith('.') || folder === undefined) return
  const target = relative(root, join(dirname(file), specifier))
    .split(sep)
    .join('/')
  const targetFolder = target.includes('/') ? target.split('/')[0] : undefined
  // Helpers know nothing of this library, not even its errors.
  if (folder === 'util' && targetFolder !== 'util') problems.push(`${path}: util/ may not import ${target}`)
  const isFree = targetFolder === undefined || targetFolder === folder || targetFolder === 'util'
  if (!isFree && !allowed[folder]?.includes(targetFolder)) problems.push(`${path}: may not import ${target}`)
}

function checkRuntimeGlobals(path, text) {
  const code = text.replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '')
  const found = code.match(runtimeGlobals)
  if (found) problems.push(`${path}: uses ${found[0]}; use clock, scheduler or random of util/ instead`)
}

function* filesBelow(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.name === 'node_modules' || entry.name === 'dist') continue
    if (entry.isDirectory()) yield* filesBelow(path)
    else if (/\.(?:[cm]?[jt]sx?|md|json)$/.test(entry.name)) yield path
  }
}

/** Finds dates of revisions anywhere in a string or template, but not in comments. */
function checkDates(path, text) {
  for (const [token] of text.matchAll(commentOrString)) {
    const date = token.startsWith('/') ? undefined : token.match(revisionDates)
    if (date) problems.push(`${path}: names the revision ${date[0]} in ${token}; ask for a fact instead`)
  }
}

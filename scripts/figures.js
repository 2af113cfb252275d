// Prints how large the house is: public names, files, lines, copies of one idea, files of one flow. Needs a build.
//
//   npm run figures            a table
//   npm run figures -- --json  the same as JSON
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { publicNames } from './public-types.js'

const root = new URL('..', import.meta.url).pathname
const sdk = join(root, 'packages/sdk')
const manifest = JSON.parse(readFileSync(join(sdk, 'package.json'), 'utf8'))
const workspace = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

/** The files that git knows, without generated ones. */
const tracked = execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' })
  .split('\n')
  .filter((path) => existsSync(join(root, path)))
const sources = tracked
  .filter((path) => /^packages\/[^/]+\/(?:src|ui\/src)\/.*\.tsx?$/.test(path) && !path.includes('.test.'))
  .filter((path) => !path.includes('/generated/'))
  .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))
const ofSdk = sources.filter(({ path }) => path.startsWith('packages/sdk/'))

const names = publicNames(
  new Map(
    Object.entries(manifest.exports)
      .filter(([subpath, target]) => typeof target !== 'string' && subpath !== './internal')
      .map(([subpath, target]) => [subpath, join(sdk, target.types)]),
  ),
)
const figures = [
  ['Public names, all subpaths', new Set([...names.values()].flat()).size],
  ['Public names of tenon/server', names.get('./server').length],
  ['Public names of tenon/client', names.get('./client').length],
  ['Public names of tenon/host', names.get('./host')?.length ?? 0],
  ['Files of the SDK', ofSdk.length],
  ['Lines of the SDK', linesOf(ofSdk)],
  ['Lines of all packages', linesOf(sources)],
  ['@internal members', count(ofSdk, /@internal/g)],
  ['Functions that make foreign text safe', files(sources, /\\p\{Cf\}/).length],
  ['Functions that recognize loopback', files(sources, /127(?:\\\.|\(\?:\\\.|\(\\\.)/).length],
  ['Functions isObject', count(sources, /!== null && !Array\.isArray\(value\)\n\}/g)],
  ['HTTP server stacks', ['handler.ts', 'classic', 'raw'].filter((part) => isIn('transport/http/server', part)).length],
  ['Files that name the method prompts/get', files(sources, /'prompts\/get'/).length],
  ['Files that ask for the mode of an elicitation', files(sources, /mode [=!]== '(?:url|form)'/).length],
  ['Files that name one host of tenon install', files(sources, /Claude Desktop|claude-desktop/).length],
  ...flows().map(([title, length]) => [`Files of the flow: ${title}`, length]),
  ['Types *Call', typesNamed('Call')],
  ['Types *Session', typesNamed('Session')],
  ['Lock files', tracked.filter((path) => path.endsWith('package-lock.json')).length],
  ['npm scripts of the root', Object.keys(workspace.scripts).length],
]
if (process.argv.includes('--json')) console.log(JSON.stringify(Object.fromEntries(figures), null, 2))
else for (const [name, figure] of figures) console.log(`${name.padEnd(58)}${String(figure).padStart(8)}`)

function linesOf(some) {
  return count(some, /\n/g)
}

function count(some, pattern) {
  return some.reduce((sum, { text }) => sum + (text.match(pattern)?.length ?? 0), 0)
}

function files(some, pattern) {
  return some.filter(({ text }) => pattern.test(text))
}

function isIn(folder, part) {
  return existsSync(join(sdk, 'src', folder, part))
}

/** The lists of files in ARCHITECTURE.md, by their titles. */
function flows() {
  const text = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8')
  const [, section = ''] = /### Five requests, file by file\n([\s\S]*?)\n### /.exec(text) ?? []
  return [...section.matchAll(/^\*\*(.+?)\*\*: (.+)$/gm)].map(([, title, list]) => [
    title,
    new Set([...list.matchAll(/`[\w./-]+\.ts`/g)].map(([name]) => name)).size,
  ])
}

function typesNamed(end) {
  const pattern = new RegExp(`(?:class|interface|type) (\\w*${end})\\b`, 'g')
  return new Set(ofSdk.flatMap(({ text }) => [...text.matchAll(pattern)].map(([, name]) => name))).size
}

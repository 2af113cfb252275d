// Puts the official JSON Schemas of all five revisions where the tests look for them. They are not part of this repository:
// they are extracted from the official conformance suite, with the version and checksum in conformance/package-lock.json.
//
// With --required, the script fails if the schemas cannot be fetched. Otherwise the tests run without them and say so at the end.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runInNewContext } from 'node:vm'

const root = fileURLToPath(new URL('..', import.meta.url))
const name = '@modelcontextprotocol/conformance'
const lock = JSON.parse(readFileSync(join(root, 'conformance/package-lock.json'), 'utf8'))
const { version, integrity } = lock.packages[`node_modules/${name}`]

/** Named after the version, so that a newer suite brings newer schemas. */
const target = join(root, 'node_modules/.cache/official-schemas', version)

try {
  if (!existsSync(target)) save(toSchemas(suiteSource()))
} catch (error) {
  console.error(`The official JSON Schemas could not be fetched from ${name}@${version}: ${error.message}`)
  if (process.argv.includes('--required')) process.exitCode = 1
}

/** The suite's one file: from conformance/ if it is installed there, else from the registry, without its dependencies. */
function suiteSource() {
  const installed = join(root, 'conformance/node_modules', name)
  const isSame =
    existsSync(installed) && JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')).version === version
  return isSame ? readFileSync(join(installed, 'dist/index.js'), 'utf8') : download()
}

function download() {
  const folder = mkdtempSync(join(tmpdir(), 'official-schemas-'))
  try {
    const shell = process.platform === 'win32'
    const args = ['pack', `${name}@${version}`, '--silent', '--prefer-offline', '--pack-destination', folder]
    execFileSync('npm', args, { cwd: root, shell, stdio: ['ignore', 'ignore', 'pipe'], timeout: 60_000 })
    const [tarball] = readdirSync(folder)
    const digest = createHash('sha512')
      .update(readFileSync(join(folder, tarball)))
      .digest('base64')
    if (`sha512-${digest}` !== integrity) throw new Error('its checksum differs from conformance/package-lock.json')
    execFileSync('tar', ['-xzf', tarball], { cwd: folder })
    return readFileSync(join(folder, 'package/dist/index.js'), 'utf8')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The suite is one minified file with the schemas as object literals; each has definitions that no other one has. */
function toSchemas(source) {
  const found = [...source.matchAll(/\{\$schema:`[^`]*`,(?:definitions|\$defs):\{Annotations:/g)].map(({ index }) =>
    // A copy through JSON has this realm's prototypes.
    JSON.parse(JSON.stringify(runInNewContext(`(${literalAt(source, index)})`))),
  )
  const schemas = {
    '2025-03-26': found.find((schema) => schema.definitions?.JSONRPCBatchRequest),
    '2025-06-18': found.find((schema) => schema.definitions?.ElicitRequest),
    '2025-11-25': found.find((schema) => schema.$defs?.CreateTaskResult),
    '2026-07-28': found.find((schema) => schema.$defs?.DiscoverRequest),
  }
  const missing = Object.keys(schemas).filter((revision) => !schemas[revision])
  if (missing.length > 0) throw new Error(`it has no schema of ${missing.join(', ')}`)
  for (const schema of Object.values(schemas))
    correctNumbers((schema.definitions ?? schema.$defs).NumberSchema?.properties)
  return { '2024-11-05': toFirstRevision(schemas['2025-03-26']), ...schemas }
}

/** Some published schemas have "integer" where their TypeScript source has `number`. The suite corrects that when it runs, too. */
function correctNumbers(properties = {}) {
  for (const name of ['default', 'minimum', 'maximum'])
    if (properties[name]?.type === 'integer') properties[name].type = 'number'
}

/** The text from an opening brace to the one that closes it. */
function literalAt(source, start) {
  for (let at = start, depth = 0, quote; ; at++) {
    const char = source[at]
    if (char === undefined) throw new Error('a schema has no end')
    if (quote) {
      if (char === '\\') at++
      else if (char === quote) quote = undefined
    } else if ('`"\''.includes(char)) quote = char
    else if ('{['.includes(char)) depth++
    else if ('}]'.includes(char) && --depth === 0) return source.slice(start, at + 1)
  }
}

/** The suite leaves 2024-11-05 out. That revision is 2025-03-26 without what the latter added. */
function toFirstRevision(later) {
  const schema = structuredClone(later)
  const { definitions } = schema
  const added = ['AudioContent', 'JSONRPCBatchRequest', 'JSONRPCBatchResponse', 'ToolAnnotations']
  for (const name of added) delete definitions[name]
  delete definitions.Tool.properties.annotations
  delete definitions.ServerCapabilities.properties.completions
  delete definitions.ProgressNotification.properties.params.properties.message
  definitions.JSONRPCMessage.anyOf = definitions.JSONRPCMessage.anyOf.filter(({ type }) => type !== 'array')
  return JSON.parse(JSON.stringify(schema), (_, value) =>
    Array.isArray(value) ? value.filter(({ $ref }) => $ref !== '#/definitions/AudioContent') : value,
  )
}

/** All or nothing: a folder that is there is complete. */
function save(schemas) {
  mkdirSync(dirname(target), { recursive: true })
  const folder = mkdtempSync(`${target}-`)
  for (const [revision, schema] of Object.entries(schemas))
    writeFileSync(join(folder, `${revision}.json`), JSON.stringify(schema))
  renameSync(folder, target)
}

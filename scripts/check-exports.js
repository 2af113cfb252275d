// Checks the public subpaths: each one loads, has types and exports the promised names, and subpaths for every runtime import
// nothing from Node.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { publicTypeProblems } from './public-types.js'

const sdk = new URL('../packages/sdk', import.meta.url).pathname
const manifest = JSON.parse(readFileSync(join(sdk, 'package.json'), 'utf8'))
const problems = []
const { version } = await import('../packages/sdk/dist/util/version.js')
if (version !== manifest.version) problems.push(`util/version.ts says ${version}, package.json ${manifest.version}`)

/** Names that each subpath must export. */
const promised = {
  '.': [
    'McpError',
    'ErrorCode',
    'revisionIds',
    'loggingLevels',
    'McpServer',
    'serveStdio',
    'serveHttp',
    'connect',
    'Client',
  ],
  './server': [
    'McpServer',
    'Server',
    'ResourceTemplate',
    'completable',
    'serveStdio',
    'StdioServerTransport',
    'serveHttp',
    'createMcpHandler',
    'StreamableHTTPServerTransport',
    'SSEServerTransport',
    'MemoryEventStore',
    'ToolError',
    'inputRequired',
    'acceptedContent',
    'UrlElicitationRequiredError',
  ],
  './client': [
    'Client',
    'connect',
    'StdioClientTransport',
    'StreamableHTTPClientTransport',
    'SSEClientTransport',
    'InMemoryTransport',
    'PeerError',
    'HttpError',
    'TimeoutError',
  ],
  './auth/client': ['oauth', 'bearer', 'clientCredentials', 'clientMetadata', 'fileTokenStore', 'guardedFetch'],
  './auth/server': [
    'jwtVerifier',
    'requireBearerAuth',
    'broker',
    'providers',
    'mcpAuthRouter',
    'ProxyOAuthServerProvider',
    'guardedFetch',
  ],
  './tasks': ['tasks', 'MemoryTaskStore'],
  './stores/sqlite': ['sqliteStore'],
  './stores/redis': ['redisStore'],
  './client/terminal': ['terminalHandlers'],
  './host': ['createHost', 'createGateway', 'terminalApproval', 'anthropic', 'openai', 'aiSdk', 'verifyAudit'],
  './host/node': ['fileAudit', 'sqliteAudit', 'fileHostStore', 'readConfigFile', 'findConfigFiles'],
  './schemas': ['schemaFor', 'methodsOf'],
  './testing': [
    'startAuthorizationServer',
    'taskStoreContract',
    'valueStoreContract',
    'everyWire',
    'ScriptedClient',
    'ScriptedServer',
    'record',
    'OfficialSchema',
    'recordServer',
    'replayServer',
  ],
  './testing/vitest': ['matchers'],
  './testing/jest': ['matchers'],
  './jsonrpc': ['Link', 'Exchange', 'classify', 'Prepared', 'TransportFault'],
  './internal': ['safeText', 'isLoopbackHost', 'isObject'],
}
/** These run on every runtime, so they may load Node's modules only by a dynamic import. */
const portable = ['.', './server', './client', './host', './schemas', './jsonrpc']
/** These load files for Node on demand, so only a bundler that splits code can leave Node's modules out. */
const loadsNodeOnDemand = ['./host']

const strictUser = `
import type { Transport } from 'tenon/client'
import { connect } from 'tenon/client'
import { McpServer, StdioServerTransport } from 'tenon/server'
import { everyWire } from 'tenon/testing'

declare const maybe: string | undefined
declare const signal: AbortSignal | undefined
const server = new McpServer({ name: 'x', version: '1', title: maybe }, { instructions: maybe, revisions: undefined })
server.registerTool('a', { description: maybe, annotations: { title: maybe } }, () => 'x')
await server.connect(new StdioServerTransport())
export class Mine implements Transport {
  onmessage?: Transport['onmessage']
  onclose?: Transport['onclose']
  async start(): Promise<void> {}
  send(): void {}
  async close(): Promise<void> {}
}
const client = await connect(new Mine(), { revision: undefined })
await client.callTool('a', {}, { signal, timeoutMs: undefined })
console.log(everyWire)
${Object.keys(manifest.exports)
  .filter((subpath) => subpath.startsWith('./') && subpath !== './package.json')
  .map((subpath, index) => `import * as all${index} from 'tenon${subpath.slice(1)}'\nconsole.log(all${index})`)
  .join('\n')}
`

/** For our other packages only, so users need neither a description nor declarations for old compilers. */
const internal = './internal'

const found = new Map()
for (const [subpath, target] of Object.entries(manifest.exports)) {
  if (typeof target === 'string') continue
  for (const file of [target.types, target.default])
    if (!existsSync(join(sdk, file))) problems.push(`${subpath}: ${file} is missing`)
  const names = await import(join(sdk, target.default))
  for (const name of promised[subpath] ?? []) if (!(name in names)) problems.push(`${subpath}: ${name} is not exported`)
  found.set(subpath, names)
  if (portable.includes(subpath)) await checkPortable(subpath, join(sdk, target.default))
}
if (found.get('.').McpError !== found.get('./client').McpError)
  problems.push('McpError is not the same class in every subpath')

problems.push(
  ...publicTypeProblems(
    sdk,
    new Map([...found.keys()].map((subpath) => [subpath, join(sdk, manifest.exports[subpath].types)])),
  ),
)
checkReadme()
await checkBrowser()
checkStrictUser()
checkClassicUser()

const size = await bundleSize()
if (size > 68_600) problems.push(`A bundled stdio server is ${size} bytes gzipped; at most 68,600`)
if (problems.length > 0) {
  console.error(problems.join('\n'))
  process.exit(1)
}
console.log(`exports: ${found.size} subpaths; a bundled stdio server is ${(size / 1000).toFixed(1)} KB gzipped`)

/** Code that is loaded on demand may need Node, what a program loads at its start may not. */
async function checkPortable(subpath, file) {
  const { metafile } = await build({
    entryPoints: [file],
    outdir: join(sdk, 'dist/portable'),
    bundle: true,
    splitting: loadsNodeOnDemand.includes(subpath),
    format: 'esm',
    platform: 'neutral',
    external: [
      'node:*',
      'cross-spawn',
      ...(loadsNodeOnDemand.includes(subpath) ? ['oauth4webapi', 'jose', 'libsql'] : []),
    ],
    write: false,
    metafile: true,
    logLevel: 'error',
  })
  // With splitting, files that are loaded on demand are entry points too.
  const [start] = Object.entries(metafile.outputs).find(([, { entryPoint }]) => entryPoint && file.endsWith(entryPoint))
  const seen = new Set([start])
  for (const output of seen) {
    for (const { path, kind, external } of metafile.outputs[output].imports) {
      if (kind === 'dynamic-import') continue
      if (!external) seen.add(path)
      else if (path.startsWith('node:') || !loadsNodeOnDemand.includes(subpath))
        problems.push(`${subpath}: imports ${path}`)
    }
  }
}

/** The README on npm must list every subpath. */
function checkReadme() {
  const readme = readFileSync(join(sdk, 'README.md'), 'utf8')
  for (const subpath of found.keys())
    if (subpath !== internal && !readme.includes(`\`tenon${subpath.slice(1)}\``))
      problems.push(`packages/sdk/README.md does not list ${subpath}`)
}

/** A web page with client and server must build with a plain bundler. */
async function checkBrowser() {
  const contents =
    "import { connect } from 'tenon/client'; import { McpServer } from 'tenon/server'; console.log(connect, McpServer)"
  const options = {
    stdin: { contents, resolveDir: sdk },
    bundle: true,
    format: 'esm',
    platform: 'browser',
    write: false,
  }
  try {
    await build({ ...options, logLevel: 'silent', tsconfigRaw: '{}' })
  } catch (error) {
    problems.push(`tenon/client does not bundle for a browser: ${error.message}`)
  }
}

/** The declarations must compile with the strictest settings a user may have. */
function checkStrictUser() {
  const settings = { exactOptionalPropertyTypes: true, skipLibCheck: false, module: 'nodenext' }
  const output = compileUser('strict', 'typescript', settings, strictUser)
  if (output) problems.push(`The declarations do not compile under strict settings:\n${output}`)
}

/** `moduleResolution: node10` reads `typesVersions` instead of `exports`. TypeScript 5 is the last version that supports it. */
function checkClassicUser() {
  const subpaths = [...found.keys()].filter((subpath) => subpath !== internal)
  for (const subpath of subpaths) {
    if (subpath === '.') continue
    const types = manifest.typesVersions['*'][subpath.slice(2)]
    if (types?.[0] !== manifest.exports[subpath].types) problems.push(`${subpath}: typesVersions differs from exports`)
  }
  const user = subpaths.map((subpath, index) => {
    const name = promised[subpath][0]
    // A module without types would be any, which has every name.
    return `import { ${name} as a${index} } from 'tenon${subpath.slice(1)}'
// @ts-expect-error
import { isMissing as b${index} } from 'tenon${subpath.slice(1)}'
console.log(a${index}, b${index})`
  })
  const settings = { module: 'es2022', moduleResolution: 'node10', skipLibCheck: true }
  const output = compileUser('classic', 'typescript-5', settings, user.join('\n'))
  if (output) problems.push(`The declarations cannot be used with moduleResolution node10:\n${output}`)
}

/** Compiles a program that uses the package in a separate folder. Returns the errors of the compiler. */
function compileUser(name, compiler, settings, source) {
  const modules = join(sdk, '../../node_modules')
  const folder = join(modules, `.${name}-user`)
  mkdirSync(folder, { recursive: true })
  const compilerOptions = { strict: true, target: 'es2022', noEmit: true, types: ['node'], ...settings }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['user.ts'] }))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  writeFileSync(join(folder, 'user.ts'), source)
  const { stdout, status } = spawnSync(process.execPath, [join(modules, compiler, 'bin/tsc'), '-p', folder], {
    encoding: 'utf8',
  })
  return status === 0 ? '' : stdout
}

/** The gzipped size of the smallest bundled stdio server, without a schema library. */
async function bundleSize() {
  const { gzipSync } = await import('node:zlib')
  const contents = `import { McpServer, serveStdio } from ${JSON.stringify(join(sdk, 'dist/lib/server.js'))}
    const server = new McpServer({ name: 'x', version: '1' })
    server.registerTool('hi', {}, () => 'hi')
    await serveStdio(server)`
  const options = {
    stdin: { contents, resolveDir: sdk },
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'node',
    write: false,
    logLevel: 'error',
  }
  const { outputFiles } = await build(options)
  return gzipSync(outputFiles[0].contents, { level: 9 }).length
}

// Fails when what a user would install is not there: every subpath loads, has types, and names what it promises; and what is
// meant for every runtime pulls in nothing of Node's.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'

const sdk = new URL('../packages/sdk', import.meta.url).pathname
const manifest = JSON.parse(readFileSync(join(sdk, 'package.json'), 'utf8'))
const problems = []

/** A few names that must not get lost, by subpath. */
const promised = {
  '.': ['McpError', 'RpcCode', 'revisionIds', 'loggingLevels'],
  './server': [
    'McpServer',
    'Server',
    'ResourceTemplate',
    'completable',
    'serveStdio',
    'StdioServerTransport',
    'ToolError',
  ],
  './client': ['Client', 'connect', 'StdioClientTransport', 'InMemoryTransport', 'PeerError', 'TimeoutError'],
  './testing': ['everyWire', 'ScriptedClient', 'ScriptedServer', 'record', 'OfficialSchema'],
}
/** These run on every runtime: Node's modules may be reached by a dynamic import only. */
const portable = ['.', './server', './client']

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

const size = await bundleSize()
if (size > 40_000) problems.push(`A bundled stdio server is ${size} bytes gzipped; at most 40,000`)
if (problems.length > 0) {
  console.error(problems.join('\n'))
  process.exit(1)
}
console.log(`exports: ${found.size} subpaths; a bundled stdio server is ${(size / 1000).toFixed(1)} KB gzipped`)

async function checkPortable(subpath, file) {
  const { metafile } = await build({
    entryPoints: [file],
    bundle: true,
    format: 'esm',
    platform: 'neutral',
    external: ['node:*', 'cross-spawn'],
    write: false,
    metafile: true,
  })
  for (const { imports } of Object.values(metafile.outputs)) {
    for (const { path, kind } of imports) {
      if (kind !== 'dynamic-import') problems.push(`${subpath}: imports ${path}`)
    }
  }
}

/** What a user would ship who bundles the smallest stdio server; without any schema library. */
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
  }
  const { outputFiles } = await build(options)
  return gzipSync(outputFiles[0].contents, { level: 9 }).length
}

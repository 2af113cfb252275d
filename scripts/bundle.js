// Bundles the compiled modules, or with --sources the sources, into one file per public subpath, with shared chunks. Loading a hundred small modules takes
// Node five times as long, and every stdio server would pay that at each start.
import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'

const sdk = new URL('../packages/sdk', import.meta.url).pathname
const { dependencies, peerDependencies } = JSON.parse(readFileSync(join(sdk, 'package.json'), 'utf8'))
const names = [
  'index',
  'server',
  'client',
  'auth-client',
  'auth-server',
  'tasks',
  'stores-sqlite',
  'stores-redis',
  'terminal',
  'host',
  'host-node',
  'schemas',
  'testing',
  'testing-vitest',
  'testing-jest',
  'jsonrpc',
  'internal',
]

const fromSources = process.argv.includes('--sources')
const output = join(sdk, 'dist/lib')
const fresh = join(sdk, 'dist/lib.new')

rmSync(fresh, { recursive: true, force: true })
await build({
  entryPoints: names.map((name) => join(sdk, fromSources ? `src/entry/${name}.ts` : `dist/entry/${name}.js`)),
  outdir: fresh,
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'neutral',
  target: 'node20',
  // Node 20 knows every property that is used. esbuild would write new RegExp(), which bundlers cannot remove if it is unused.
  supported: { 'regexp-unicode-property-escapes': true },
  external: ['node:*', ...Object.keys(dependencies), ...Object.keys(peerDependencies)],
  logLevel: 'warning',
})
for (const file of readdirSync(fresh)) removeBareImports(join(fresh, file))
// Swapped at once, so that programs that start in the meantime find a complete folder.
rmSync(output, { recursive: true, force: true })
renameSync(fresh, output)

/** Chunks have no side effects, so `import './chunk.js'` only causes warnings in the bundlers of users. */
function removeBareImports(path) {
  const text = readFileSync(path, 'utf8')
  writeFileSync(path, text.replaceAll(/^import "\.\/chunk-\w+\.js";\n/gm, ''))
}

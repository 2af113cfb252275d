// Joins the compiled modules into one file per public subpath, with shared chunks. Loading a hundred small modules
// takes Node five times as long as loading these, and every stdio server pays that at each start.
import { readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'

const sdk = new URL('../packages/sdk', import.meta.url).pathname
const { dependencies, peerDependencies } = JSON.parse(readFileSync(join(sdk, 'package.json'), 'utf8'))
const names = ['index', 'server', 'client', 'auth', 'tasks', 'stores-sqlite', 'stores-redis', 'terminal', 'testing']

const output = join(sdk, 'dist/lib')
const fresh = join(sdk, 'dist/lib.new')

rmSync(fresh, { recursive: true, force: true })
await build({
  entryPoints: names.map((name) => join(sdk, `dist/entry/${name}.js`)),
  outdir: fresh,
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'neutral',
  target: 'node20',
  external: ['node:*', ...Object.keys(dependencies), ...Object.keys(peerDependencies)],
  logLevel: 'warning',
})
// Swapped at once, so that programs which start meanwhile find all of it.
rmSync(output, { recursive: true, force: true })
renameSync(fresh, output)

// Copies the modules of compat-v1 that compat-v2 uses into `packages/compat-v2/dist/v1`. A dependency on compat-v1 would bring
// express, cors and express-rate-limit, which the official packages 2.x do not have.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const source = fileURLToPath(new URL('../packages/compat-v1/dist/esm', import.meta.url))
const output = fileURLToPath(new URL('../packages/compat-v2/dist', import.meta.url))
const target = join(output, 'v1')
const specifiers = /(?<=(?:from |import |import\()['"])(@tenon\/compat-v1\/|\.\.?\/)([^'"]+)(?=['"])/g
const copied = new Set()

for (const stale of [target, join(output, 'cjs')]) rmSync(stale, { recursive: true, force: true })
for (const path of readdirSync(output, { recursive: true }).filter((each) => /\.(?:js|d\.ts)$/.test(each))) {
  const file = join(output, path)
  const text = readFileSync(file, 'utf8')
  const rewritten = text.replaceAll(specifiers, (all, start, module) =>
    start.startsWith('.') ? all : pathTo(dirname(file), module),
  )
  if (rewritten !== text) writeFileSync(file, rewritten)
}

/** Copies a module and returns its path from a folder. */
function pathTo(folder, module) {
  copy(module.replace(/\.js$/, ''))
  const path = relative(folder, join(target, module)).replaceAll('\\', '/')
  return path.startsWith('.') ? path : `./${path}`
}

/** Copies the code and the declarations of a module, and what they import. */
function copy(module) {
  if (copied.has(module)) return
  copied.add(module)
  for (const extension of ['.js', '.d.ts']) {
    const text = readFileSync(join(source, `${module}${extension}`), 'utf8')
    mkdirSync(dirname(join(target, module)), { recursive: true })
    writeFileSync(join(target, `${module}${extension}`), text)
    for (const [, start, path] of text.matchAll(specifiers)) {
      const imported = relative(source, join(source, dirname(module), start + path)).replace(/\.[jt]s$/, '')
      if (existsSync(join(source, `${imported}.js`))) copy(imported)
    }
  }
}

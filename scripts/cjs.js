// Makes the CommonJS side of the drop-in packages in `dist/cjs`: each module loads the ES module of the same name, so that a
// program has every class once, and declarations that TypeScript accepts in a CommonJS module.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

for (const [name, modules] of [
  ['compat-v1', 'dist/esm'],
  ['compat-v2', 'dist'],
]) {
  const folder = fileURLToPath(new URL(`../packages/${name}`, import.meta.url))
  const [source, target] = [join(folder, modules), join(folder, 'dist/cjs')]
  rmSync(target, { recursive: true, force: true })
  const files = readdirSync(source, { recursive: true }).filter((path) => /\.(?:js|d\.ts)$/.test(path))
  for (const path of files) write(join(source, path), join(target, path))
  writeFileSync(join(target, 'package.json'), '{ "type": "commonjs" }\n')
}

function write(from, to) {
  mkdirSync(dirname(to), { recursive: true })
  const text = to.endsWith('.d.ts') ? toCommonJs(readFileSync(from, 'utf8')) : loader(relative(dirname(to), from))
  writeFileSync(to, text)
}

/** The types of Tenon are those of ES modules, which a declaration of CommonJS has to say. */
function toCommonJs(declarations) {
  return declarations.replaceAll(
    /^import (?:type )?\{([^}]*)\} from (['"])(tenon(?:\/[^'"]*)?)\2;?$/gm,
    (_all, names, _quote, specifier) =>
      `import type {${names.replaceAll(/\btype /g, '')}} from '${specifier}' with { 'resolution-mode': 'import' };`,
  )
}

/** Every supported version of Node loads ES modules by `require`. */
function loader(path) {
  return `'use strict'\nmodule.exports = require('${path.replaceAll('\\', '/')}')\n`
}

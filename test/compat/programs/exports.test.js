// Every module of the official SDK 1.x exists in the drop-in package and exports the same names, values and types alike.
import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'

const official = fileURLToPath(new URL('node_modules/@modelcontextprotocol/sdk/dist/esm', import.meta.url))
const ours = fileURLToPath(new URL('aliased/node_modules/@modelcontextprotocol/sdk/dist/esm', import.meta.url))

/** Functions that the official package marks as internal. Tenon follows redirects itself. */
const internal = new Set([
  'fetchLeavingRedirects',
  'fetchWithinOrigin',
  'followWithinOrigin',
  'isWithinOrigin',
  'unfollowedRedirect',
])

const modules = readdirSync(official, { recursive: true })
  .filter((path) => path.endsWith('.d.ts') && !path.startsWith('examples'))
  .map((path) => path.replace(/\.d\.ts$/, ''))

describe('@tenon/compat-v1', () => {
  for (const module of modules) {
    it(`${module} exports the names of the official module`, async () => {
      assert.ok(existsSync(join(ours, `${module}.js`)), 'The module does not exist')
      assert.deepEqual(missing(await valuesOf(official, module), await valuesOf(ours, module)), [])
      const types = typesOf(join(official, `${module}.d.ts`))
      assert.deepEqual(missing(types, typesOf(join(ours, `${module}.d.ts`))), [])
    })
  }
})

async function valuesOf(root, module) {
  return Object.keys(await import(join(root, `${module}.js`)))
}

/** Returns the names that a declaration file exports, also through `export *`. */
function typesOf(path) {
  const text = readFileSync(path, 'utf8').replaceAll(/\/\*[\s\S]*?\*\//g, '')
  const declared = text.matchAll(
    /^export (?:declare )?(?:abstract )?(?:type|interface|class|const|let|function|enum) (\w+)/gm,
  )
  const listed = [...text.matchAll(/^export (?:type )?\{([^}]*)\}/gm)].flatMap(([, list]) =>
    list
      .split(',')
      .map((entry) => entry.trim().split(/\s+/).at(-1))
      .filter(Boolean),
  )
  const passedOn = [...text.matchAll(/^export (?:type )?\* from ['"](\.[^'"]+)['"]/gm)].flatMap(([, target]) =>
    typesOf(resolve(dirname(path), target).replace(/\.[jt]s$/, '.d.ts')),
  )
  return [...new Set([...[...declared].map(([, name]) => name), ...listed, ...passedOn])]
}

function missing(wanted, present) {
  const names = new Set(present)
  return wanted.filter((name) => !names.has(name) && !internal.has(name))
}

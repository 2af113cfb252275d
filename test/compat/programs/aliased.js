// Makes `aliased/node_modules`: the installed programs, with the drop-in packages in the place of the official ones, as
// `"@modelcontextprotocol/sdk": "npm:@tenon/compat-v1@1"` and the like install them.
import { execFileSync } from 'node:child_process'
import { copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const installed = fileURLToPath(new URL('node_modules', import.meta.url))
const aliased = fileURLToPath(new URL('aliased/node_modules', import.meta.url))

rmSync(aliased, { recursive: true, force: true })
mkdirSync(join(aliased, '..'), { recursive: true })
// Hard links: a copy of half a gigabyte in two seconds.
execFileSync('cp', ['-al', installed, aliased])
copyFileSync(new URL('fastmcp-server.js', import.meta.url), join(aliased, '../fastmcp-server.js'))
replace('packages/compat-v1', '@modelcontextprotocol/sdk')
for (const side of ['server', 'client', 'node']) replace(`packages/compat-v2-${side}`, `@modelcontextprotocol/${side}`)
replace('packages/compat-v1', '@tenon/compat-v1')
replace('packages/compat-v2', '@tenon/compat-v2')
replace('packages/sdk', 'tenon')

/** Puts one of our packages, with what npm would publish of it, where a package was; and its dependencies beside it. */
function replace(folder, name) {
  const target = join(aliased, name)
  const { files, dependencies = {} } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'))
  rmSync(target, { recursive: true, force: true })
  mkdirSync(target, { recursive: true })
  for (const file of ['package.json', ...files.map((pattern) => pattern.split('/')[0])]) {
    cpSync(join(root, folder, file), join(target, file), { recursive: true })
  }
  for (const dependency of Object.keys(dependencies)) {
    if (isOurs(dependency) || existsSync(join(aliased, dependency))) continue
    cpSync(join(root, 'node_modules', dependency), join(aliased, dependency), { recursive: true })
  }
}

function isOurs(name) {
  return name === 'tenon' || name.startsWith('@tenon/')
}

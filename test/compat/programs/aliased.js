// Makes `aliased/node_modules` in the current folder: the installed programs, with the drop-in packages in the place of the
// official ones, as `"@modelcontextprotocol/sdk": "npm:@tenon/compat-v1@1"` and the like install them. The files that are named
// on the command line are copied beside it, so that they find the packages there.
import { execFileSync } from 'node:child_process'
import { copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { packPackages } from '../../../scripts/packages.js'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const installed = join(process.cwd(), 'node_modules')
const aliased = join(process.cwd(), 'aliased/node_modules')

/** The official package that each of ours takes the place of. */
const aliases = {
  '@tenon/compat-v1': '@modelcontextprotocol/sdk',
  '@tenon/compat-v2-client': '@modelcontextprotocol/client',
  '@tenon/compat-v2-node': '@modelcontextprotocol/node',
  '@tenon/compat-v2-server': '@modelcontextprotocol/server',
}

rmSync(aliased, { recursive: true, force: true })
mkdirSync(join(aliased, '..'), { recursive: true })
for (const file of process.argv.slice(2)) copyFileSync(file, join(aliased, '..', file))
// Hard links: a copy of half a gigabyte in two seconds.
execFileSync('cp', ['-al', installed, aliased])
const packages = packPackages().filter(({ name }) => name === 'tenon' || name.startsWith('@tenon/compat-'))
const ours = packages.map(({ name }) => name)
for (const { name, path } of packages) {
  unpack(path, name)
  if (aliases[name]) unpack(path, aliases[name])
}

/** Puts a package in the place of another one, and its dependencies beside it. */
function unpack(tarball, name) {
  const target = join(aliased, name)
  rmSync(target, { recursive: true, force: true })
  mkdirSync(target, { recursive: true })
  execFileSync('tar', ['-xzf', tarball, '-C', target, '--strip-components=1'])
  const { dependencies = {} } = JSON.parse(readFileSync(join(target, 'package.json'), 'utf8'))
  for (const dependency of Object.keys(dependencies)) {
    if (ours.includes(dependency) || existsSync(join(aliased, dependency))) continue
    cpSync(join(root, 'node_modules', dependency), join(aliased, dependency), { recursive: true })
  }
}

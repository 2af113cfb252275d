// Creates a server project with the packages of this clone, because they are not on npm yet. In the folder of the new project:
//   npm --prefix ../tenon run -s create -- my-server
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { packPackages } from './packages.js'

const main = join(import.meta.dirname, '../packages/create-tenon/main.js')
const packed = new Map(packPackages().map(({ name, path }) => [name, path]))
const versions = ['--tenon', `file:${packed.get('tenon')}`, '--cli', `file:${packed.get('@tenon/cli')}`]

// With --prefix, npm tells its children to install into the clone.
const { npm_config_prefix, npm_config_local_prefix, INIT_CWD, ...env } = process.env
const options = { cwd: INIT_CWD, env, stdio: 'inherit' }
const { status } = spawnSync(process.execPath, [main, ...process.argv.slice(2), ...versions], options)
process.exitCode = status ?? 1

// Runs a private folder (bench, test/interop): installs its packages when they are missing, then its `npm start` or `npm test`.
import { spawnSync } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'

const [folder, ...args] = process.argv.slice(2)
const path = new URL(`../${folder}`, import.meta.url).pathname
const installed = join(path, 'node_modules/.package-lock.json')
const lock = join(path, 'package-lock.json')

if (!existsSync(installed) || statSync(installed).mtimeMs < statSync(lock).mtimeMs) run(['ci'])
run(['test', '--', ...args])

function run(npmArgs) {
  const { status } = spawnSync('npm', npmArgs, { cwd: path, stdio: 'inherit', shell: process.platform === 'win32' })
  if (status !== 0) process.exit(status ?? 1)
}

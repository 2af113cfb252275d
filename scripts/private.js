// Runs a script of a private folder (bench, conformance, test/interop, ...). Installs its packages first if they are missing.
import { spawnSync } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'

const [folder, script, ...args] = process.argv.slice(2)
const path = new URL(`../${folder}`, import.meta.url).pathname
const installed = join(path, 'node_modules/.package-lock.json')
const lock = join(path, 'package-lock.json')

if (!existsSync(installed) || statSync(installed).mtimeMs < statSync(lock).mtimeMs) run(['ci'])
run(['run', '-s', script, '--', ...args])

function run(npmArgs) {
  const { status } = spawnSync('npm', npmArgs, { cwd: path, stdio: 'inherit', shell: process.platform === 'win32' })
  if (status !== 0) process.exit(status ?? 1)
}

// Packs every published package and prints the paths of the tarballs, so that a project can install from a clone:
//   npm install $(npm --prefix ../tenon run -s pack)
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

const root = new URL('..', import.meta.url).pathname
const output = join(root, 'dist')
mkdirSync(output, { recursive: true })

const folders = readdirSync(join(root, 'packages')).map((name) => join(root, 'packages', name))
const args = ['pack', '--json', '--pack-destination', output, ...folders]
const shell = process.platform === 'win32'
const packed = execFileSync('npm', args, { cwd: root, encoding: 'utf8', shell, stdio: ['ignore', 'pipe', 'inherit'] })
for (const { filename } of toList(JSON.parse(packed))) console.log(join(output, filename))

/** npm 12 prints an object by package name where earlier versions print a list. */
function toList(value) {
  return Array.isArray(value) ? value : Object.values(value)
}

// Packs every published package into dist/.
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

const root = new URL('..', import.meta.url).pathname

/** Returns what npm reports about each package (`name`, `version`, `size`, `unpackedSize`, `files`), and the `path` of its tarball. */
export function packPackages() {
  const output = join(root, 'dist')
  mkdirSync(output, { recursive: true })
  const folders = readdirSync(join(root, 'packages')).map((name) => join(root, 'packages', name))
  const args = ['pack', '--json', '--pack-destination', output, ...folders]
  const shell = process.platform === 'win32'
  const packed = execFileSync('npm', args, { cwd: root, encoding: 'utf8', shell, stdio: ['ignore', 'pipe', 'inherit'] })
  return toList(JSON.parse(packed)).map((each) => ({ ...each, path: join(output, each.filename) }))
}

/** npm 12 prints an object by package name where earlier versions print a list. */
function toList(value) {
  return Array.isArray(value) ? value : Object.values(value)
}

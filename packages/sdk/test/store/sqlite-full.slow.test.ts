import { execFile, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'

const fixture = fileURLToPath(new URL('./fixtures/full-disk.js', import.meta.url))

/** A disk of 2 MiB that only one process sees and that disappears with it. Mounting it needs permissions. */
const mount = 'mount -t tmpfs -o size=2m tmpfs "$0"'
const hasDisk = spawnSync('unshare', ['--mount', 'sh', '-c', mount, tmpdir()]).status === 0
if (!hasDisk) console.warn('The test of a full disk is skipped: no small disk can be mounted.')

describe('a SQLite store on a full disk', () => {
  it.skipIf(!hasDisk)(
    'rejects writes that do not fit, keeps everything that it confirmed, and continues when there is space',
    async () => {
      const folder = mkdtempSync(join(tmpdir(), 'tenon-full-'))
      try {
        const script = `${mount} && exec "$1" "$2" "$0"`
        const args = ['--mount', 'sh', '-c', script, folder, process.execPath, fixture]
        const { stdout } = await promisify(execFile)('unshare', args)
        const { kept, refused, openWhenFull, whole, openAtLast } = JSON.parse(stdout)
        expect(kept).toBeGreaterThan(0)
        expect(refused).toMatch(/full/)
        expect({ openWhenFull, whole, openAtLast }).toEqual({
          openWhenFull: kept,
          whole: kept + 1,
          openAtLast: kept + 1,
        })
      } finally {
        rmSync(folder, { recursive: true, force: true })
      }
    },
  )
})

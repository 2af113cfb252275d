import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sqliteStore } from 'tenon/stores/sqlite'
import { afterAll, describe, expect, it } from 'vitest'
import type { TaskEntry } from '../../src/store/ports.ts'

/** A disk of 2 MiB; only root can have one. */
const folder = mkdtempSync(join(tmpdir(), 'tenon-full-'))
const hasDisk = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', folder]).status === 0
if (!hasDisk) console.warn('The test of a full disk is skipped: no small disk can be mounted.')
afterAll(() => {
  if (hasDisk) spawnSync('umount', ['-l', folder])
  rmSync(folder, { recursive: true, force: true })
})

const entry = (id: string): TaskEntry => ({
  ...{ id, owner: 'somebody', listedFor: 'somebody', version: 1, createdAt: 1, expiresAt: null, isOpen: true },
  ...{ summary: '{}', body: JSON.stringify('x'.repeat(8_000)) },
})

describe('a SQLite store on a disk that is full', () => {
  it.skipIf(!hasDisk)(
    'refuses what it cannot keep, has all that it promised, and goes on when there is room',
    async () => {
      const filler = join(folder, 'filler')
      writeFileSync(filler, 'x'.repeat(1_000_000))
      const path = join(folder, 'tasks.db')
      const store = sqliteStore(path)
      const kept: string[] = []
      const refused: unknown[] = []
      for (let round = 0; refused.length === 0 && round < 100; round++) {
        const ids = Array.from({ length: 10 }, (_, index) => `${round}-${index}`)
        const results = await Promise.allSettled(ids.map((id) => store.tasks.create(entry(id), { isReady: true })))
        for (const [index, result] of results.entries()) {
          if (result.status === 'fulfilled') kept.push(ids[index]!)
          else refused.push(result.reason)
        }
      }
      expect(kept.length).toBeGreaterThan(0)
      expect(String(refused[0])).toMatch(/full/)
      expect(await store.tasks.countOpen()).toBe(kept.length)
      rmSync(filler)
      await store.tasks.create(entry('later'), { isReady: true })
      await store.close()
      const again = sqliteStore(path)
      for (const id of [...kept, 'later']) expect((await again.tasks.get(id))?.body.length).toBe(8_002)
      expect(await again.tasks.countOpen()).toBe(kept.length + 1)
      await again.close()
    },
  )
})

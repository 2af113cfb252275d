import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { runNode } from '../kit/child-process.ts'
import { hasRedis, RedisServer } from '../kit/redis-server.ts'

const fixture = fileURLToPath(new URL('./tasks.fixture.js', import.meta.url))

/** The fixture runs in a separate process, so that only the tasks are on its heap. */
async function runMany(name: string, where: string): Promise<void> {
  const stdout = await runNode(['--expose-gc', fixture, where])
  const seen = JSON.parse(stdout)
  const perSecond = Math.round((1_000 * seen.completed) / seen.endedMs)
  console.log(
    `${name}: ${seen.completed} tasks, ${perSecond} a second; all kept after ${Math.round(seen.createdMs)} ms, ` +
      `all over after ${Math.round(seen.endedMs)} ms; heap ${seen.before} to ${seen.after} bytes`,
  )
  expect(seen.completed).toBe(10_000)
  expect(seen.wrong).toBe(0)
  expect(seen.after / seen.before).toBeLessThan(1.25)
}

describe('10,000 tasks that are created at once', () => {
  it('all complete and free their memory (SQLite)', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'tenon-many-'))
    await runMany('SQLite', join(folder, 'tasks.db'))
    await rm(folder, { recursive: true, force: true })
  }, 300_000)

  it.skipIf(!hasRedis)(
    'all complete and free their memory (Redis)',
    async () => {
      const redis = await RedisServer.start()
      try {
        await runMany('Redis', redis.url)
      } finally {
        await redis.close()
      }
    },
    300_000,
  )
})

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { runNode } from '../kit/child-process.ts'
import { hasRedis, RedisServer } from '../kit/redis-server.ts'

const fixture = fileURLToPath(new URL('./polled-tasks.fixture.js', import.meta.url))

/** The fixture times out after 90 seconds. Before commits were scheduled by time, about ten tasks a second finished. */
async function run(name: string, where: string, mode: 'poll' | 'follow'): Promise<void> {
  const stdout = await runNode([fixture, where, mode, '5000', '90'])
  const { finished, wrong, perSecond, polls } = JSON.parse(stdout)
  console.log(`${name}, ${mode}: ${finished} tasks, ${Math.round(perSecond)} a second, ${polls} polls`)
  expect({ finished, wrong }).toEqual({ finished: 5000, wrong: 0 })
}

describe.each(['poll', 'follow'] as const)(
  '5,000 tasks in one process, each with a client in the mode "%s"',
  (mode) => {
    it('all finish (memory)', () => run('memory', 'memory', mode))

    it('all finish (SQLite)', async () => {
      const folder = await mkdtemp(join(tmpdir(), 'tenon-polled-'))
      try {
        await run('SQLite', join(folder, 'tasks.db'), mode)
      } finally {
        await rm(folder, { recursive: true, force: true })
      }
    })

    it.skipIf(!hasRedis)('all finish (Redis)', async () => {
      const redis = await RedisServer.start()
      try {
        await run('Redis', redis.url, mode)
      } finally {
        await redis.close()
      }
    })
  },
)

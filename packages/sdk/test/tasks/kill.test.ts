import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { redisStore } from 'tenon/stores/redis'
import { sqliteStore } from 'tenon/stores/sqlite'
import { expect, it } from 'vitest'
import { hasRedis, RedisServer } from '../stores/redis-server.ts'
import { KillLane, type Lane, problemsOf, writes } from './kill-harness.ts'

/** `npm run chaos` does it a thousand times. */
const kills = Number(process.env.TENON_KILLS ?? 200)
const lanes = 2

async function killEverywhere(open: (lane: number) => Lane): Promise<string[]> {
  const problems: string[] = []
  const plans = Array.from({ length: kills }, (_, index) => ({
    run: `run${index}`,
    at: 1 + (Math.floor(index / 2) % writes),
    when: index % 2 === 0 ? ('before' as const) : ('after' as const),
  }))
  const work = async (number: number) => {
    const lane = new KillLane(open(number))
    try {
      for (let plan = plans.shift(); plan; plan = plans.shift()) {
        problems.push(...problemsOf(await lane.run(plan.run, plan.at, plan.when)))
      }
    } finally {
      await lane.close()
    }
  }
  await Promise.all(Array.from({ length: lanes }, (_, number) => work(number)))
  return problems
}

const title = `loses and doubles nothing when a server is killed at any write, ${kills} times`
const options = { timeout: kills * 5_000 }

it(`${title} (SQLite)`, options, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tenon-kill-sqlite-'))
  const files = Array.from({ length: lanes }, (_, lane) => join(folder, `${lane}.db`))
  const stores = files.map((file) => sqliteStore(file))
  const problems = await killEverywhere((lane) => ({ args: [files[lane]!], store: stores[lane]!.tasks }))
  for (const store of stores) await store.close()
  rmSync(folder, { recursive: true, force: true })
  expect(problems).toEqual([])
})

it.skipIf(!hasRedis)(`${title} (Redis)`, options, async () => {
  const redis = await RedisServer.start()
  const stores = Array.from({ length: lanes }, (_, lane) => redisStore({ url: redis.url, prefix: `lane${lane}` }))
  const problems = await killEverywhere((lane) => ({ args: [redis.url, `lane${lane}`], store: stores[lane]!.tasks }))
  for (const store of stores) await store.close()
  await redis.close()
  expect(problems).toEqual([])
})

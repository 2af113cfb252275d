import { redisStore } from 'tenon/stores/redis'
import { expect, it } from 'vitest'
import { hasRedis, RedisServer } from '../kit/redis-server.ts'
import { killEverywhere, lanes, options, title } from './kill-harness.ts'

it.skipIf(!hasRedis)(`${title} (Redis)`, options, async () => {
  const redis = await RedisServer.start()
  const stores = Array.from({ length: lanes }, (_, lane) => redisStore({ url: redis.url, prefix: `lane${lane}` }))
  const problems = await killEverywhere((lane) => ({ args: [redis.url, `lane${lane}`], store: stores[lane]!.tasks }))
  for (const store of stores) await store.close()
  await redis.close()
  expect(problems).toEqual([])
})

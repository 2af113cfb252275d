import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RedisStore, redisStore } from '../../src/store/redis/store.ts'
import { busContract } from '../../src/testing/store-contracts/bus.ts'
import { eventStoreContract } from '../../src/testing/store-contracts/event-store.ts'
import { sessionStoreContract } from '../../src/testing/store-contracts/session-store.ts'
import { taskStoreContract } from '../../src/testing/store-contracts/task-store.ts'
import { valueStoreContract } from '../../src/testing/store-contracts/value-store.ts'

import { hasRedis, RedisServer } from '../kit/redis-server.ts'

const runner = { describe, it, expect }

describe.skipIf(!hasRedis)('redisStore', () => {
  let server: RedisServer
  let count = 0
  const stores = new Map<object, { store: RedisStore; prefix: string }>()

  beforeAll(async () => {
    server = await RedisServer.start()
  })
  afterAll(() => server.close())

  const open = <T extends object>(part: (store: RedisStore) => T, prefix = `test-${count++}`): T => {
    const store = redisStore({ url: server.url, prefix })
    stores.set(part(store), { store, prefix })
    return part(store)
  }
  const driver = <T extends object>(part: (store: RedisStore) => T) => ({
    open: () => open(part),
    join: (opened: T) => open(part, stores.get(opened)?.prefix),
    close: async (opened: T) => {
      const known = stores.get(opened)
      stores.delete(opened)
      await known?.store.close()
    },
    advance: (ms: number) => sleep(ms),
  })

  taskStoreContract(
    runner,
    'Redis',
    driver(({ tasks }) => tasks),
  )
  sessionStoreContract(
    runner,
    'Redis',
    driver(({ sessions }) => sessions),
  )
  eventStoreContract(
    runner,
    'Redis',
    driver(({ events }) => events),
  )
  valueStoreContract(
    runner,
    'Redis',
    driver(({ values }) => values),
  )
  busContract(
    runner,
    'Redis',
    driver(({ bus }) => bus),
  )
})

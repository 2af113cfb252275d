import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { type RedisStore, type RedisStoreOptions, redisStore } from '../../src/store/redis/store.ts'
import { deferred } from '../../src/util/deferred.ts'
import { eventually } from '../kit/eventually.ts'
import { hasRedis, RedisServer } from '../kit/redis-server.ts'
import { entry, options, Runs, ready } from './redis-faults-support.ts'

describe.skipIf(!hasRedis)('redisStore', () => {
  let server: RedisServer
  let redis: Redis
  let prefix = ''
  let count = 0
  const stores: RedisStore[] = []

  beforeAll(async () => {
    server = await RedisServer.start()
    redis = new Redis(server.url)
  })
  afterEach(async () => {
    for (const store of stores.splice(0)) await store.close()
  })
  afterAll(async () => {
    redis.disconnect()
    await server.close()
  })

  /** Opens a store with an unused prefix. */
  const open = (options: Partial<RedisStoreOptions> = {}): RedisStore => {
    prefix = `faults-${count++}`
    return again({ prefix, ...options })
  }
  const again = (options: Partial<RedisStoreOptions> = {}): RedisStore => {
    const store = redisStore({ url: server.url, prefix, onError: () => {}, ...options })
    stores.push(store)
    return store
  }

  describe('in several processes', () => {
    let folder = ''
    let program = ''

    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'tenon-redis-worker-'))
      program = join(folder, 'worker.mjs')
      await build({
        entryPoints: [fileURLToPath(new URL('./fixtures/redis-worker.ts', import.meta.url))],
        bundle: true,
        platform: 'node',
        format: 'esm',
        banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url)" },
        external: ['pg', 'redis', 'bullmq-otel'],
        outfile: program,
        logLevel: 'error',
      })
    })
    afterAll(() => rmSync(folder, { recursive: true }))

    /** @param leaseMs Lease of the tasks that it runs. Default: it runs none. */
    const start = async (leaseMs = 0): Promise<ChildProcess> => {
      const child = fork(program, [server.url, prefix, `${leaseMs}`])
      onTestFinished(() => void child.kill('SIGKILL'))
      await once(child, 'message')
      return child
    }

    it('reruns the tasks that a killed process had started, and none that had finished', async () => {
      const { tasks } = open()
      const child = await start(500)
      const told: Array<{ begun?: string; over?: string }> = []
      const begun = deferred<void>()
      child.on('message', (message: { begun?: string; over?: string }) => {
        told.push(message)
        if (told.filter((one) => one.begun?.startsWith('slow')).length === 2) begun.resolve()
      })
      for (const id of ['one', 'two', 'slow 1', 'slow 2']) await tasks.create(entry(id), ready)
      await begun.promise
      // The other tasks have finished by now, and Redis knows it before the process is killed.
      await eventually(async () => (await redis.zcard(`{${prefix}}:due`)) === 2)
      const runs = new Runs(2)
      const worker = await tasks.work(runs.run, options({ leaseMs: 500 }))
      child.kill('SIGKILL')
      await runs.done
      expect(runs.ids.toSorted()).toEqual(['slow 1', 'slow 2'])
      await worker.stop()
    })

    it('runs and watches tasks that another process made ready', async () => {
      const { tasks } = open()
      const runs = new Runs(1)
      const worker = await tasks.work(runs.run, options())
      const heard = deferred<string>()
      await tasks.watch((id) => heard.resolve(id))
      const child = await start()
      child.send({ create: 'theirs' })
      expect(await heard.promise).toBe('theirs')
      await runs.done
      expect(runs.ids).toEqual(['theirs'])
      await worker.stop()
    })
  })
})

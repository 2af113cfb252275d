import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { Queue } from 'bullmq'
import { Cluster, Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { McpError } from '../../src/errors.ts'
import { type RunTask, UnknownEventError } from '../../src/store/ports.ts'
import { load } from '../../src/store/redis/connections.ts'
import { type RedisStore, type RedisStoreOptions, redisStore } from '../../src/store/redis/store.ts'
import { deferred } from '../../src/util/deferred.ts'
import { eventually } from '../kit/eventually.ts'
import { hasRedis, RedisServer, type RedisServerOptions } from '../kit/redis-server.ts'
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
  const other = async (options?: RedisServerOptions): Promise<RedisServer> => {
    const own = await RedisServer.start(options)
    onTestFinished(() => own.close())
    return own
  }

  describe('when something is lost', () => {
    it('runs a task whose job was never added because its creator crashed', async () => {
      const { tasks } = open()
      await tasks.create(entry('one'), ready)
      await tasks.create(entry('a:b%c'), ready)
      await tasks.create(entry('12'), ready)
      await untilExists(redis, ...['t-one', 't-a%3Ab%25c', 't-12'].map((job) => `{${prefix}}:tasks:${job}`))
      await redis.del(...(await redis.keys(`{${prefix}}:tasks:*`)))
      const runs = new Runs(3)
      const worker = await tasks.work(runs.run, options())
      await runs.done
      expect(runs.ids.toSorted()).toEqual(['12', 'a:b%c', 'one'])
      await worker.stop()
    })

    it('does not run a task because of a late job', async () => {
      const { tasks } = open()
      const runs = new Runs(2)
      const worker = await tasks.work(runs.run, options({ concurrency: 1 }))
      await tasks.create(entry('one'), ready)
      await eventually(async () => runs.ids.length === 1 && (await redis.zcard(`{${prefix}}:due`)) === 0)
      const queue = new Queue('tasks', { connection: redis, prefix: `{${prefix}}` })
      for (const id of ['one', 'nothing']) await queue.add('run', { id }, { jobId: `t-${id}` })
      await tasks.create(entry('two'), ready)
      await runs.done
      expect(runs.ids).toEqual(['one', 'two'])
      await worker.stop()
      await queue.close()
    })

    it('runs a task that waits after a failure immediately when it becomes ready again', async () => {
      const { tasks } = open()
      const last = deferred<void>()
      const run: RunTask = async (id) => {
        if ((await tasks.get(id))?.version !== 2) throw new Error('no luck')
        last.resolve()
      }
      await tasks.create(entry('one'), ready)
      const first = await tasks.work(run, options())
      await eventually(async () => (await redis.zcard(`{${prefix}}:tasks:delayed`)) === 1)
      await first.stop()
      // Longer than the test would wait. BullMQ keeps a counter in the lower twelve bits.
      await redis.zadd(`{${prefix}}:tasks:delayed`, (Date.now() + 3_600_000) * 4096, 't-one')
      const second = await tasks.work(run, options())
      await tasks.replace(entry('one', { version: 2 }), ready)
      await last.promise
      await second.stop()
    })

    it('aborts the signal of a run whose lease is lost, and runs the task again', async () => {
      const { tasks } = open()
      const aborted = deferred<unknown>()
      const twice = deferred<void>()
      let runs = 0
      const worker = await tasks.work(
        async (_id, signal) => {
          if (++runs === 2) return twice.resolve()
          signal.addEventListener('abort', () => aborted.resolve(signal.reason))
          await redis.del(`{${prefix}}:tasks:t-one:lock`)
          await aborted.promise
          throw new Error('given up')
        },
        options({ leaseMs: 500 }),
      )
      await tasks.create(entry('one'), ready)
      expect(await aborted.promise).toBeInstanceOf(McpError)
      await twice.promise
      await worker.stop()
    })

    it('applies a change once and reports success when its response was lost with the connection', async () => {
      const proxy = await startProxy(server.port)
      const { tasks } = open({ url: proxy.url })
      await tasks.create(entry('one'), { notes: ['1'] })
      proxy.loseNextAnswer()
      expect(await tasks.replace(entry('one', { version: 2 }), { notes: ['2'] })).toBe(true)
      proxy.loseNextAnswer()
      await tasks.create(entry('two'), { notes: ['1'] })
      expect(proxy.lost).toBe(2)
      expect(await tasks.notes('one')).toEqual(['1', '2'])
      expect(await tasks.notes('two')).toEqual(['1'])
      expect(await tasks.replace(entry('one', { version: 2 }), { notes: ['3'] })).toBe(false)
    })
  })

  describe('when Redis restarts', () => {
    it('keeps all tasks and continues to run them', { timeout: 60_000 }, async () => {
      const own = await other({ appendfsync: 'always' })
      const errors: unknown[] = []
      const { tasks, bus } = open({ url: own.url, onError: (error) => void errors.push(error) })
      const ids = Array.from({ length: 300 }, (_, index) => `t${index}`)
      const half = deferred<void>()
      const ran = new Set<string>()
      const all = deferred<void>()
      const run: RunTask = async (id) => {
        await new Promise((resolve) => setTimeout(resolve, 5))
        // A run has ended when its result is stored.
        if (!(await tasks.replace(entry(id, { version: 2, isOpen: false })))) return
        ran.add(id)
        if (ran.size === 100) half.resolve()
        if (ran.size === ids.length) all.resolve()
      }
      const heard = deferred<string>()
      await bus.subscribe('topic', heard.resolve)
      for (const id of ids) await tasks.create(entry(id), ready)
      const worker = await tasks.work(run, options({ concurrency: 10, leaseMs: 1000 }))
      await half.promise
      await own.kill()
      const late = tasks.create(entry('late'), ready)
      await own.start()
      await late
      ids.push('late')
      await eventually(async () => (await tasks.countOpen('somebody')) === 0)
      await bus.publish('topic', 'again')
      expect(await heard.promise).toBe('again')
      expect((await tasks.list('somebody', { limit: 1000 })).map(({ id }) => id).toSorted()).toEqual(ids.toSorted())
      expect(errors.length).toBeGreaterThan(0)
      await worker.stop()
    })

    it('stops and closes while Redis is unavailable', { timeout: 60_000 }, async () => {
      const own = await other()
      const store = open({ url: own.url })
      const begun = deferred<void>()
      const gate = deferred<void>()
      const run = () => {
        begun.resolve()
        return gate.promise
      }
      const worker = await store.tasks.work(run, options({ leaseMs: 500 }))
      await store.tasks.watch(() => {})
      await store.tasks.create(entry('one'), ready)
      await begun.promise
      await own.kill()
      const stopped = worker.stop()
      gate.resolve()
      await stopped
      await store.close()
    })

    it('stops and closes when Redis was never available', { timeout: 60_000 }, async () => {
      const own = await other()
      await own.kill()
      const store = open({ url: own.url })
      const worker = await store.tasks.work(async () => {}, options())
      const created = store.tasks.create(entry('one'), ready)
      await worker.stop()
      await Promise.all([expect(created).rejects.toThrow(), store.close()])
    })

    it('aborts running tasks when Redis is away longer than the lease, because others may run them', async () => {
      const own = await other()
      const { tasks } = open({ url: own.url })
      const aborted = deferred<void>()
      const begun = deferred<void>()
      await tasks.work(
        (_id, signal) => {
          begun.resolve()
          signal.addEventListener('abort', () => aborted.resolve())
          return aborted.promise
        },
        options({ leaseMs: 300 }),
      )
      await tasks.create(entry('one'), ready)
      await begun.promise
      await own.kill()
      await aborted.promise
    })

    it('starts working when Redis starts after the worker', { timeout: 60_000 }, async () => {
      const own = await other()
      await own.kill()
      const { tasks } = open({ url: own.url })
      const runs = new Runs(1)
      const worker = await tasks.work(runs.run, options())
      const created = tasks.create(entry('one'), ready)
      await own.start()
      await created
      await runs.done
      await worker.stop()
    })
  })

  it('leaves nothing behind of expired tasks', async () => {
    const { tasks } = open()
    const expiresAt = Date.now() + 500
    for (const id of ['one', 'two', 'three'])
      await tasks.create(entry(id, { expiresAt }), { notes: ['1'], isReady: true })
    await tasks.create(entry('other', { owner: 'somebody: 7:x', expiresAt }))
    await new Promise((resolve) => setTimeout(resolve, 600))
    const worker = await tasks.work(async () => {}, options())
    const isLeft = (key: string) => !key.startsWith(`{${prefix}}:tasks:`) || key.startsWith(`{${prefix}}:tasks:t-`)
    await eventually(async () => !(await redis.keys(`{${prefix}}:*`)).some(isLeft))
    await worker.stop()
  })

  it('requires a prefix, which separates the servers on one Redis', () => {
    for (const options of [{}, { prefix: '' }, { prefix: 'a{b}' }, { prefix: 5 }, undefined]) {
      expect(() => redisStore(options as never)).toThrow(/redisStore\(\{ prefix \}\) must be text without braces/)
    }
  })

  it('is isolated from a server with another prefix on the same Redis', async () => {
    const one = open()
    const other = open()
    await one.sessions.set({ id: 'same', state: 'of one', createdAt: 1 }, 60_000)
    await one.values.set('same', 'of one', 60_000)
    const event = await one.events.storeEvent('same', '"of one"')
    await one.tasks.create(entry('same'), { isReady: true })
    const heard: string[] = []
    const runs: string[] = []
    await other.bus.subscribe('same', (message) => heard.push(message))
    await other.tasks.watch((id) => heard.push(id))
    const run = async (id: string) => void runs.push(id)
    const worker = await other.tasks.work(run, { concurrency: 2, leaseMs: 10_000, onError: () => {} })
    expect(await other.sessions.get('same')).toBe(undefined)
    expect(await other.values.get('same')).toBe(undefined)
    await expect(async () => other.events.replayEventsAfter(event, { send: () => {} })).rejects.toThrow(
      UnknownEventError,
    )
    expect(await other.tasks.get('same')).toBe(undefined)
    expect([await other.tasks.countOpen(), await other.tasks.list('somebody', { limit: 10 })]).toEqual([0, []])
    await one.bus.publish('same', 'of one')
    await one.tasks.replace(entry('same', { version: 2 }), { isReady: true })
    // Messages sent later on the same connections have arrived, so earlier ones would have arrived too.
    await other.bus.publish('same', 'of other')
    await other.tasks.create(entry('own'), { isReady: true })
    await eventually(async () => heard.length >= 2 && runs.length > 0)
    expect(heard.toSorted()).toEqual(['of other', 'own'])
    expect(runs).toEqual(['own'])
    await worker.stop()
  })

  it('keeps no more expired tasks than live ones, even without a worker', async () => {
    const { tasks } = open()
    const expiresAt = Date.now() + 300
    for (let index = 0; index < 50; index++) await tasks.create(entry(`old ${index}`, { expiresAt }))
    await new Promise((resolve) => setTimeout(resolve, 400))
    for (let index = 0; index < 10; index++) await tasks.create(entry(`new ${index}`))
    expect(await redis.zcard(`{${prefix}}:list:somebody`)).toBe(10)
    expect(await redis.hlen(`{${prefix}}:kept`)).toBe(10)
    expect(await redis.zcard(`{${prefix}}:expiry`)).toBe(0)
  })

  it('works with a client passed by the user, and leaves it open', async () => {
    const own = new Redis(server.url)
    onTestFinished(() => own.disconnect())
    const store = open({ url: undefined, connection: own })
    const runs = new Runs(1)
    const worker = await store.tasks.work(runs.run, options())
    await store.tasks.create(entry('one'), ready)
    await runs.done
    await worker.stop()
    await store.close()
    expect(await own.ping()).toBe('PONG')
  })

  it('works with connection options', async () => {
    const { sessions } = open({ url: undefined, connection: { host: '127.0.0.1', port: server.port, db: 3 } })
    await sessions.set({ id: 'one', state: 1, createdAt: 2 }, 60_000)
    const third = new Redis(server.url, { db: 3 })
    onTestFinished(() => third.disconnect())
    expect(await third.exists(`{${prefix}}:session:one`)).toBe(1)
  })

  it('works with a Redis cluster', { timeout: 60_000 }, async () => {
    const own = await other({ isCluster: true })
    const node = new Redis(own.url)
    await node.call('CLUSTER', 'ADDSLOTSRANGE', '0', '16383')
    await eventually(async () => `${await node.call('CLUSTER', 'INFO')}`.includes('cluster_state:ok'))
    node.disconnect()
    const cluster = new Cluster([{ host: '127.0.0.1', port: own.port }])
    onTestFinished(() => cluster.disconnect())
    const store = open({ url: undefined, connection: cluster })
    const runs = new Runs(20)
    const heard = deferred<string>()
    await store.bus.subscribe('topic', heard.resolve)
    const worker = await store.tasks.work(runs.run, options())
    for (let index = 0; index < 20; index++) await store.tasks.create(entry(`t${index}`), ready)
    await runs.done
    await store.bus.publish('topic', 'hello')
    expect(await heard.promise).toBe('hello')
    expect(await store.tasks.countOpen('somebody')).toBe(20)
    expect(await store.tasks.list('somebody', { limit: 5 })).toHaveLength(5)
    const eventId = await store.events.storeEvent('a/1', '1')
    expect(await store.events.replayEventsAfter(eventId, { send: () => {} })).toBe('a/1')
    await worker.stop()
  })

  it('runs 10,000 tasks', { timeout: 120_000 }, async () => {
    const { tasks } = open()
    const total = 10_000
    const runs = new Runs(total)
    const created = performance.now()
    for (let index = 0; index < total; index += 100) {
      const lot = Array.from({ length: 100 }, (_, more) => entry(`t${index + more}`))
      await Promise.all(lot.map((one) => tasks.create(one, ready)))
    }
    const begun = performance.now()
    const worker = await tasks.work(runs.run, options({ concurrency: 50 }))
    await runs.done
    const ended = performance.now()
    await worker.stop()
    expect(new Set(runs.ids).size).toBe(total)
    expect(await redis.zcard(`{${prefix}}:due`)).toBe(0)
    const perSecond = (ms: number) => Math.round((total / ms) * 1000)
    console.log(`Redis: ${perSecond(begun - created)} created, ${perSecond(ended - begun)} run a second`)
  })

  it('names the missing package and the command to install it', async () => {
    const missing: string = 'a-package-that-is-not-there'
    await expect(load(() => import(missing), 'bullmq')).rejects.toThrow('npm install ioredis bullmq')
  })

  it('rejects prefixes with braces, which would spread its keys over a cluster', () => {
    for (const wrong of ['', 'a{b}', '}']) expect(() => redisStore({ prefix: wrong })).toThrow('without braces')
  })
})

/** Forwards everything to Redis, except for responses that are to be lost together with the connection. */
async function startProxy(port: number): Promise<{ url: string; lost: number; loseNextAnswer(): void }> {
  let isLosing = false
  const sockets = new Set<Socket>()
  const loseNextAnswer = () => {
    isLosing = true
  }
  const proxy = { url: '', lost: 0, loseNextAnswer }
  const listener = createServer((near) => {
    const far = connect(port, '127.0.0.1')
    near.on('data', (data) => void far.write(data))
    far.on('data', (data) => {
      if (!isLosing) return void near.write(data)
      isLosing = false
      proxy.lost++
      near.destroy()
    })
    for (const [one, another] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(one)
      one.on('error', () => {}).on('close', () => another.destroy())
    }
  }).listen(0, '127.0.0.1')
  await once(listener, 'listening')
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    listener.close()
  })
  proxy.url = `redis://127.0.0.1:${(listener.address() as { port: number }).port}`
  return proxy
}

async function untilExists(redis: Redis, ...keys: string[]): Promise<void> {
  await eventually(async () => (await redis.exists(...keys)) === keys.length)
}

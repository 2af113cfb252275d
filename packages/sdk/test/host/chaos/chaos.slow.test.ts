import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { isAlive } from '../../kit/child-process.ts'
import { eventually } from '../../kit/eventually.ts'
import { hasRedis, RedisServer } from '../../kit/redis-server.ts'
import {
  Caller,
  connectCallers,
  descendants,
  end,
  heapOf,
  memoryOf,
  mixedRevisions,
  Runs,
  start,
  startServers,
} from './chaos-support.ts'

const callerCount = 50
const soakSeconds = Number(process.env.TENON_SOAK_SECONDS ?? 60)
const warmUpCalls = 8_000

/** The middle of some samples: the median of the heap, and of the calls so far. */
function median(samples: readonly { calls: number; heap: number }[]) {
  const middle = Math.floor(samples.length / 2)
  const of = (values: number[]) => values.toSorted((a, b) => a - b)[middle]!
  return { calls: of(samples.map(({ calls }) => calls)), heap: of(samples.map(({ heap }) => heap)) }
}

async function startGateway(options: object = {}) {
  const runs = new Runs()
  const servers = await startServers(runs)
  const gateway = await start('gateway.fixture.js', JSON.stringify({ servers, ...options }))
  return { runs, servers, gateway }
}

function outcomes(results: readonly PromiseSettledResult<string>[]) {
  const failed = results.filter((result) => result.status === 'rejected')
  return { failed: failed.map(({ reason }) => String(reason)), done: results.length - failed.length }
}

/** Fifty callers of five revisions, anonymous, in front of three servers. */
describe('a gateway with fifty callers of mixed revisions', { timeout: 180_000 }, () => {
  it('gives no caller a question or log message of another, also if it comes late [HOST-007]', async () => {
    const { runs, gateway } = await startGateway()
    const callers = await connectCallers(gateway.url, callerCount)
    for (let round = 0; round < 4; round++) {
      const results = await Promise.allSettled(
        callers.map(async (caller, number) => {
          const { name } = caller
          // Elicitation exists from 2025-06-18 on.
          const tools = caller.canBeAsked
            ? ['desk_late', 'desk_log', 'desk_ask', 'shop_ask']
            : ['desk_late', 'desk_log']
          // Callers are at different tools at a time, so that a late message finds the call of someone else.
          for (let step = 0; step < tools.length; step++) {
            const tool = tools[(number + step) % tools.length]!
            const text = await caller.call(tool, { id: `${name}-${round}-${tool}`, who: name })
            if (tool.endsWith('ask')) expect(text).toBe(`${name}: accept`)
          }
          return name
        }),
      )
      expect(outcomes(results)).toEqual({ failed: [], done: callerCount })
    }
    const foreign = callers.flatMap((caller) => caller.foreign.map((message) => `${caller.name} got "${message}"`))
    expect(foreign).toEqual([])
    expect(runs.repeated()).toEqual([])
    const asked = callers
      .filter(({ canBeAsked }) => canBeAsked)
      .map(({ questions }) => questions.filter((message) => !message.includes('Late')).length)
    expect(new Set(asked)).toEqual(new Set([8]))
  })

  it('restarts a shared server that was killed once, and runs no call twice [HOST-007]', async () => {
    const { runs, gateway } = await startGateway()
    const callers = await connectCallers(gateway.url, callerCount)
    await Promise.all(callers.map((caller) => caller.call('feed_work', { id: `${caller.name}-first`, ms: 0 })))
    const before = descendants(gateway.child.pid!).length
    for (let kill = 0; kill < 3; kill++) {
      const pid = Number(await callers[0]!.call('feed_pid'))
      const results = callers.map((caller) => caller.call('feed_work', { id: `${caller.name}-${kill}`, ms: 300 }))
      const settled = Promise.allSettled(results)
      await sleep(100)
      process.kill(pid, 'SIGKILL')
      await settled
      const again = await Promise.allSettled(
        callers.map((caller) => caller.call('feed_work', { id: `${caller.name}-${kill}-again`, ms: 0 })),
      )
      expect(outcomes(again)).toEqual({ failed: [], done: callerCount })
      const pids = await Promise.all(callers.map((caller) => caller.call('feed_pid')))
      expect(new Set(pids).size).toBe(1)
      await eventually(() => descendants(gateway.child.pid!).length <= before)
    }
    expect(runs.repeated()).toEqual([])
  })

  it('ends only the call of the caller whose own server process was killed', async () => {
    const { runs, gateway } = await startGateway()
    const callers = (await connectCallers(gateway.url, callerCount)).filter((_, number) => number % 5 !== 4)
    const pid = Number(await callers[0]!.call('desk_pid'))
    const settled = Promise.allSettled(
      callers.map((caller) => caller.call('desk_work', { id: `${caller.name}-work`, ms: 1_500 })),
    )
    await sleep(200)
    process.kill(pid, 'SIGKILL')
    const [first, ...others] = await settled
    expect(first!.status).toBe('rejected')
    expect(outcomes(others).failed).toEqual([])
    expect(await callers[0]!.call('desk_work', { id: 'after', ms: 0 })).toBe('done after')
    expect(runs.repeated()).toEqual([])
  })

  it('serves lists and other servers while one server is stopped', async () => {
    const { gateway } = await startGateway()
    const callers = await connectCallers(gateway.url, callerCount)
    const pid = Number(await callers[0]!.call('feed_pid'))
    process.kill(pid, 'SIGSTOP')
    onTestFinished(() => void (isAlive(pid) && process.kill(pid, 'SIGKILL')))
    let isAnswered = false
    const hanging = callers[0]!.call('feed_work', { id: 'hanging', ms: 0 }).finally(() => {
      isAnswered = true
    })
    const results = await Promise.allSettled(
      callers.map(async (caller) => {
        const { tools } = await caller.client.listTools()
        expect(tools.map(({ name }) => name)).toContain('feed_work')
        return caller.call('shop_work', { id: `${caller.name}-shop`, ms: 0 })
      }),
    )
    expect(outcomes(results)).toEqual({ failed: [], done: callerCount })
    const late = await Caller.connect(gateway.url, 99, '2025-11-25')
    expect((await late.client.listTools()).tools.length).toBeGreaterThan(0)
    expect(isAnswered).toBe(false)
    process.kill(pid, 'SIGCONT')
    expect(await hanging).toBe('done hanging')
  })

  it('bounds a flood of resource updates, keeps other servers fast and leaves nobody deaf', async () => {
    const { gateway } = await startGateway()
    const callers = await connectCallers(gateway.url, callerCount)
    const outsider = await Caller.connect(gateway.url, 99, '2026-07-28')
    await Promise.all(callers.map((caller, number) => caller.client.subscribeResource(`feed:doc-${number % 10}`)))
    const timed = async (id: string) => {
      const begun = performance.now()
      await outsider.call('shop_work', { id, ms: 0 })
      return performance.now() - begun
    }
    const usual: number[] = []
    for (let i = 0; i < 50; i++) usual.push(await timed(`usual-${i}`))
    const calm = memoryOf(gateway.child.pid!)
    let isFlooding = true
    const flood = callers[0]!.call('feed_flood', { count: 20_000, uris: 10 }).finally(() => {
      isFlooding = false
    })
    const during: number[] = []
    while (isFlooding) during.push(await timed(`during-${during.length}`))
    await flood
    for (let i = 0; i < 20; i++) during.push(await timed(`after-${i}`))
    const { peakMb } = memoryOf(gateway.child.pid!)
    const slowest = Math.max(...during)
    const median = usual.toSorted((a, b) => a - b)[25]!
    console.log(
      `flood: ${during.length} calls of another server, slowest ${slowest.toFixed()} ms, usual median ${median.toFixed(1)} ms; ` +
        `memory ${calm.nowMb} MB, peak ${peakMb} MB; updates per caller ${Math.max(...callers.map(({ updates }) => updates.length))}`,
    )
    expect(peakMb - calm.peakMb).toBeLessThan(150)
    // Nobody misses the last update of a resource: one more of each is heard by all.
    for (const caller of callers) caller.updates.length = 0
    for (let i = 0; i < 10; i++) await outsider.call('feed_update', { uri: `feed:doc-${i}` })
    await eventually(() => callers.every(({ updates }) => updates.length > 0))
    const foreign = callers.filter(({ updates }, number) => updates.some((uri) => uri !== `feed:doc-${number % 10}`))
    expect(foreign.map(({ name }) => name)).toEqual([])
  })

  it('confirms a subscription when the server has it: no update after it is missed, on any revision', async () => {
    const { gateway } = await startGateway()
    for (const [number, revision] of mixedRevisions.entries()) {
      const caller = await Caller.connect(gateway.url, number, revision)
      const uri = `feed:doc-${number}`
      for (const server of ['feed']) {
        await caller.client.subscribeResource(uri)
        await caller.call(`${server}_update`, { uri })
        await eventually(() => caller.updates.length === 1, 10_000).catch(() => {})
        expect(`${revision} ${server}: ${caller.updates}`).toBe(`${revision} ${server}: ${uri}`)
      }
    }
  })
})

describe('a gateway that ends', { timeout: 180_000 }, () => {
  it('answers every call that is open on SIGTERM, exits with 0 and leaves no process', async () => {
    const { runs, gateway } = await startGateway()
    const callers = await connectCallers(gateway.url, callerCount)
    await Promise.all(callers.map((caller) => caller.call('desk_work', { id: `${caller.name}-warm`, ms: 0 })))
    const settled = Promise.allSettled(
      callers.flatMap((caller) =>
        ['desk', 'feed', 'shop'].map((server) =>
          caller.call(`${server}_work`, { id: `${caller.name}-${server}`, ms: 2_000 }),
        ),
      ),
    )
    await sleep(1_000)
    const processes = descendants(gateway.child.pid!)
    expect(processes.length).toBeGreaterThan(callerCount / 2)
    const code = await end(gateway.child, 'SIGTERM')
    expect(outcomes(await settled)).toEqual({ failed: [], done: 3 * callerCount })
    expect(code).toBe(0)
    expect(runs.repeated()).toEqual([])
    await eventually(() => processes.every((pid) => !isAlive(pid)))
  })

  it('leaves no process behind when it is killed, and no call runs twice', async () => {
    const { runs, gateway } = await startGateway()
    const callers = await connectCallers(gateway.url, callerCount)
    const settled = Promise.allSettled(
      callers.map((caller) => caller.call('desk_work', { id: `${caller.name}-work`, ms: 1_000 })),
    )
    await eventually(() => descendants(gateway.child.pid!).length > 10)
    const processes = descendants(gateway.child.pid!)
    await end(gateway.child, 'SIGKILL')
    await eventually(() => processes.every((pid) => !isAlive(pid)))
    await Promise.all(callers.map(({ client }) => client.close().catch(() => {})))
    await settled
    expect(runs.repeated()).toEqual([])
  })
})

interface Proxy {
  readonly url: string
  close(): void
}

/** The load balancer of the cluster test. */
async function openProxy(nodes: readonly { port: number }[]): Promise<Proxy> {
  const module = new URL('../../../../../test/interop/cluster/proxy.js', import.meta.url)
  const { openHttpProxy } = (await import(module.href)) as {
    openHttpProxy(nodes: unknown, options: object): Promise<Proxy>
  }
  // With one of two nodes restarting, the other may be too busy to count as ready.
  return openHttpProxy(nodes, { tries: 400 })
}

describe.skipIf(!hasRedis)('two nodes of a gateway that share Redis', { timeout: 240_000 }, () => {
  it('restart in turn without a lost, repeated or foreign call, and nobody is deaf afterwards', async () => {
    const redis = await RedisServer.start()
    onTestFinished(() => redis.close())
    const runs = new Runs()
    const servers = await startServers(runs)
    const options = { servers, redis: redis.url, stateKey: 'a key that both nodes of this test share, and nobody else' }
    const startNode = (port = 0) => start('gateway.fixture.js', JSON.stringify({ ...options, port }))
    const nodes = [await startNode(), await startNode()]
    const proxy = await openProxy(nodes)
    onTestFinished(() => proxy.close())
    const callers = await connectCallers(proxy.url, callerCount)
    await Promise.all(callers.map((caller, number) => caller.client.subscribeResource(`feed:doc-${number % 10}`)))
    let isRunning = true
    let calls = 0
    const failed: string[] = []
    const load = callers.map(async (caller, number) => {
      const tools = ['shop_work', caller.canBeAsked ? 'shop_ask' : 'shop_work', 'feed_work', 'desk_work']
      while (isRunning) {
        const tool = tools[(number + calls) % tools.length]!
        const id = `${caller.name}-${calls++}`
        await caller.call(tool, { id, ms: 5, who: caller.name }).catch((error) => failed.push(`${tool}: ${error}`))
      }
    })
    await sleep(1_000)
    for (const [index, node] of [...nodes].entries()) {
      const ended = await end(node.child, 'SIGTERM')
      expect(ended).toBe(0)
      nodes[index] = await startNode(node.port)
      await sleep(1_000)
    }
    isRunning = false
    await Promise.all(load)
    console.log(`two nodes: ${calls} calls, ${failed.length} failed, ${runs.repeated().length} ran twice`)
    expect(failed).toEqual([])
    expect(runs.repeated()).toEqual([])
    expect(callers.flatMap((caller) => caller.foreign)).toEqual([])
    for (const caller of callers) caller.updates.length = 0
    const deaf = () => callers.filter(({ updates }) => updates.length === 0)
    await eventually(async () => {
      // Each node has a `feed` process of its own, and requests alternate: an odd number of them reaches the other node next time.
      for (let i = 0; i < 11; i++) await callers[0]!.call('feed_update', { uri: `feed:doc-${i}` })
      return deaf().length === 0
    }, 30_000).catch(() => {})
    expect(deaf().map(({ name, client }) => `${name} (${client.revision})`)).toEqual([])
  })
})

describe('a gateway under load for a long time', { timeout: (soakSeconds + 480) * 1_000 }, () => {
  it(`keeps its memory flat (${soakSeconds} s, TENON_SOAK_SECONDS)`, async () => {
    const { runs, gateway } = await startGateway()
    let deadline = Number.POSITIVE_INFINITY
    const samples: { calls: number; heap: number; rssMb: number }[] = []
    let calls = 0
    let failed = 0
    const use = async (number: number) => {
      while (performance.now() < deadline) {
        const caller = await Caller.connect(gateway.url, number, mixedRevisions[number % mixedRevisions.length]!)
        await caller.client.subscribeResource(`feed:doc-${number % 10}`)
        for (let i = 0; i < 20 && performance.now() < deadline; i++) {
          const tool = ['shop_work', 'feed_work', 'feed_update', caller.canBeAsked ? 'shop_ask' : 'shop_work'][i % 4]!
          const args = { id: `${number}-${calls++}`, ms: 5, who: caller.name, uri: `feed:doc-${i % 10}` }
          await caller.call(tool, args).catch(() => failed++)
        }
        await caller.client.close()
      }
    }
    const load = Promise.all(Array.from({ length: 20 }, (_, number) => use(number)))
    // The heap grows to its usual size first. How long that takes depends on the machine, so it is counted in calls.
    await eventually(() => calls >= warmUpCalls, 400_000)
    deadline = performance.now() + soakSeconds * 1_000
    while (performance.now() < deadline) {
      await sleep(Math.max(500, (soakSeconds * 1_000) / 60))
      samples.push({ calls, heap: await heapOf(gateway), rssMb: memoryOf(gateway.child.pid!).nowMb })
    }
    await load
    const half = Math.floor(samples.length / 2)
    const [early, late] = [median(samples.slice(0, half)), median(samples.slice(half))]
    const [growth, between] = [late.heap - early.heap, late.calls - early.calls]
    const mb = samples.map(({ heap }) => (heap / 2 ** 20).toFixed(1))
    console.log(`soak: ${calls} calls, ${failed} failed, heap after collection ${mb.join(' ')} MB`)
    console.log(
      `soak: ${growth} bytes more after ${between} calls, resident ${samples.map(({ rssMb }) => rssMb).join(' ')} MB`,
    )
    expect(failed).toBe(0)
    expect(runs.repeated()).toEqual([])
    // States that were used are remembered until they expire, at most 100,000 of them: a few bytes per call. A reference that
    // each call leaves behind is 100 bytes and more. Callers come and go meanwhile, hence 2 MiB.
    expect(growth).toBeLessThan(2 * 2 ** 20 + 60 * between)
  })
})

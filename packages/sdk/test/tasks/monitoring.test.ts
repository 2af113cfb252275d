import { ProtocolError } from 'tenon'
import { McpServer } from 'tenon/server'
import { MemoryTaskStore, type TaskRefusalEvent, tasks } from 'tenon/tasks'
import { describe, expect, it, vi } from 'vitest'
import { TaskRefusals } from '../../src/tasks/refusals.ts'
import { gate } from '../kit/gate.ts'
import { always, eventLog, everyDialect, everyTask, modern, type World } from './support.ts'

const unknown = 'no-such-task-in-this-store'

function refusals(events: readonly { type: string }[]): TaskRefusalEvent[] {
  return events.filter(({ type }) => type === 'lookup-failed' || type === 'rate-limited') as TaskRefusalEvent[]
}

async function open(world: World, options: Parameters<World['serve']>[1] = {}) {
  const log = eventLog()
  const runtimeOptions = { ...options, onEvent: log.onEvent }
  const server = await world.serve((made) => {
    made.registerTool('quick', always, () => 'done')
    made.registerTool('ask', always, async (_args, ctx) => (await ctx.elicit('Go on?')).action)
  }, runtimeOptions)
  return { server, ...log }
}

describe('failed look-ups of tasks', () => {
  everyTask(
    'are reported with the caller, the reason and the beginning of the id [TASK-060]',
    async (world) => {
      const { server, events } = await open(world)
      const ann = await world.peer(server, { user: 'ann' })
      const bob = await world.peer(server, { user: 'bob' })
      const id = await ann.start('ask')
      for (const method of ['tasks/get', 'tasks/cancel']) await bob.request(method, { taskId: id })
      await bob.request('tasks/get', { taskId: unknown })
      const shared = { type: 'lookup-failed', principal: 'bob', address: expect.stringMatching(/127\.0\.0\.1$/) }
      const foreign = { ...shared, reason: 'foreign', taskIdPrefix: id.slice(0, 6) }
      expect(refusals(events)).toEqual([
        { ...foreign, method: 'tasks/get', recent: 1 },
        { ...foreign, method: 'tasks/cancel', recent: 2 },
        { ...shared, reason: 'unknown', taskIdPrefix: 'no-suc', method: 'tasks/get', recent: 3 },
      ])
      expect(JSON.stringify(refusals(events))).not.toContain(id)
      await ann.cancel(id)
    },
    { channels: ['http'], stores: ['memory'] },
  )

  everyDialect('of an unauthenticated caller have no principal [TASK-060]', async (world) => {
    const { server, events } = await open(world)
    const peer = await world.peer(server)
    await peer.request('tasks/get', { taskId: unknown })
    expect(refusals(events)).toMatchObject([{ principal: undefined, address: undefined, reason: 'unknown', recent: 1 }])
  })

  it('are counted per caller and minute [TASK-060]', async () => {
    vi.useFakeTimers({ toFake: ['performance', 'Date'] })
    try {
      const seen: TaskRefusalEvent[] = []
      const refused = new TaskRefusals((event) => seen.push(event))
      const call = (peer: string) =>
        ({ request: { method: 'tasks/get' }, link: { transport: {} }, stream: { request: { peer } } }) as never
      refused.lookupFailed(call('192.0.2.1'), unknown, 'unknown')
      refused.lookupFailed(call('192.0.2.1'), unknown, 'unknown')
      refused.lookupFailed(call('192.0.2.2'), unknown, 'unknown')
      vi.advanceTimersByTime(60_000)
      refused.lookupFailed(call('192.0.2.1'), unknown, 'unknown')
      expect(seen.map(({ recent }) => recent)).toEqual([1, 2, 1, 1])
      seen.length = 0
      for (let count = 0; count < 500; count++) refused.rateLimited(call('192.0.2.1'))
      vi.advanceTimersByTime(1_000)
      refused.rateLimited(call('192.0.2.1'))
      expect(seen.map(({ recent }) => recent)).toEqual([1, 501])
      expect(refused.counts).toEqual({ 'lookup-failed': 4, 'rate-limited': 501 })
    } finally {
      vi.useRealTimers()
    }
  })
})

describe('polling above the rate limit', () => {
  everyDialect(
    'is reported once a second with the number of refused requests [TASK-060]',
    async (world) => {
      const { server, events } = await open(world, {
        server: { limits: { taskRequests: { perSecond: 0.001, burst: 3 } } },
      })
      const peer = await world.peer(server, { user: 'ann' })
      const taskId = await peer.start('ask')
      const poll = () => peer.request('tasks/get', { taskId })
      const answers = [await poll(), await poll(), await poll(), await poll()]
      expect(answers.map(({ error }) => error !== undefined)).toEqual([false, false, false, true])
      expect(refusals(events)).toEqual([
        {
          type: 'rate-limited',
          method: 'tasks/get',
          taskIdPrefix: taskId.slice(0, 6),
          principal: 'ann',
          address: expect.stringMatching(/127\.0\.0\.1$/),
          recent: 1,
        },
      ])
      expect(world.errors.splice(0)).toMatchObject([{ message: expect.stringContaining('limits.taskRequests') }])
    },
    { channels: ['http'] },
  )
})

describe('metrics()', () => {
  everyTask(
    'counts the tasks in the store, and what this process did with them [TASK-059]',
    async (world) => {
      const runtime = tasks({ store: await world.openStore(), concurrency: 1, pollIntervalMs: 20, drainMs: 100 })
      const server = new McpServer({ name: 'lab', version: '1.0.0' }, { tasks: runtime })
      const done = gate()
      server.registerTool('quick', always, () => 'done')
      server.registerTool('slow', always, () => done.opened.then(() => 'done'))
      server.registerTool('broken', always, () => {
        throw new ProtocolError(-32050, 'Not on Sundays')
      })
      expect(await runtime.metrics()).toEqual({
        ...{ open: 0, finished: 0, bytes: 0, queued: 0, oldestOpenMs: undefined, running: 0 },
        ...{ created: 0, completed: 0, failed: 0, cancelled: 0, lookupsFailed: 0, rateLimited: 0 },
      })
      const peer = await world.peer(server)
      await peer.result(await peer.start('quick'))
      await peer.result(await peer.start('broken'))
      const slow = await peer.start('slow')
      await vi.waitFor(async () => expect((await runtime.metrics()).running).toBe(1), 10_000)
      const waiting = await peer.start('quick')
      await peer.request('tasks/get', { taskId: unknown })
      const { bytes, oldestOpenMs, ...rest } = await runtime.metrics()
      expect(rest).toEqual({
        ...{ open: 2, finished: 2, queued: 1, running: 1 },
        ...{ created: 4, completed: 1, failed: 1, cancelled: 0, lookupsFailed: 1, rateLimited: 0 },
      })
      expect(bytes).toBeGreaterThan(0)
      expect(oldestOpenMs).toBeGreaterThanOrEqual(0)
      await peer.cancel(waiting)
      done.open()
      await peer.result(slow)
      expect(await runtime.metrics()).toMatchObject({ open: 0, finished: 4, cancelled: 1, oldestOpenMs: undefined })
      await server.close()
    },
    { revisions: [modern] },
  )

  it('leaves out what a store of your own cannot tell [TASK-059]', async () => {
    const inner = new MemoryTaskStore()
    const store = Object.assign(Object.create(inner), { usage: undefined, work: () => {}, countOpen: async () => 7 })
    const { open, finished, bytes, queued, oldestOpenMs } = await tasks({ store }).metrics()
    expect({ open, finished, bytes, queued, oldestOpenMs }).toEqual({ open: 7 })
  })
})

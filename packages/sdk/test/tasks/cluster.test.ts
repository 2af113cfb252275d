import type { McpServer } from 'tenon/server'
import type { TaskStore, WorkOptions } from 'tenon/tasks'
import { describe, expect } from 'vitest'
import * as z from 'zod'
import { gate } from '../kit/gate.ts'

import { always, eventLog, everyTask, legacy, modern } from './support.ts'

const form = z.object({ sure: z.boolean() })
const yes = { action: 'accept', content: { sure: true } }

const tools = (server: McpServer) => {
  server.registerTool('ask', always, async (_, ctx) => (await ctx.elicit('Sure?', form)).action)
  server.registerTool('quick', always, () => 'quick')
}

describe('servers that share a store', () => {
  everyTask('run the tasks of each other, and each of them can answer [XTASK-009]', async (world) => {
    const ran: string[] = []
    const define = (name: string) => (server: McpServer) =>
      void server.registerTool('where', always, () => {
        ran.push(name)
        return name
      })
    const door = await world.serve(define('door'), { concurrency: 0 })
    const worker = await world.serve(define('worker'))
    const [atDoor, atWorker] = [await world.peer(door), await world.peer(worker)]
    const id = await atDoor.start('where')
    expect((await atWorker.state(id)).taskId).toBe(id)
    expect(await atDoor.textOf(id)).toBe('worker')
    expect(await atWorker.textOf(id)).toBe('worker')
    expect(ran).toEqual(['worker'])
  })

  everyTask('accept an answer in one process to a question of another', async (world) => {
    const [one, other] = [await world.serve(tools), await world.serve(tools)]
    const [atOne, atOther] = [await world.peer(one), await world.peer(other)]
    const id = await atOne.start('ask')
    await atOne.until(id, 'input_required')
    const [question] = await atOther.questions(id)
    await question!.answer(yes)
    expect(await atOther.textOf(id)).toBe('accept')
    expect(await atOne.textOf(id)).toBe('accept')
  })

  everyTask('abort a task in one process when it is cancelled in another [TASK-043]', async (world) => {
    const began = gate()
    const stopped = gate()
    const define = (server: McpServer) =>
      void server.registerTool('stay', always, async (_, ctx) => {
        ctx.signal.addEventListener('abort', () => stopped.open())
        began.open()
        await stopped.opened
        return 'too late'
      })
    const [door, worker] = [await world.serve(define, { concurrency: 0 }), await world.serve(define)]
    const peer = await world.peer(door)
    await world.peer(worker)
    const id = await peer.start('stay')
    await began.opened
    await peer.cancel(id)
    await stopped.opened
    expect((await peer.state(id)).status).toBe('cancelled')
  })

  everyTask(
    'notify a session in one process about a task in another [TASK-036] [TASK-028]',
    async (world) => {
      const define = (server: McpServer) =>
        void server.registerTool('talk', always, async (_, ctx) => {
          ctx.progress(1, { message: 'half way' })
          return 'told'
        })
      const [door, worker] = [await world.serve(define, { concurrency: 0 }), await world.serve(define)]
      await world.peer(worker)
      const peer = await world.peer(door)
      const id = await peer.start('talk', {}, { meta: { progressToken: 7 } })
      await peer.channel.until((heard) => heard.find(({ params }) => params?.status === 'completed'))
      const progress = await peer.channel.until(() => peer.heard('notifications/progress')[0])
      expect(progress.params).toMatchObject({ progressToken: 7, progress: 1, message: 'half way' })
      expect(await peer.textOf(id)).toBe('told')
    },
    { revisions: [legacy] },
  )

  everyTask(
    'notify a listen stream in one process about a task in another [XTASK-034]',
    async (world) => {
      const [door, worker] = [await world.serve(tools, { concurrency: 0 }), await world.serve(tools)]
      await world.peer(worker)
      const peer = await world.peer(door)
      const id = await peer.start('ask')
      void peer.request('subscriptions/listen', { notifications: { taskIds: [id] } })
      await peer.channel.until((heard) => heard.find(({ params }) => params?.status === 'input_required'))
      const [question] = await peer.questions(id)
      await question!.answer(yes)
      await peer.channel.until((heard) => heard.find(({ params }) => params?.status === 'completed'))
    },
    { revisions: [modern] },
  )
})

describe('a server that closes', () => {
  everyTask('requeues unfinished tasks, and another server continues from the stored steps', async (world) => {
    const done: string[] = []
    const began = gate()
    const define = (name: string, finish: Promise<unknown>) => (server: McpServer) =>
      void server.registerTool('long', always, async (_, ctx) => {
        const first = await ctx.once('first', () => {
          done.push(name)
          return name
        })
        began.open()
        await finish
        return `${first}, ${name}`
      })
    const { events, onEvent } = eventLog()
    const never = new Promise(() => {})
    const one = await world.serve(define('one', never), { drainMs: 0, onEvent })
    const id = await (await world.peer(one)).start('long')
    await began.opened
    await one.close()
    expect(events.at(-1)).toMatchObject({ type: 'requeued', taskId: id })
    const other = await world.serve(define('other', Promise.resolve()))
    expect(await (await world.peer(other)).textOf(id)).toBe('one, other')
    expect(done).toEqual(['one'])
  })

  everyTask('waits for tasks that finish within the drain time', async (world) => {
    const began = gate()
    const finish = gate<string>()
    const define = (server: McpServer) =>
      void server.registerTool('short', always, async () => {
        began.open()
        return finish.opened
      })
    const one = await world.serve(define, { drainMs: 60_000 })
    const id = await (await world.peer(one)).start('short')
    await began.opened
    const closed = one.close()
    finish.open('in time')
    await closed
    const other = await world.serve(define, { concurrency: 0 })
    expect(await (await world.peer(other)).textOf(id)).toBe('in time')
  })

  everyTask(
    'requeues a call that was promoted to a task',
    async (world) => {
      const define = (name: string, finish: Promise<unknown>) => (server: McpServer) =>
        void server.registerTool(
          'slow',
          { execution: { taskSupport: 'optional' }, taskPolicy: { afterMs: 10 } },
          async (_, ctx) => {
            const first = await ctx.once('first', () => name)
            await finish
            return `${first}, ${name}`
          },
        )
      const one = await world.serve(define('one', new Promise(() => {})), { drainMs: 0, leaseMs: 1_000 })
      const id = await (await world.peer(one)).start('slow')
      await one.close()
      const other = await world.serve(define('other', Promise.resolve()), { leaseMs: 1_000 })
      expect(await (await world.peer(other)).textOf(id)).toBe('one, other')
    },
    { revisions: [modern] },
  )
})

describe('a task whose process dies', () => {
  everyTask(
    'fails after maxAttempts attempts, with the reason [TASK-047]',
    async (world) => {
      let begins = 0
      const died = gateEach()
      const { events, onEvent } = eventLog()
      const server = await world.serve(
        (made) => {
          made.registerTool('poison', always, () => {
            begins++
            died.next()
            return new Promise<string>(() => {})
          })
        },
        { store: mortal(await world.openStore(), died), maxAttempts: 3, onEvent },
      )
      const peer = await world.peer(server)
      const id = await peer.start('poison')
      const { error } = await peer.result(id)
      expect(error).toEqual({
        code: -32603,
        message: 'Gave up after 3 attempts: the process ended during each of them',
      })
      expect(begins).toBe(3)
      expect((await peer.state(id)).statusMessage).toBe(error?.message)
      expect(events.flatMap((event) => (event.type === 'started' ? [event.attempt] : []))).toEqual([1, 2, 3])
      world.errors.splice(0)
    },
    { stores: ['memory', 'SQLite'] },
  )

  everyTask(
    'is retried while it makes progress, and an abandoned run cannot write anything more',
    async (world) => {
      const died = gateEach()
      const late = gate()
      const noted: (string | undefined)[] = []
      let begins = 0
      const server = await world.serve(
        (made) => {
          made.registerTool('slow', always, async (_, ctx) => {
            const run = ++begins
            await ctx.once(`step ${run}`, () => run)
            if (run === 5) return 'arrived'
            died.next()
            await late.opened
            noted.push(await ctx.once('late', () => 'late').catch((error: Error) => error.message))
            return `run ${run} came late`
          })
        },
        { store: mortal(await world.openStore(), died), maxAttempts: 2 },
      )
      const peer = await world.peer(server)
      const id = await peer.start('slow')
      expect(await peer.textOf(id)).toBe('arrived')
      late.open()
      while (noted.length < 4) await new Promise((resolve) => setTimeout(resolve, 5))
      for (const message of noted) expect(message).toContain('was cancelled, or another process continues it')
      expect(await peer.textOf(id)).toBe('arrived')
      world.errors.splice(0)
    },
    { stores: ['memory', 'SQLite'] },
  )
})

/** Signals each time a process should die. */
function gateEach() {
  let waiting = gate()
  return {
    next: () => waiting.open(),
    wait: async () => {
      await waiting.opened
      waiting = gate()
    },
  }
}

/** Wraps a store so that its worker drops a task when the process is simulated to die. */
function mortal(store: TaskStore, died: ReturnType<typeof gateEach>): TaskStore {
  const work = (run: Parameters<TaskStore['work']>[0], options: WorkOptions) =>
    store.work(async (id, signal) => {
      const death = died.wait().then(() => Promise.reject(new Error('The process died')))
      await Promise.race([run(id, signal), death])
    }, options)
  return new Proxy(store, {
    get: (target, name) => {
      if (name === 'work') return work
      const value = Reflect.get(target, name) as unknown
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

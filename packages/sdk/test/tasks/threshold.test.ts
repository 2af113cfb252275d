import type { McpServer } from 'tenon/server'
import { describe, expect } from 'vitest'
import * as z from 'zod'
import { gate } from '../kit/gate.ts'
import { movableTimers } from '../kit/time.ts'

import type { Body } from './peer.ts'
import { everyTask, modern, type WorldOptions } from './support.ts'

const optional = { execution: { taskSupport: 'optional' as const } }
/** Longer than any test. */
const patient = { ...optional, taskPolicy: { afterMs: 60_000 } }
const hasty = { ...optional, taskPolicy: { afterMs: 10 } }
const options: WorldOptions = { revisions: [modern] }
const form = z.object({ sure: z.boolean() })
const yes = { action: 'accept', content: { sure: true } }

describe('a call that becomes a task after a threshold', () => {
  everyTask(
    'returns a plain result when it finishes earlier [XTASK-002] [XTASK-007]',
    async (world) => {
      const server = await world.serve((made) => void made.registerTool('quick', patient, () => 'quick'))
      const peer = await world.peer(server)
      expect((await peer.plain('quick')).result).toMatchObject({
        resultType: 'complete',
        content: [{ type: 'text', text: 'quick' }],
      })
    },
    { ...options, channels: ['memory', 'http'] },
  )

  everyTask(
    'continues as a task in the same run of the handler [XTASK-002] [XTASK-009]',
    async (world) => {
      const finish = gate()
      let runs = 0
      const server = await world.serve((made) => {
        made.registerTool('slow', hasty, async (_, ctx) => {
          runs++
          const before = ctx.task
          await finish.opened
          return `${before?.id} ${ctx.task?.id}`
        })
      })
      const peer = await world.peer(server)
      const { result } = await peer.plain('slow')
      expect(result).toMatchObject({ resultType: 'task', status: 'working' })
      const id = result!.taskId as string
      expect((await peer.state(id)).status).toBe('working')
      finish.open()
      expect(await peer.textOf(id)).toBe(`undefined ${id}`)
      expect(runs).toBe(1)
    },
    { ...options, channels: ['memory', 'http'] },
  )

  everyTask(
    'is held by its process for as long as it runs, so that no other process runs it again',
    async (world) => {
      using time = movableTimers()
      const finish = gate()
      let runs = 0
      const define = (made: McpServer) => {
        made.registerTool('slow', hasty, async () => {
          runs++
          await finish.opened
          return 'done'
        })
      }
      const [server] = [await world.serve(define, { leaseMs: 30_000 }), await world.serve(define, { leaseMs: 30_000 })]
      const peer = await world.peer(server)
      const { result } = await peer.plain('slow')
      const id = result!.taskId as string
      const store = await world.openStore()
      const heldUntil = async () => (JSON.parse((await store.get(id))!.body) as Body).heldUntil as number
      for (let leases = 0; leases < 4; leases++) {
        await time.advance(30_000)
        expect(await heldUntil()).toBeGreaterThan(Date.now())
      }
      expect(runs).toBe(1)
      finish.open()
      expect(await peer.textOf(id)).toBe('done')
      const last = await heldUntil()
      await time.advance(60_000)
      expect(await heldUntil()).toBe(last)
    },
    { ...options, stores: ['memory'] },
  )

  everyTask(
    'asks with input_required before it is a task [XTASK-010]',
    async (world) => {
      const server = await world.serve((made) => {
        made.registerTool('ask', patient, async (_, ctx) => (await ctx.elicit('Sure?', form)).action)
      })
      const peer = await world.peer(server)
      const { result } = await peer.plain('ask')
      expect(result).toMatchObject({ resultType: 'input_required' })
      expect(result).not.toHaveProperty('taskId')
      const [key] = Object.keys(result!.inputRequests as Body)
      const again = await peer.request('tools/call', {
        name: 'ask',
        arguments: {},
        requestState: result!.requestState,
        inputResponses: { [key!]: yes },
      })
      expect(again.result).toMatchObject({ resultType: 'complete', content: [{ type: 'text', text: 'accept' }] })
    },
    options,
  )

  everyTask(
    'keeps answers and ctx.once values when it becomes a task, and asks the rest as a task [XTASK-010] [XTASK-023]',
    async (world) => {
      const done: string[] = []
      const finish = gate()
      const server = await world.serve((made) => {
        // Long enough to ask the first question before it becomes a task.
        made.registerTool('long', { ...optional, taskPolicy: { afterMs: 400 } }, async (_, ctx) => {
          const first = await ctx.once('first', () => done.push('first'))
          const one = await ctx.elicit('One?', form)
          const second = await ctx.once('second', () => done.push('second'))
          await finish.opened
          const third = await ctx.once('third', () => done.push('third'))
          const two = await ctx.elicit('Two?', form)
          return `${first} ${one.action} ${second} ${third} ${two.action}`
        })
      })
      const peer = await world.peer(server)
      const asked = await peer.plain('long')
      const [key] = Object.keys(asked.result!.inputRequests as Body)
      const became = await peer.request('tools/call', {
        name: 'long',
        arguments: {},
        requestState: asked.result!.requestState,
        inputResponses: { [key!]: yes },
      })
      expect(became.result).toMatchObject({ resultType: 'task', status: 'working' })
      finish.open()
      const id = became.result!.taskId as string
      const [question] = await peer.questions(id)
      expect(question!.params.message).toBe('Two?')
      expect(question!.key).not.toBe(key)
      await question!.answer({ action: 'decline' })
      expect(await peer.textOf(id)).toBe('1 accept 2 3 decline')
      expect(done).toEqual(['first', 'second', 'third'])
    },
    options,
  )

  everyTask(
    'is cancelled like any task, and its handler is aborted',
    async (world) => {
      const stopped = gate<unknown>()
      const server = await world.serve((made) => {
        made.registerTool('slow', hasty, async (_, ctx) => {
          ctx.signal.addEventListener('abort', () => stopped.open(ctx.signal.reason))
          await stopped.opened
          return 'too late'
        })
      })
      const peer = await world.peer(server)
      const id = await peer.start('slow')
      await peer.cancel(id)
      expect(await stopped.opened).toBeInstanceOf(Error)
      expect((await peer.state(id)).status).toBe('cancelled')
    },
    options,
  )

  everyTask(
    'sends progress and logs until it becomes a task, and none afterwards [XTASK-037]',
    async (world) => {
      const finish = gate()
      const server = await world.serve((made) => {
        made.registerTool('talk', hasty, async (_, ctx) => {
          ctx.progress(1)
          ctx.log.warning('before')
          await finish.opened
          ctx.progress(2)
          ctx.log.warning('after')
          return 'told'
        })
      })
      const peer = await world.peer(server)
      const meta = { progressToken: 'p', 'io.modelcontextprotocol/logLevel': 'debug' }
      const id = await peer.start('talk', {}, { meta })
      finish.open()
      expect(await peer.textOf(id)).toBe('told')
      expect(peer.heard('notifications/progress').map(({ params }) => params?.progress)).toEqual([1])
      expect(peer.heard('notifications/message').map(({ params }) => params?.data)).toEqual(['before'])
    },
    { ...options, channels: ['memory', 'http'] },
  )

  everyTask(
    'is an error, and its handler is aborted, when the caller has too many tasks',
    async (world) => {
      const stopped = gate()
      const server = await world.serve(
        (made: McpServer) => {
          made.registerTool(
            'ask',
            { ...optional, taskPolicy: 'always' },
            async (_, ctx) => (await ctx.elicit('?')).action,
          )
          made.registerTool('slow', hasty, async (_, ctx) => {
            ctx.signal.addEventListener('abort', () => stopped.open())
            await stopped.opened
            return 'stopped'
          })
        },
        { maxOpenPerCaller: 1 },
      )
      const peer = await world.peer(server)
      await peer.start('ask')
      const { error } = await peer.plain('slow')
      expect(error?.message).toContain('Too many open tasks: a caller can have 1.')
      await stopped.opened
    },
    options,
  )

  everyTask(
    'is aborted with its request before it becomes a task',
    async (world) => {
      const began = gate()
      const stopped = gate()
      const server = await world.serve((made) => {
        made.registerTool('slow', patient, async (_, ctx) => {
          ctx.signal.addEventListener('abort', () => stopped.open())
          began.open()
          await stopped.opened
          return 'stopped'
        })
      })
      const peer = await world.peer(server)
      void peer.plain('slow')
      await began.opened
      await peer.channel.say({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } })
      await stopped.opened
      const store = await world.openStore()
      expect(await store.list('', { limit: 10 })).toEqual([])
    },
    options,
  )
})

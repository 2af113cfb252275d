import { ProtocolError } from 'tenon'
import type { McpServer } from 'tenon/server'
import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { gate } from '../kit/gate.ts'
import type { Message } from '../kit/message.ts'

import { always, everyDialect, everyTask, legacy, modern, relatedTask, World } from './support.ts'

/** Registers a tool that finishes when the test says so. */
function registerGated(server: McpServer) {
  const finish = gate<string>()
  server.registerTool('gated', always, async () => finish.opened)
  return finish.open
}

const tools = (server: McpServer) => {
  server.registerTool('echo', { inputSchema: { text: z.string() }, ...always }, ({ text }) => text)
  server.registerTool(
    'sum',
    { inputSchema: { a: z.number() }, outputSchema: { twice: z.number() }, ...always },
    ({ a }) => ({ twice: 2 * a }),
  )
  server.registerTool('refuse', always, () => {
    throw new ProtocolError(-32050, 'Not on Sundays', { day: 'Sunday' })
  })
  server.registerTool('fail', always, () => {
    throw new Error('No paper')
  })
  server.registerTool('stuck', always, (_, ctx) => {
    ctx.task?.status('Page 3 of 5')
    return { isError: true, content: [{ type: 'text', text: 'x'.repeat(5_000) }] }
  })
  server.registerTool('mute', always, () => ({ isError: true, content: [] }))
  server.registerTool('liar', { outputSchema: { n: z.number() }, ...always }, () => ({ n: 'one' }) as never)
}

/** Returns the response to the same call without a task. */
async function plainly(world: World, server: McpServer, name: string, args: Record<string, unknown>) {
  const peer = await world.peer(server, { hasTasks: false })
  return peer.plain(name, args)
}

function withoutRelated({ result }: Pick<Message, 'result'>) {
  const { _meta, resultType: _resultType, ...rest } = result ?? {}
  return rest
}

describe('a task', () => {
  everyTask(
    'is returned while the work continues, and completes with the result of the call [TASK-012] [TASK-013] [TASK-018] [TASK-025] [TASK-026] [XTASK-002] [XTASK-007] [XTASK-009] [XTASK-014] [XTASK-016]',
    async (world) => {
      let finish: (text: string) => void = () => {}
      const server = await world.serve((made) => {
        finish = registerGated(made)
      })
      const peer = await world.peer(server)
      const created = await peer.call('gated')
      expect(peer.toState(created).status).toBe('working')
      expect(created.result?.resultType).toBe(world.isModern ? 'task' : undefined)
      expect(created.result).not.toHaveProperty('content')
      const { taskId } = peer.toState(created)
      const state = await peer.request('tasks/get', { taskId })
      expect(state.result).toMatchObject({ taskId, status: 'working' })
      expect(state.result?.resultType).toBe(world.isModern ? 'complete' : undefined)
      let isOver = false
      const result = peer.result(taskId)
      void result.then(() => {
        isOver = true
      })
      await peer.state(taskId)
      expect(isOver).toBe(false)
      finish('done')
      const plain = await plainly(world, server, 'gated', {})
      expect(withoutRelated(await result)).toEqual(withoutRelated(plain))
      expect((await peer.state(taskId)).status).toBe('completed')
    },
    { channels: ['memory', 'http'] },
  )

  everyTask(
    'returns the same result as the call, with and without structured content [TASK-025] [TASK-027] [XTASK-016]',
    async (world) => {
      const server = await world.serve(tools)
      const peer = await world.peer(server)
      for (const [name, args] of [
        ['echo', { text: 'hello' }],
        ['sum', { a: 4 }],
        ['echo', { text: 4 }],
        ['fail', {}],
      ] as const) {
        const id = await peer.start(name, args)
        const outcome = await peer.result(id)
        expect(withoutRelated(outcome)).toEqual(withoutRelated(await plainly(world, server, name, args)))
        const related = outcome.result?._meta?.[relatedTask]
        expect(related).toEqual(world.isModern ? undefined : { taskId: id })
      }
    },
  )

  everyTask(
    'fails with the same error as the call, and states it [TASK-025] [TASK-046] [TASK-047] [XTASK-017]',
    async (world) => {
      const server = await world.serve(tools)
      const peer = await world.peer(server)
      const id = await peer.start('refuse')
      const { error } = await peer.result(id)
      expect(error).toEqual({ code: -32050, message: 'Not on Sundays', data: { day: 'Sunday' } })
      expect(error).toEqual((await plainly(world, server, 'refuse', {})).error)
      expect(await peer.state(id)).toMatchObject({ status: 'failed', statusMessage: error?.message })
    },
  )

  everyTask(
    'whose tool reports an error is failed on 2025-11-25, completed on 2026-07-28 [TASK-048] [XTASK-016] [XTASK-018]',
    async (world) => {
      const peer = await world.peer(await world.serve(tools))
      for (const [name, text] of [
        ['fail', 'No paper'],
        [
          'liar',
          'Tool "liar" returned an object that does not match its outputSchema. Return what the schema describes.',
        ],
      ] as const) {
        const id = await peer.start(name)
        const { result } = await peer.result(id)
        expect(result).toMatchObject({ isError: true, content: [{ type: 'text', text }] })
        expect((await peer.state(id)).status).toBe(world.isModern ? 'completed' : 'failed')
      }
      expect(world.errors.splice(0)).toHaveLength(1)
    },
  )

  everyTask(
    'whose tool reports an error states the error as its status message [TASK-047]',
    async (world) => {
      const peer = await world.peer(await world.serve(tools))
      for (const [name, message] of [
        ['fail', 'No paper'],
        ['stuck', `${'x'.repeat(999)}…`],
        ['mute', 'The tool reported an error'],
      ] as const) {
        const id = await peer.start(name)
        await peer.result(id)
        expect((await peer.state(id)).statusMessage).toBe(message)
        if (world.isModern) continue
        const { result } = await peer.request('tasks/list')
        expect(result?.tasks).toContainEqual(expect.objectContaining({ taskId: id, statusMessage: message }))
      }
    },
    { stores: ['memory'] },
  )

  everyDialect('reports its timestamps, TTL and poll interval [TASK-021] [XTASK-008]', async (world) => {
    const before = Date.now()
    const server = await world.serve(tools, { ttlMs: 60_000, pollIntervalMs: 70 })
    const peer = await world.peer(server)
    const created = await peer.create('echo', { text: 'a' })
    expect(created).toMatchObject({ ttlMs: 60_000, pollIntervalMs: 70 })
    await peer.result(created.taskId)
    const ended = await peer.state(created.taskId)
    for (const { createdAt, lastUpdatedAt } of [created, ended]) {
      for (const time of [createdAt, lastUpdatedAt]) {
        expect(new Date(time).toISOString()).toBe(time)
        expect(Date.parse(time)).toBeGreaterThanOrEqual(before)
        expect(Date.parse(time)).toBeLessThanOrEqual(Date.now())
      }
      expect(createdAt).toBe(created.createdAt)
    }
    expect(Date.parse(ended.lastUpdatedAt)).toBeGreaterThanOrEqual(Date.parse(created.lastUpdatedAt))
  })

  everyDialect('has a unique and unguessable id from the server [TASK-017] [TASK-050] [XTASK-039]', async (world) => {
    const peer = await world.peer(await world.serve(tools))
    const ids = await Promise.all(Array.from({ length: 200 }, () => peer.start('echo', { text: 'a' })))
    expect(new Set(ids).size).toBe(200)
    // 192 random bits; no position has the same character in all ids.
    for (const id of ids) expect(id).toMatch(/^[\w-]{32}$/)
    for (let place = 0; place < 32; place++) expect(new Set(ids.map((id) => id[place])).size).toBeGreaterThan(10)
  })

  everyTask(
    'follows the allowed transitions, and does not change after it has ended [TASK-019] [TASK-020]',
    async (world) => {
      const server = await world.serve((made) => {
        made.registerTool('ask', always, async (_, ctx) => {
          ctx.task?.status('begun')
          const { action } = await ctx.elicit('Go on?')
          if (action === 'cancel') throw new Error('Not answered')
          return action
        })
      })
      const store = await world.openStore()
      const seen = new Map<string, string[]>()
      const looks: Promise<void>[] = []
      const stop = await store.watch((id) => {
        const look = async () => {
          const entry = await store.get(id)
          if (entry) seen.set(id, [...(seen.get(id) ?? []), (JSON.parse(entry.summary) as { status: string }).status])
        }
        looks.push(look())
      })
      const peer = await world.peer(server)
      const ids: string[] = []
      for (const action of ['accept', 'decline', 'cancel', 'stop']) {
        const id = await peer.start('ask')
        ids.push(id)
        const [question] = await peer.questions(id)
        if (action === 'stop') await peer.cancel(id)
        else {
          await question!.answer({ action })
          await peer.result(id)
        }
      }
      const ended = await Promise.all(ids.map((id) => peer.state(id)))
      for (const id of ids) await peer.cancel(id)
      expect(await Promise.all(ids.map((id) => peer.state(id)))).toEqual(ended)
      await Promise.all(looks)
      stop()
      for (const id of ids) {
        const [first = 'working', ...rest] = seen.get(id) ?? []
        let now = first
        for (const next of rest) {
          if (next !== now) expect(ways[now], `${now} to ${next}`).toContain(next)
          now = next
        }
      }
    },
  )

  it('is identified by the taskId of the request, regardless of its metadata [TASK-030]', async () => {
    await using world = new World(legacy, 'memory', 'memory')
    const peer = await world.peer(await world.serve(tools))
    const [one, other] = [await peer.start('echo', { text: 'one' }), await peer.start('echo', { text: 'other' })]
    const _meta = { [relatedTask]: { taskId: other } }
    await peer.result(other)
    const result = await peer.request('tasks/result', { taskId: one, _meta })
    expect(result.result?.content?.[0]?.text).toBe('one')
    expect(result.result?._meta?.[relatedTask]).toEqual({ taskId: one })
    expect((await peer.request('tasks/get', { taskId: one, _meta })).result?.taskId).toBe(one)
    expect((await peer.request('tasks/cancel', { taskId: 'none', _meta })).error?.code).toBe(-32602)
  })
})

const ways: Readonly<Record<string, readonly string[]>> = {
  working: ['input_required', 'completed', 'failed', 'cancelled'],
  input_required: ['working', 'completed', 'failed', 'cancelled'],
}

describe('an unknown task', () => {
  everyTask('is answered with -32602 by every task method [TASK-046] [XTASK-031] [XTASK-032]', async (world) => {
    const peer = await world.peer(await world.serve(tools))
    const answers = [
      await peer.request('tasks/get', { taskId: 'none' }),
      await peer.request('tasks/cancel', { taskId: 'none' }),
      world.isModern
        ? await peer.request('tasks/update', { taskId: 'none', inputResponses: {} })
        : await peer.request('tasks/result', { taskId: 'none' }),
    ]
    for (const { error } of answers) {
      expect(error).toEqual({ code: -32602, message: 'Task not found (it may have expired)' })
    }
  })

  it('is not reported when the store fails: the client gets an internal error without details [TASK-046]', async () => {
    for (const revision of [legacy, modern] as const) {
      await using world = new World(revision, 'memory', 'memory')
      const store = await world.openStore()
      const server = await world.serve(tools)
      const peer = await world.peer(server)
      const id = await peer.start('echo', { text: 'a' })
      await peer.result(id)
      store.get = () => Promise.reject(new Error('disk sda1 is full'))
      const { error } = await peer.request('tasks/get', { taskId: id })
      expect(error).toEqual({ code: -32603, message: 'Internal error' })
      expect(world.errors.splice(0)).toHaveLength(1)
    }
  })
})

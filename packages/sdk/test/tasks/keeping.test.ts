import { ProtocolError } from 'tenon'
import type { McpServer } from 'tenon/server'
import { describe, expect, it } from 'vitest'
import { gate } from '../kit/gate.ts'

import type { Body, TaskPeer } from './peer.ts'
import { always, eventLog, everyDialect, everyTask, legacy, modern, World } from './support.ts'

const tools = (server: McpServer) => {
  server.registerTool('quick', always, () => 'quick')
  server.registerTool('ask', always, async (_, ctx) => (await ctx.elicit('Go on?')).action)
}
const unknown = { code: -32602, message: 'Task not found (it may have expired)' }

describe('the TTL of a task', () => {
  everyTask(
    'is the one that the client requests, up to the maximum of the server [TASK-022] [TASK-011] [TASK-056]',
    async (world) => {
      const server = await world.serve(tools, { ttlMs: 60_000, maxTtlMs: 120_000 })
      const peer = await world.peer(server)
      const kept = async (ttlMs?: number) => {
        const { taskId, ttlMs: told } = await peer.create('quick', {}, ttlMs === undefined ? {} : { ttlMs })
        expect((await peer.state(taskId)).ttlMs).toBe(told)
        return told
      }
      expect(await kept()).toBe(60_000)
      expect(await kept(5_000)).toBe(5_000)
      expect(await kept(110_000)).toBe(110_000)
      expect(await kept(1e15)).toBe(120_000)
      expect(await kept(-5)).toBe(60_000)
    },
    { revisions: [legacy] },
  )

  everyTask('also applies to a working task, which is aborted and deleted [TASK-022] [XTASK-019]', async (world) => {
    const stopped = gate()
    const server = await world.serve(
      (made) => {
        made.registerTool('stay', always, async (_, ctx) => {
          ctx.signal.addEventListener('abort', () => stopped.open())
          await stopped.opened
          return 'too late'
        })
      },
      { ttlMs: 1_500 },
    )
    const peer = await world.peer(server)
    const id = await peer.start('stay')
    const waiting = world.isModern ? undefined : peer.wait(id)
    await stopped.opened
    await forgotten(peer, id)
    expect((await waiting)?.error ?? unknown).toEqual(unknown)
    for (const method of world.isModern ? ['tasks/cancel'] : ['tasks/cancel', 'tasks/result']) {
      expect((await peer.request(method, { taskId: id })).error).toEqual(unknown)
    }
    if (!world.isModern) expect((await peer.request('tasks/list')).result?.tasks).toEqual([])
  })

  everyTask('also applies to finished and waiting tasks [TASK-022] [XTASK-019] [TASK-057]', async (world) => {
    const peer = await world.peer(await world.serve(tools, { ttlMs: 1_500 }))
    const ids = [await peer.start('quick'), await peer.start('ask')]
    for (const id of ids) await forgotten(peer, id)
    expect(await peer.state(await peer.start('quick'))).toMatchObject({ ttlMs: 1_500 })
  })
})

describe('the list of tasks', () => {
  everyTask(
    'contains every task of the client in pages, oldest first [TASK-038] [TASK-039] [TASK-040]',
    async (world) => {
      const peer = await world.peer(await world.serve(tools))
      const ids: string[] = []
      for (let index = 0; index < 250; index++) ids.push(await peer.start(index % 50 === 0 ? 'ask' : 'quick'))
      const pages: Body[][] = []
      let cursor: unknown
      do {
        const { result } = await peer.request('tasks/list', cursor === undefined ? {} : { cursor })
        pages.push(result?.tasks as Body[])
        cursor = result?.nextCursor
        if (cursor !== undefined) expect(typeof cursor).toBe('string')
      } while (cursor !== undefined)
      expect(pages.map(({ length }) => length)).toEqual([100, 100, 50])
      const listed = pages.flat()
      expect(new Set(listed.map(({ taskId }) => taskId))).toEqual(new Set(ids))
      const times = listed.map(({ createdAt }) => createdAt as string)
      expect(times).toEqual([...times].sort())
      for (const { taskId, createdAt } of [listed[0]!, listed[249]!]) {
        expect(await peer.state(taskId as string)).toMatchObject({ taskId, createdAt })
      }
    },
    { revisions: [legacy], timeoutMs: 60_000 },
  )

  everyTask(
    'rejects a cursor that it did not issue [TASK-046]',
    async (world) => {
      const peer = await world.peer(await world.serve(tools))
      await peer.start('quick')
      for (const cursor of ['', 'x', '!!!', btoa('{}'), btoa('[1]'), btoa('["a","b"]'), btoa('null')]) {
        const { error } = await peer.request('tasks/list', { cursor })
        expect(error).toEqual({ code: -32602, message: 'params.cursor was not issued by this server' })
      }
    },
    { revisions: [legacy] },
  )
})

describe('a task of another caller', () => {
  everyDialect(
    'does not exist for any task method [TASK-049] [XTASK-039]',
    async (world) => {
      const server = await world.serve(tools)
      const ann = await world.peer(server, { user: 'ann' })
      const strangers = [await world.peer(server, { user: 'bob' }), await world.peer(server)]
      const id = await ann.start('ask')
      await ann.until(id, 'input_required')
      for (const stranger of strangers) {
        const methods = world.isModern ? ['get', 'cancel', 'update'] : ['get', 'cancel', 'result']
        for (const method of methods) {
          const params = method === 'update' ? { inputResponses: { 'elicitation#1': { action: 'accept' } } } : {}
          const ask = (taskId: string) => stranger.request(`tasks/${method}`, { taskId, ...params })
          expect((await ask(id)).error).toEqual(unknown)
          expect((await ask(id)).error).toEqual((await ask('A'.repeat(32))).error)
        }
        if (!world.isModern) expect((await stranger.request('tasks/list')).result?.tasks).toEqual([])
      }
      expect((await ann.state(id)).status).toBe('input_required')
      if (!world.isModern) {
        const { result } = await ann.request('tasks/list')
        expect((result!.tasks as Body[]).map(({ taskId }) => taskId)).toEqual([id])
      }
      // Another session of the same user has access.
      const again = await world.peer(server, { user: 'ann' })
      expect((await again.state(id)).status).toBe('input_required')
      expect(await again.drive(id, () => ({ action: 'decline' }))).toMatchObject({ result: {} })
      expect((await ann.state(id)).status).toBe('completed')
    },
    { channels: ['http'] },
  )

  it('that is anonymous is listed only in the session that created it [TASK-049] [TASK-050]', async () => {
    await using world = new World(legacy, 'memory', 'http')
    const server = await world.serve(tools)
    const [one, other] = [await world.peer(server), await world.peer(server)]
    const id = await one!.start('ask')
    const listed = async (peer: TaskPeer) => (await peer.request('tasks/list')).result?.tasks as Body[]
    expect((await listed(one!)).map(({ taskId }) => taskId)).toEqual([id])
    expect(await listed(other!)).toEqual([])
    // The id alone gives access to an anonymous task.
    expect((await other!.state(id)).taskId).toBe(id)
  })

  it('that is anonymous has no list without sessions, and none is declared [TASK-040] [TASK-049] [TASK-050]', async () => {
    await using world = new World(legacy, 'memory', 'http')
    const server = await world.serve(tools)
    const url = await world.url(server, { sessions: false })
    const call = async (method: string, params: Body) => {
      const response = await fetch(url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          'mcp-protocol-version': legacy,
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      })
      return (await response.json()) as { result: Body; error?: Body }
    }
    const clientInfo = { name: 'c', version: '1' }
    const opened = await call('initialize', { protocolVersion: legacy, capabilities: {}, clientInfo })
    const { tasks: declared } = opened.result.capabilities as { tasks: Body }
    expect(declared).toEqual({ cancel: {}, requests: { tools: { call: {} } } })
    const created = await call('tools/call', { name: 'quick', task: {} })
    expect(created.result).toHaveProperty('task.taskId')
    expect((await call('tasks/list', {})).error).toMatchObject({ code: -32601 })
  })
})

describe('limits', () => {
  everyTask(
    'apply to the open tasks of a caller; finished tasks do not count [TASK-055]',
    async (world) => {
      const server = await world.serve(tools, { maxOpenPerCaller: 3 })
      const ann = await world.peer(server, { user: 'ann' })
      const bob = await world.peer(server, { user: 'bob' })
      for (let index = 0; index < 5; index++) await ann.result(await ann.start('quick'))
      const open = [await ann.start('ask'), await ann.start('ask'), await ann.start('ask')]
      const refused = await ann.call('quick')
      expect(refused.error).toMatchObject({ code: -32603 })
      expect(refused.error?.message).toContain('Too many open tasks: a caller can have 3.')
      expect(await bob.textOf(await bob.start('quick'))).toBe('quick')
      await ann.cancel(open[0]!)
      expect(await ann.textOf(await ann.start('quick'))).toBe('quick')
    },
    { channels: ['http'], stores: ['memory', 'SQLite'] },
  )

  it('of tasks() are validated when it is created', async () => {
    await using world = new World(modern, 'memory', 'memory')
    for (const options of [
      { ttlMs: 0 },
      { maxTtlMs: -1 },
      { pollIntervalMs: 0 },
      { maxOpenPerCaller: Number.NaN },
      { concurrency: -1 },
      { leaseMs: 0 },
      { maxAttempts: 0 },
      { drainMs: -1 },
      { policy: 'sometimes' as never },
      { policy: { afterMs: -1 } },
    ]) {
      await expect(world.serve(() => {}, options)).rejects.toThrow(TypeError)
    }
  })
})

describe('onEvent', () => {
  everyTask(
    'reports every event of a task, with its tool and its principal [TASK-058]',
    async (world) => {
      const { events, onEvent, until } = eventLog()
      const server = await world.serve(
        (made) => {
          tools(made)
          made.registerTool('broken', always, () => {
            throw new ProtocolError(-32050, 'Not on Sundays')
          })
        },
        { onEvent },
      )
      const peer = await world.peer(server, { user: 'ann' })
      const id = await peer.start('ask')
      await peer.drive(id, () => ({ action: 'decline' }))
      await until('retrieved')
      expect(events.map(({ type }) => type).slice(0, 7)).toEqual([
        'created',
        'started',
        'input-required',
        'answered',
        'started',
        'completed',
        'retrieved',
      ])
      for (const event of events) expect(event).toMatchObject({ taskId: id, name: 'ask', principal: 'ann' })
      expect(events.flatMap((event) => (event.type === 'started' ? [event.attempt] : []))).toEqual([1, 1])
      await peer.result(await peer.start('broken'))
      await until('failed')
      await peer.cancel(await peer.start('ask'))
      await until('cancelled')
      const stranger = await world.peer(server)
      await stranger.result(await stranger.start('quick'))
      await until('completed', 2)
      expect(events.at(-1)).toMatchObject({ type: 'retrieved', name: 'quick', principal: undefined })
    },
    { channels: ['http'], stores: ['memory', 'SQLite'] },
  )
})

/** Polls until the task no longer exists. */
async function forgotten(peer: TaskPeer, taskId: string): Promise<void> {
  for (;;) {
    const { error } = await peer.request('tasks/get', { taskId })
    if (error) return expect(error).toEqual(unknown)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

import { readFileSync } from 'node:fs'
import { connect } from 'tenon/client'
import type { McpServer } from 'tenon/server'
import { MemoryTaskStore, type TaskEntry, type TaskStore } from 'tenon/tasks'
import { describe, expect, it } from 'vitest'
import { eventually } from '../kit/eventually.ts'
import { everyWire } from '../kit/every-wire.ts'
import { gate } from '../kit/gate.ts'
import { said } from '../kit/transcript.ts'
import { labServer } from './client-support.ts'
import type { TaskPeer } from './peer.ts'
import { always, everyDialect, everyTask, legacy, modern, World } from './support.ts'

function echo(server: McpServer): void {
  const inputSchema = { type: 'object' as const, properties: { text: { type: 'string' as const } } }
  server.registerTool('echo', { inputSchema, ...always }, ({ text }) => String(text))
}

const unknownCode = -32602

describe('the poll interval', () => {
  everyDialect('grows while many tasks are open, and shrinks when they have finished', async (world) => {
    const store = new MemoryTaskStore()
    const entries = Array.from({ length: 2_000 }, (_, index) => openEntry(`open ${index}`))
    for (const entry of entries) await store.create(entry)
    const server = await world.serve(echo, { store })
    const peer = await world.peer(server)
    const id = await peer.start('echo', { text: 'a' })
    expect(await pollIntervalAbove(peer, id, 1_999)).toBeLessThan(3_000)
    for (const entry of entries) await store.replace({ ...entry, version: 2, isOpen: false })
    await eventually(async () => (await pollIntervalOf(peer, id)) === 20)
  })
})

describe('tasks of one caller', () => {
  everyTask(
    'do not delay those of another caller, however many and long they are',
    async (world) => {
      const release = gate()
      const define = (server: McpServer) => {
        echo(server)
        server.registerTool('long', always, async () => {
          await release.opened
          return 'long'
        })
      }
      const servers = [
        await world.serve(define, { concurrency: 3 }),
        await world.serve(define, { concurrency: 3 }),
      ] as const
      const greedy = await world.peer(servers[0], { user: 'greedy' })
      const long = await Promise.all(Array.from({ length: 12 }, () => greedy.start('long')))
      for (const [index, server] of servers.entries()) {
        const modest = await world.peer(server, { user: `modest ${index}` })
        expect(await modest.textOf(await modest.start('echo', { text: 'short' }))).toBe('short')
      }
      release.open()
      for (const id of long) expect(await greedy.textOf(id)).toBe('long')
    },
    { channels: ['http'], revisions: [modern] },
  )

  everyTask(
    'are deleted when too many have finished, starting with the one that finished first',
    async (world) => {
      const server = await world.serve(echo, { maxFinishedPerCaller: 3 })
      const ann = await world.peer(server, { user: 'ann' })
      const bob = await world.peer(server, { user: 'bob' })
      const kept = await bob.start('echo', { text: 'kept' })
      await bob.result(kept)
      const ids: string[] = []
      for (let index = 0; index < 6; index++) {
        ids.push(await ann.start('echo', { text: `${index}` }))
        await ann.result(ids.at(-1)!)
      }
      const answers = await Promise.all(ids.map((taskId) => ann.request('tasks/get', { taskId })))
      expect(answers.map(({ error }) => error?.code)).toEqual([
        ...[unknownCode, unknownCode, unknownCode],
        ...[undefined, undefined, undefined],
      ])
      expect(await bob.textOf(kept)).toBe('kept')
    },
    { channels: ['http'] },
  )

  everyTask(
    'are limited in bytes: large results evict older ones, and a task that does not fit is rejected',
    async (world) => {
      const server = await world.serve(echo, { maxBytesPerCaller: 50_000 })
      const peer = await world.peer(server, { user: 'ann' })
      const text = 'x'.repeat(9_000)
      const ids: string[] = []
      for (let index = 0; index < 6; index++) {
        ids.push(await peer.start('echo', { text }))
        await peer.result(ids.at(-1)!)
      }
      expect((await peer.request('tasks/get', { taskId: ids[0]! })).error?.code).toBe(unknownCode)
      expect(await peer.textOf(ids.at(-1)!)).toBe(text)
      const { error } = await peer.call('echo', { text: 'x'.repeat(60_000) })
      expect(error?.message).toBe(
        'Task data limit reached: a caller can keep 50000 bytes. Wait for open tasks to finish, or cancel them.',
      )
    },
    { channels: ['http'], revisions: [modern] },
  )
})

describe('a client that polls too fast', () => {
  everyDialect(
    'is rate limited without affecting other callers [XTASK-012] [TASK-054]',
    async (world) => {
      const server = await world.serve(echo, { server: { limits: { taskRequests: { perSecond: 20, burst: 5 } } } })
      const fast = await world.peer(server, { user: 'fast' })
      const other = await world.peer(server, { user: 'other' })
      const { taskId } = await fast.create('echo', { text: 'a' })
      const polls = Array.from({ length: 30 }, () => fast.request('tasks/get', { taskId }))
      const refused = (await Promise.all(polls)).filter(({ error }) => error)
      expect(refused.length).toBeGreaterThan(0)
      for (const { error } of refused) expect(error).toMatchObject({ code: -32000, data: { error: 'rate_limited' } })
      const guesses = await Promise.all(
        Array.from({ length: 30 }, (_, index) => other.request('tasks/cancel', { taskId: `guess ${index}` })),
      )
      expect(new Set(guesses.map(({ error }) => error?.code))).toEqual(new Set([-32602, -32000]))
      await eventually(async () => (await fast.request('tasks/get', { taskId })).error === undefined)
      expect(world.errors.splice(0)).toMatchObject([{ message: expect.stringContaining('limits.taskRequests') }])
    },
    { channels: ['http'] },
  )

  it('backs off and retries when it uses the client of this library [XTASK-012]', async () => {
    const { lab } = labServer({ pollIntervalMs: 20 }, { limits: { taskRequests: { perSecond: 20, burst: 1 } } })
    await using client = await connect(lab, { tasks: true, revisions: [legacy] })
    const tasks = await Promise.all(Array.from({ length: 5 }, () => client.callToolAsTask('must')))
    for (const task of tasks) expect((await task.result()).text).toBe('a task: true')
    await lab.close()
  })
})

describe('the documentation', () => {
  const page = (name: string) => readFileSync(new URL(`../../../../docs/${name}.md`, import.meta.url), 'utf8')

  it('says that tasks of unauthenticated callers are not bound to anyone [TASK-051]', () => {
    expect(page('tasks')).toContain('Unauthenticated callers share one owner, so treat the task id as a secret')
  })

  it('states the longest TTL and the number of open tasks per caller [TASK-051]', async () => {
    const limits = page('limits')
    expect(limits).toMatch(/Open tasks per caller [^|]*\| 1,000 \|/)
    expect(limits).toMatch(/Open tasks in total \| 100,000 \|/)
    expect(limits).toMatch(/TTL of a task \| an hour \|/)
    expect(limits).toMatch(/TTL a client may request \| a day \|/)
    await using world = new World(legacy, 'memory', 'memory')
    const peer = await world.peer(await world.serve(echo))
    expect((await peer.create('echo', { text: 'a' }, { ttlMs: 1e12 })).ttlMs).toBe(24 * 3_600_000)
  })
})

describe('tasks/list', () => {
  it('of an anonymous session reads one page of its own summaries, regardless of other sessions', async () => {
    const store = new MemoryTaskStore()
    const read: unknown[] = []
    const list: TaskStore['list'] = async (...args) => {
      const page = await store.list(...args)
      read.push(...page)
      return page
    }
    await using world = new World(legacy, 'memory', 'http')
    const watched = new Proxy(store, {
      get: (target, name) => (name === 'list' ? list : bind(target, name as keyof MemoryTaskStore)),
    })
    const server = await world.serve(echo, { store: watched, maxOpenPerCaller: 1_000 })
    const mine = await world.peer(server)
    const others = await world.peer(server)
    for (let index = 0; index < 120; index++) await others.start('echo', { text: 'secret' })
    const id = await mine.start('echo', { text: 'mine' })
    await mine.result(id)
    const { result } = await mine.request('tasks/list')
    expect(result?.tasks).toMatchObject([{ taskId: id }])
    expect(read.length).toBe(1)
    expect(read[0]).not.toHaveProperty('body')
  })
})

describe('a client that watches many tasks', () => {
  everyWire(
    'shares a few streams between all of them, and does not poll [XTASK-035]',
    async (wire) => {
      const { lab } = labServer({ pollIntervalMs: 60_000 })
      const release = gate()
      lab.registerTool('hold', always, async () => {
        await release.opened
        return 'held'
      })
      await using pair = await wire.connect(lab, { tasks: true })
      const tasks = await Promise.all(Array.from({ length: 200 }, () => pair.client.callToolAsTask('hold')))
      const results = tasks.map(async (task) => (await task.result()).text)
      const isHeard = () => {
        const ids = said(pair.transcript, 'server', 'notifications/tasks').map(({ params }) => params?.taskId)
        return new Set(ids).size === tasks.length
      }
      await eventually(async () => isHeard())
      release.open()
      expect(new Set(await Promise.all(results))).toEqual(new Set(['held']))
      expect(said(pair.transcript, 'client', 'subscriptions/listen').length).toBeLessThanOrEqual(16)
      expect(said(pair.transcript, 'client', 'tasks/get').length).toBeLessThanOrEqual(tasks.length)
    },
    { revisions: [modern], schemas: undefined },
  )
})

function openEntry(id: string): TaskEntry {
  const place = { id, owner: 'somebody else', listedFor: null, version: 1, createdAt: Date.now(), expiresAt: null }
  return { ...place, isOpen: true, summary: '{}', body: '{}' }
}

function bind(target: MemoryTaskStore, name: keyof MemoryTaskStore): unknown {
  const member = target[name]
  return typeof member === 'function' ? member.bind(target) : member
}

async function pollIntervalOf(peer: TaskPeer, taskId: string): Promise<number> {
  const { result } = await peer.request('tasks/get', { taskId })
  return (result?.pollIntervalMs ?? result?.pollInterval) as number
}

async function pollIntervalAbove(peer: TaskPeer, taskId: string, ms: number): Promise<number> {
  let found = 0
  await eventually(async () => {
    found = await pollIntervalOf(peer, taskId)
    return found > ms
  })
  return found
}

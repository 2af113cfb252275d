import { getEventListeners } from 'node:events'
import { type McpError, ProtocolError } from 'tenon'
import {
  Client,
  type ClientHandlers,
  type ClientOptions,
  type ClientSideTaskEvent,
  type InputContext,
} from 'tenon/client'
import type { Progress } from 'tenon/jsonrpc'
import { type AskOptions, McpServer, type QuestionOptions, type QuestionTaskChange } from 'tenon/server'
import { ScriptedClient, type ScriptedServer } from 'tenon/testing'
import { describe, expect, it, vi } from 'vitest'
import * as z from 'zod'
import { connected } from '../era/support.ts'
import { errorOf } from '../kit/error-of.ts'
import { everyWire } from '../kit/every-wire.ts'
import { gate } from '../kit/gate.ts'
import { allRevisions } from '../kit/revisions.ts'
import { scripted, scriptedClient } from '../kit/scripted-server.ts'
import { movableDate, movableTimers } from '../kit/time.ts'
import { type Said, said } from '../kit/transcript.ts'
import { accept, legacy } from './client-support.ts'

type Body = Record<string, unknown>

const relatedKey = 'io.modelcontextprotocol/related-task'
const requestedSchema = { type: 'object', properties: { sure: { type: 'boolean' } } }
const form = (more: Body = {}) => ({ message: 'Sure?', requestedSchema, ...more })
const written = { role: 'assistant' as const, model: 'm', content: { type: 'text' as const, text: 'Hello' } }

/** A scripted server that sends raw questions. */
class Asker {
  readonly server: ScriptedServer = scripted(legacy)
  #next = 100

  ask(method: string, params: Body = {}): Promise<Said> {
    const id = this.#next++
    const answer = new Promise<Said>((resolve) => {
      this.server.transcript.onLine(({ from, message }) => {
        if (from === 'client' && (message as Said).id === id && !(message as Said).method) resolve(message as Said)
      })
    })
    this.server.say({ jsonrpc: '2.0', id, method, params })
    return answer
  }

  async create(params: Body = {}): Promise<string> {
    const { result } = await this.ask('elicitation/create', form({ task: {}, ...params }))
    return (result!.task as { taskId: string }).taskId
  }
}

async function asker(handlers: ClientHandlers, options: ClientOptions = {}) {
  const asker = new Asker()
  const client = await scriptedClient(asker.server, { revision: legacy, handlers, ...options })
  return { asker, client, [Symbol.asyncDispose]: () => client.close() }
}

/** Creates handlers whose user answers when the test says so. */
function slowUser(options: ClientHandlers['tasks'] = true) {
  const answer = gate()
  const stopped = gate()
  const handlers: ClientHandlers = {
    tasks: options,
    elicit: async (_form, { signal }) => {
      signal.addEventListener('abort', () => stopped.open())
      await answer.opened
      return accept()
    },
  }
  return { handlers, answer: () => answer.open(), stopped: stopped.opened }
}

describe('a client that answers questions as tasks', () => {
  it('declares the supported requests on 2025-11-25 only [TASK-001] [TASK-002]', async () => {
    const declared = async (handlers: ClientHandlers, revision: (typeof allRevisions)[number] = legacy) => {
      const server = new McpServer({ name: 's', version: '1' })
      server.registerTool('who', {}, (_, { caller }) => JSON.stringify(caller.capabilities.tasks ?? null))
      await using client = await connected(server, { revision, handlers })
      return JSON.parse((await client.callTool('who')).text)
    }
    const elicit = () => accept()
    const sample = () => written
    const rest = { list: {}, cancel: {} }
    expect(await declared({ tasks: true, elicit })).toEqual({ ...rest, requests: { elicitation: { create: {} } } })
    expect(await declared({ tasks: true, sample })).toEqual({ ...rest, requests: { sampling: { createMessage: {} } } })
    expect(await declared({ tasks: true, roots: [] })).toBeNull()
    expect(await declared({ elicit, sample })).toBeNull()
    for (const revision of allRevisions.filter((id) => id !== legacy)) {
      expect(await declared({ tasks: true, elicit }, revision)).toBeNull()
    }
  })

  it('answers with a task at once, and with the result on tasks/result [TASK-012] [TASK-013] [TASK-018] [TASK-021]', async () => {
    const { handlers, answer } = slowUser()
    await using world = await asker(handlers)
    const created = await world.asker.ask('elicitation/create', form({ task: { ttl: 9_000 } }))
    const task = created.result!.task as Body
    expect(created.result).not.toHaveProperty('action')
    expect(task).toMatchObject({ status: 'working', ttl: 9_000, pollInterval: 500 })
    expect(new Date(task.createdAt as string).toISOString()).toBe(task.createdAt)
    expect(new Date(task.lastUpdatedAt as string).toISOString()).toBe(task.lastUpdatedAt)
    const { taskId } = task
    expect((await world.asker.ask('tasks/get', { taskId })).result).toEqual(task)
    const result = world.asker.ask('tasks/result', { taskId })
    answer()
    expect((await result).result).toEqual({ ...accept(), _meta: { [relatedKey]: { taskId } } })
    expect((await world.asker.ask('tasks/get', { taskId })).result).toMatchObject({ taskId, status: 'completed' })
  })

  it('keeps tasks/result pending until there is a result [TASK-025] [TASK-026] [TASK-027]', async () => {
    const { handlers, answer } = slowUser()
    await using world = await asker(handlers)
    const taskId = await world.asker.create()
    const order: string[] = []
    const result = world.asker.ask('tasks/result', { taskId }).then(({ result }) => {
      order.push('result')
      return result
    })
    await world.asker.ask('tasks/get', { taskId }).then(() => order.push('get'))
    answer()
    const plain = (await world.asker.ask('elicitation/create', form())).result
    expect(await result).toEqual({ ...plain, _meta: { [relatedKey]: { taskId } } })
    expect(order).toEqual(['get', 'result'])
  })

  it('returns the error of the question and the reason of the failure [TASK-025] [TASK-047]', async () => {
    const elicit = () => {
      throw new ProtocolError(-32050, 'The user is asleep', { until: 8 })
    }
    await using world = await asker({ tasks: true, elicit })
    const taskId = await world.asker.create()
    const { error } = await world.asker.ask('tasks/result', { taskId })
    expect(error).toEqual({ code: -32050, message: 'The user is asleep', data: { until: 8 } })
    expect((await world.asker.ask('tasks/get', { taskId })).result).toMatchObject({
      status: 'failed',
      statusMessage: 'The user is asleep',
    })
  })

  it('rejects a malformed question without creating a task', async () => {
    await using world = await asker(slowUser().handlers)
    expect((await world.asker.ask('elicitation/create', { task: {} })).error?.code).toBe(-32602)
    expect((await world.asker.ask('tasks/list')).result?.tasks).toEqual([])
  })

  it('ignores task augmentation that it did not declare [TASK-015]', async () => {
    await using world = await asker({ elicit: () => accept() })
    expect((await world.asker.ask('elicitation/create', form({ task: {} }))).result).toEqual(accept())
    expect((await world.asker.ask('tasks/list')).error?.code).toBe(-32601)
    const sample = () => written
    await using half = await asker(
      { tasks: true, elicit: () => accept(), sample },
      { capabilities: { tasks: { requests: {} } } },
    )
    expect((await half.asker.ask('elicitation/create', form({ task: {} }))).result).toEqual(accept())
  })

  it('aborts a cancelled task before it responds, and keeps it cancelled [TASK-020] [TASK-042] [TASK-043] [TASK-044]', async () => {
    const { handlers, answer, stopped } = slowUser()
    await using world = await asker(handlers)
    const taskId = await world.asker.create()
    const result = world.asker.ask('tasks/result', { taskId })
    expect((await world.asker.ask('tasks/cancel', { taskId })).result).toMatchObject({ taskId, status: 'cancelled' })
    await stopped
    answer()
    expect((await result).error?.message).toBe('The task was cancelled')
    expect((await world.asker.ask('tasks/get', { taskId })).result).toMatchObject({ status: 'cancelled' })
    expect((await world.asker.ask('tasks/cancel', { taskId })).error?.code).toBe(-32602)
  })

  it('rejects cancelling a finished task [TASK-041]', async () => {
    await using world = await asker({ tasks: true, elicit: () => accept() })
    const taskId = await world.asker.create()
    await world.asker.ask('tasks/result', { taskId })
    const { error } = await world.asker.ask('tasks/cancel', { taskId })
    expect(error).toEqual({ code: -32602, message: 'The task cannot be cancelled: it is already completed' })
  })

  it('rejects unknown task ids, and lists its own tasks in pages [TASK-017] [TASK-038] [TASK-039] [TASK-040] [TASK-046] [TASK-050]', async () => {
    await using world = await asker({ tasks: true, elicit: () => accept() })
    const ids: string[] = []
    for (let number = 0; number < 60; number++) ids.push(await world.asker.create())
    expect(new Set(ids).size).toBe(60)
    for (const id of ids) expect(id).toMatch(/^[\w-]{32}$/)
    const first = (await world.asker.ask('tasks/list')).result!
    const second = (await world.asker.ask('tasks/list', { cursor: first.nextCursor })).result!
    expect(second).not.toHaveProperty('nextCursor')
    const listed = [first, second].flatMap(({ tasks }) => (tasks as { taskId: string }[]).map(({ taskId }) => taskId))
    expect(listed).toEqual(ids)
    const place = String(first.nextCursor).match(/\d+$/)![0]
    const neverIssued = ['bogus', '', '0', '-1', '1e0', '0x1', ' 1 ', '50', place, `${first.nextCursor} `, '61', 'x.50']
    for (const cursor of neverIssued) {
      expect((await world.asker.ask('tasks/list', { cursor })).error?.code, JSON.stringify(cursor)).toBe(-32602)
    }
    for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel']) {
      expect((await world.asker.ask(method, { taskId: 'nobody' })).error?.code).toBe(-32602)
    }
  })

  it('deletes a task when its TTL expires, whatever its status [TASK-022]', async () => {
    const { handlers, stopped } = slowUser({ maxTtlMs: 30 })
    await using world = await asker(handlers)
    const { result } = await world.asker.ask('elicitation/create', form({ task: { ttl: 99_999 } }))
    const { taskId, ttl } = result!.task as { taskId: string; ttl: number }
    expect(ttl).toBe(30)
    await stopped
    expect((await world.asker.ask('tasks/get', { taskId })).error?.code).toBe(-32602)
  })

  it('limits the number of tasks; finished tasks are evicted [TASK-055]', async () => {
    const { handlers, answer } = slowUser({ maxTasks: 2 })
    await using world = await asker(handlers)
    const [one] = [await world.asker.create(), await world.asker.create()]
    const refused = await world.asker.ask('elicitation/create', form({ task: {} }))
    expect(refused.error).toEqual({ code: -32603, message: 'Task limit reached: at most 2 tasks can be open' })
    answer()
    await world.asker.ask('tasks/result', { taskId: one })
    await world.asker.create()
    expect((await world.asker.ask('tasks/get', { taskId: one })).error?.code).toBe(-32602)
  })

  it('sends the related task with the progress of a question that belongs to a task [TASK-028]', async () => {
    const elicit: ClientHandlers['elicit'] = (_form, { progress }) => {
      progress?.(1, { total: 2 })
      return accept()
    }
    await using world = await asker({ elicit })
    const _meta = { progressToken: 'p1', [relatedKey]: { taskId: 'of-the-server' } }
    const { result } = await world.asker.ask('elicitation/create', form({ _meta }))
    await world.asker.ask('elicitation/create', form({ _meta: { progressToken: 'p2' } }))
    const related = { _meta: { [relatedKey]: { taskId: 'of-the-server' } } }
    expect(result).toMatchObject(related)
    expect(said(world.asker.server.transcript, 'client', 'notifications/progress').map(({ params }) => params)).toEqual(
      [
        { progressToken: 'p1', progress: 1, total: 2, ...related },
        { progressToken: 'p2', progress: 1, total: 2 },
      ],
    )
  })

  it('reports the progress of a task with its original token until the task ends [PROG-011] [TASK-028]', async () => {
    const answer = gate()
    const reported = gate()
    let report: InputContext['progress']
    const elicit: ClientHandlers['elicit'] = async (_form, { progress }) => {
      report = progress
      progress?.(1, { message: 'Asking' })
      reported.open()
      await answer.opened
      progress?.(2)
      return accept()
    }
    await using world = await asker({ tasks: true, elicit })
    const one = await world.asker.create({ _meta: { progressToken: 'p1' } })
    await reported.opened
    answer.open()
    await world.asker.ask('tasks/result', { taskId: one })
    report?.(3)
    const two = await world.asker.create()
    await world.asker.ask('tasks/result', { taskId: two })
    const related = { _meta: { [relatedKey]: { taskId: one } } }
    const progress = said(world.asker.server.transcript, 'client', 'notifications/progress')
    expect(progress.map(({ params }) => params)).toEqual([
      { progressToken: 'p1', progress: 1, message: 'Asking', ...related },
      { progressToken: 'p1', progress: 2, ...related },
    ])
  })

  it('sends no progress of a cancelled task [PROG-011]', async () => {
    const { handlers, answer, stopped } = slowUser()
    const elicit: ClientHandlers['elicit'] = async (asked, context) => {
      const answered = await handlers.elicit!(asked, context)
      context.progress?.(1)
      return answered
    }
    await using world = await asker({ ...handlers, elicit })
    const taskId = await world.asker.create({ _meta: { progressToken: 'p1' } })
    await world.asker.ask('tasks/cancel', { taskId })
    await stopped
    answer()
    await world.asker.ask('tasks/get', { taskId })
    expect(said(world.asker.server.transcript, 'client', 'notifications/progress')).toEqual([])
  })

  it.each(['tasks/get', 'tasks/list', 'tasks/cancel'])(
    'answers %s without related-task metadata [TASK-029]',
    async (method) => {
      await using world = await asker(slowUser().handlers)
      const taskId = await world.asker.create()
      const _meta = { [relatedKey]: { taskId } }
      const { result } = await world.asker.ask(method, { ...(method !== 'tasks/list' && { taskId }), _meta })
      expect(result).toBeDefined()
      expect(result?._meta ?? {}).not.toHaveProperty([relatedKey])
    },
  )

  it('ignores related-task metadata in a request about a task [TASK-030]', async () => {
    await using world = await asker({ tasks: true, elicit: () => accept() })
    const [one, two] = [await world.asker.create(), await world.asker.create()]
    const _meta = { [relatedKey]: { taskId: two } }
    expect((await world.asker.ask('tasks/get', { taskId: one, _meta })).result).toMatchObject({ taskId: one })
  })

  it('reports what happens to its tasks, with the server and the number of tasks [TASK-058] [TASK-059]', async () => {
    const events: ClientSideTaskEvent[] = []
    const { handlers, answer } = slowUser({ onEvent: (event) => void events.push(event) })
    const sample = () => {
      throw new ProtocolError(-32050, 'No model')
    }
    await using world = await asker({ ...handlers, sample })
    const [one, two] = [await world.asker.create(), await world.asker.create()]
    await world.asker.ask('tasks/cancel', { taskId: two })
    answer()
    await world.asker.ask('tasks/result', { taskId: one })
    const messages = [{ role: 'user', content: { type: 'text', text: 'Hi' } }]
    const { result } = await world.asker.ask('sampling/createMessage', { messages, maxTokens: 1, task: {} })
    const three = (result!.task as { taskId: string }).taskId
    await world.asker.ask('tasks/result', { taskId: three })
    const method = 'elicitation/create'
    expect(events.map(({ server: _server, ...event }) => event)).toEqual([
      { type: 'created', taskId: one, method, open: 1, stored: 1 },
      { type: 'created', taskId: two, method, open: 2, stored: 2 },
      { type: 'cancelled', taskId: two, method, open: 1, stored: 2 },
      { type: 'completed', taskId: one, method, open: 0, stored: 2 },
      { type: 'retrieved', taskId: one, method, open: 0, stored: 2 },
      { type: 'created', taskId: three, method: 'sampling/createMessage', open: 1, stored: 3 },
      { type: 'failed', taskId: three, method: 'sampling/createMessage', open: 0, stored: 3 },
      { type: 'retrieved', taskId: three, method: 'sampling/createMessage', open: 0, stored: 3 },
    ])
    for (const { server } of events) expect(server).toEqual({ name: expect.stringMatching(/./), address: undefined })
  })

  it('reports a task that expires while it runs [TASK-058]', async () => {
    const events: ClientSideTaskEvent[] = []
    const { handlers, stopped } = slowUser({ maxTtlMs: 30, onEvent: (event) => void events.push(event) })
    await using world = await asker(handlers)
    await world.asker.create()
    await stopped
    expect(events.map(({ type, open, stored }) => [type, open, stored])).toEqual([
      ['created', 1, 1],
      ['expired', 0, 0],
    ])
  })

  it('reports failed look-ups with the beginning of the id, counted by the minute [TASK-060]', async () => {
    const events: ClientSideTaskEvent[] = []
    const { handlers } = slowUser({ onEvent: (event) => void events.push(event) })
    await using world = await asker(handlers)
    const time = movableDate()
    for (const method of ['tasks/get', 'tasks/result']) await world.asker.ask(method, { taskId: 'no-such-task' })
    time.advance(60_000)
    await world.asker.ask('tasks/cancel', { taskId: 'no-such-task' })
    const counts = { open: 0, stored: 0 }
    expect(events.map(({ server: _server, ...event }) => event)).toEqual([
      { type: 'lookup-failed', method: 'tasks/get', taskIdPrefix: 'no-suc', recent: 1, ...counts },
      { type: 'lookup-failed', method: 'tasks/result', taskIdPrefix: 'no-suc', recent: 2, ...counts },
      { type: 'lookup-failed', method: 'tasks/cancel', taskIdPrefix: 'no-suc', recent: 1, ...counts },
    ])
  })

  it('limits how often a server can create, poll and list tasks [TASK-054] [TASK-060]', async () => {
    const events: ClientSideTaskEvent[] = []
    const requests = { perSecond: 0.001, burst: 3 }
    const { handlers } = slowUser({ requests, onEvent: (event) => void events.push(event) })
    await using world = await asker(handlers)
    const taskId = await world.asker.create()
    const poll = () => world.asker.ask('tasks/get', { taskId })
    const answers = [await poll(), await world.asker.ask('tasks/list'), await poll(), await poll()]
    expect(answers.map(({ error }) => error?.code)).toEqual([undefined, undefined, -32000, -32000])
    expect(answers[2]!.error).toMatchObject({ data: { error: 'rate_limited', retryAfterMs: expect.any(Number) } })
    expect((await world.asker.ask('elicitation/create', form({ task: {} }))).error?.code).toBe(-32000)
    expect(events.map(({ type }) => type)).toEqual(['created', 'rate-limited'])
    expect(events[1]).toMatchObject({ method: 'tasks/get', taskIdPrefix: taskId.slice(0, 6), recent: 1 })
    await using free = await asker(slowUser({ requests: false }).handlers)
    expect((await free.asker.ask('tasks/list')).result?.tasks).toEqual([])
  })

  it('answers the server although the listener of events fails [TASK-058]', async () => {
    const { handlers } = slowUser({
      onEvent() {
        throw new Error('The log is full')
      },
    })
    await using world = await asker(handlers)
    const errors: unknown[] = []
    world.client.on('error', ({ error }) => errors.push(error))
    const taskId = await world.asker.create()
    expect((await world.asker.ask('tasks/get', { taskId })).result).toMatchObject({ status: 'working' })
    expect(errors).toMatchObject([{ message: 'The log is full' }])
  })

  it('rejects invalid options', () => {
    const make1 = (requests: object) => () =>
      new Client({ name: 'test', version: '1' }, { handlers: slowUser({ requests } as never).handlers })
    expect(make1({ perSecond: 0 })).toThrow('handlers.tasks.requests: perSecond must be greater than 0')
    const { handlers } = slowUser({ maxTasks: 0 })
    const make = () => new Client({ name: 'test', version: '1' }, { handlers })
    expect(make).toThrow('handlers.tasks.maxTasks must be greater than 0')
  })
})

describe('a handler that asks with a task', () => {
  const taskServer = () => {
    const server = new McpServer({ name: 's', version: '1' })
    server.registerTool('ask', {}, async (_, ctx) => {
      const form = z.object({ sure: z.boolean() })
      const sure = ctx.can('elicit') && (await ctx.elicit('Sure?', form, { task: { ttlMs: 60_000 } })).content?.sure
      const { text } = await ctx.sample(
        { messages: [{ role: 'user', content: { type: 'text', text: 'Hi' } }], maxTokens: 10 },
        { task: {} },
      )
      return `${sure} ${text}`
    })
    return server
  }
  const handlers: ClientHandlers = { tasks: { pollIntervalMs: 20 }, elicit: () => accept(), sample: () => written }

  everyWire(
    'gets an answer from clients with and without task support [TASK-003] [TASK-011]',
    async (wire) => {
      await using pair = await wire.connect(taskServer(), { handlers })
      expect((await pair.client.callTool('ask')).text).toBe(`${wire.revision.asks.includes('form')} Hello`)
      const asked = said(pair.transcript, 'server').flatMap(({ method, params }) =>
        method?.includes('/create') ? [params] : [],
      )
      if (wire.revision.id === legacy) {
        expect(asked).toMatchObject([{ task: { ttl: 60_000 } }, { task: {} }])
        expect(said(pair.transcript, 'server', 'tasks/result')).toHaveLength(2)
      } else for (const params of asked) expect(params).not.toHaveProperty('task')
    },
    { schemas: undefined },
  )

  it('asks without a task when the client did not declare tasks [TASK-003]', async () => {
    await using client = await connected(taskServer(), { revision: legacy, handlers: { ...handlers, tasks: false } })
    expect((await client.callTool('ask')).text).toBe('true Hello')
  })

  it('leaves no listeners behind on a signal that outlives its questions', async () => {
    const { signal } = new AbortController()
    const server = new McpServer({ name: 's', version: '1' })
    server.registerTool('ask', {}, async (_, ctx) => {
      const { action } = await ctx.elicit('Sure?', z.object({ sure: z.boolean() }), { task: {}, signal })
      return action
    })
    await using client = await connected(server, { revision: legacy, handlers })
    for (let count = 0; count < 3; count++) expect((await client.callTool('ask')).text).toBe('accept')
    // One listener serves all requests that a signal is passed to.
    expect(getEventListeners(signal, 'abort').length).toBeLessThanOrEqual(1)
  })

  it('polls at the interval of the client until its own timeout [TASK-023]', async () => {
    const { handlers: slow, stopped } = slowUser({ pollIntervalMs: 20 })
    const server = new McpServer({ name: 's', version: '1' })
    server.registerTool('ask', {}, async (_, ctx) => {
      const error = await errorOf<McpError>(ctx.elicit('Sure?', undefined, { task: {}, timeoutMs: 60 }))
      return error.code
    })
    await using client = await connected(server, { revision: legacy, handlers: slow })
    expect((await client.callTool('ask')).text).toBe('timeout')
    await stopped
  })

  it('waits for an interval of minutes before it polls [TASK-023]', async () => {
    await using world = await taskAnswerer(undefined, { pollInterval: 300_000 })
    using time = movableTimers()
    await world.created
    await time.advance(299_000)
    expect(world.heard('tasks/get')).toHaveLength(0)
    await time.advance(2_000)
    expect(world.heard('tasks/get')).toHaveLength(1)
  })

  it('gets progress until the task ends, which restarts its timeout [PROG-011]', async () => {
    const seen: Progress[] = []
    await using world = await taskAnswerer({ onProgress: (progress) => seen.push(progress), timeoutMs: 60_000 })
    using time = movableTimers()
    const { progressToken } = (await world.created)._meta as Body
    const report = (progress: number, more: Body = {}) =>
      world.client.notify('notifications/progress', { progressToken, progress, ...more })
    for (let step = 1; step <= 4; step++) {
      await time.advance(40_000)
      report(step, { total: 5, message: `step ${step}` })
    }
    report(Number.NaN)
    world.client.notify('notifications/progress', { progressToken: 'unknown', progress: 9 })
    world.finish()
    expect(await time.advanceUntil(world.text)).toBe('accept')
    report(5)
    await world.client.request('ping')
    expect(seen).toEqual([1, 2, 3, 4].map((step) => ({ progress: step, total: 5, message: `step ${step}` })))
  })

  it('times out in spite of progress after ten times its timeout [PROG-011]', async () => {
    await using world = await taskAnswerer({ timeoutMs: 60_000 })
    using time = movableTimers()
    const { progressToken } = (await world.created)._meta as Body
    for (let step = 1; step <= 15; step++) {
      await time.advance(40_000)
      world.client.notify('notifications/progress', { progressToken, progress: step })
    }
    expect(await time.advanceUntil(world.text)).toBe('timeout')
    expect(world.heard('tasks/cancel')).toHaveLength(1)
    // The cancellation must reach the client, so it is not withdrawn with the call.
    expect(world.heard('notifications/cancelled')).toEqual([])
  })

  it('reports the task and its status for the log of the server [TASK-052]', async () => {
    const changes: QuestionTaskChange[] = []
    await using world = await taskAnswerer({}, {}, { onTask: (change) => void changes.push(change) })
    await world.created
    world.finish()
    await world.text
    const origin = { taskId: 'c1', method: 'elicitation/create', requestMethod: 'tools/call', name: 'ask' }
    expect(changes).toEqual([
      { ...origin, status: 'working' },
      { ...origin, status: 'completed' },
    ])
  })

  it('reports a task that the client cancelled, or that timed out, as cancelled [TASK-052]', async () => {
    const changes: QuestionTaskChange[] = []
    const onTask = (change: QuestionTaskChange) => {
      changes.push(change)
      throw new Error('The log is full')
    }
    const errors: unknown[] = []
    await using world = await taskAnswerer({}, {}, { onTask }, (error) => errors.push(error))
    await world.created
    world.finish('cancelled')
    expect(await world.text).toBe('cancelled')
    await using late = await taskAnswerer({ timeoutMs: 50 }, {}, { onTask }, (error) => errors.push(error))
    expect(await late.text).toBe('timeout')
    expect(changes.map(({ status }) => status)).toEqual(['working', 'cancelled', 'working', 'cancelled'])
    expect(errors).toMatchObject(changes.map(() => ({ message: 'The log is full' })))
  })

  it('names the task when it withdraws a request about it [TASK-028]', async () => {
    await using world = await taskAnswerer({}, { status: 'input_required' })
    await world.created
    await vi.waitFor(() => expect(world.heard('tasks/result')).toHaveLength(1))
    world.client.notify('notifications/cancelled', { requestId: world.callId })
    await vi.waitFor(() => expect(world.heard('notifications/cancelled')).toHaveLength(1))
    expect(world.heard('notifications/cancelled')[0]?.params).toMatchObject({
      requestId: world.heard('tasks/result')[0]?.id,
      _meta: { [relatedKey]: { taskId: 'c1' } },
    })
  })
})

/** A scripted client that is asked by the tool of a server, and answers with the task `c1`. */
async function taskAnswerer(
  ask: AskOptions = {},
  task: Body = {},
  questions: QuestionOptions = {},
  onError: (error: unknown) => void = () => {},
) {
  const server = new McpServer({ name: 's', version: '1' }, { questions, onError })
  server.registerTool('ask', {}, async (_, ctx) => {
    return ctx.elicit('Sure?', undefined, { ...ask, task: {} }).then(
      ({ action }) => action,
      (error: McpError) => error.code,
    )
  })
  const capabilities = { elicitation: {}, tasks: { cancel: {}, requests: { elicitation: { create: {} } } } }
  const client = await ScriptedClient.connect(server, { revision: legacy, capabilities })
  const time = new Date().toISOString()
  let state: Body = { taskId: 'c1', status: 'working', createdAt: time, lastUpdatedAt: time, ttl: null, ...task }
  if (state.pollInterval === undefined) state.pollInterval = 20
  const created = gate<Body>()
  client.transcript.onLine(({ from, message }) => {
    const { id, method, params } = message as Said
    if (from !== 'server' || !method || id === undefined) return
    const answer = (result: Body) => client.say({ jsonrpc: '2.0', id, result })
    if (method === 'elicitation/create') {
      answer({ task: state })
      created.open(params as Body)
    } else if (method === 'tasks/get') answer(state)
    else if (method === 'tasks/cancel') answer({ ...state, status: 'cancelled' })
    else if (state.status === 'completed') answer({ action: 'accept', content: {} })
  })
  await client.open()
  const callId = 'call'
  const call = client.send({ jsonrpc: '2.0', id: callId, method: 'tools/call', params: { name: 'ask' } })
  return {
    client,
    callId,
    created: created.opened,
    text: call.then(({ result }) => (result as { content: { text: string }[] }).content[0]!.text),
    heard: (method: string) => said(client.transcript, 'server', method),
    finish(status = 'completed') {
      state = { ...state, status }
    },
    async [Symbol.asyncDispose]() {
      await client.close()
      await server.close()
    },
  }
}

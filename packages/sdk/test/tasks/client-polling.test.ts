import { type McpError, PeerError } from 'tenon'
import type { ClientHandlers } from 'tenon/client'
import type { ScriptedAnswer, ScriptedServer } from 'tenon/testing'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { errorOf } from '../kit/error-of.ts'
import { gate } from '../kit/gate.ts'
import { scripted } from '../kit/scripted-server.ts'
import { heard, said } from '../kit/transcript.ts'
import { accept, legacy, modern } from './client-support.ts'
import {
  type Answers,
  ask,
  type Body,
  clientOf,
  done,
  gone,
  oldServer,
  oldTask,
  task,
  taskful,
} from './scripted-task-server.ts'

const complete = (more: Body): ScriptedAnswer => ({ result: { resultType: 'complete', ...more } })

/** Creates a 2026-07-28 server that turns every call into a task and has no streams. */
function taskServer(answers: Answers, created: Body = {}): ScriptedServer {
  const call = { 'tools/call': () => ({ result: { resultType: 'task', ...task(created) } }) }
  return scripted(modern, { ...call, ...answers }, taskful[modern])
}

/** Returns the answers one after another, and then repeats the last one. */
function sequence(...answers: ScriptedAnswer[]): () => ScriptedAnswer {
  let next = 0
  return () => answers[Math.min(next++, answers.length - 1)]
}

afterEach(() => void vi.useRealTimers())

describe('polling', () => {
  it.each([legacy, modern] as const)(
    'follows the interval of the server, also when it changes (%s) [TASK-023] [XTASK-011]',
    async (revision) => {
      const wish = (ms: number) => (revision === modern ? { pollIntervalMs: ms } : { pollInterval: ms })
      const look = sequence(
        complete({ ...(revision === modern ? task(wish(1_000)) : oldTask(wish(1_000))) }),
        complete({ ...(revision === modern ? task(wish(60_000)) : oldTask(wish(60_000))) }),
        complete({ ...(revision === modern ? task(wish(300_000)) : oldTask(wish(300_000))) }),
      )
      const created = { 'tools/call': () => ({ result: { task: oldTask(wish(5_000)) } }) }
      const server =
        revision === modern
          ? taskServer({ 'tasks/get': look }, wish(5_000))
          : oldServer({ ...created, 'tasks/get': look })
      await using client = await clientOf(server)
      const handle = await client.callToolAsTask('report')
      const looks = () => said(server.transcript, 'client', 'tasks/get').length
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] })
      const result = errorOf(handle.result())
      // Up to ten percent jitter is added so that clients do not poll in step.
      await vi.advanceTimersByTimeAsync(4_999)
      expect(looks()).toBe(0)
      await vi.advanceTimersByTimeAsync(502)
      expect(looks()).toBe(1)
      await vi.advanceTimersByTimeAsync(498)
      expect(looks()).toBe(1)
      await vi.advanceTimersByTimeAsync(602)
      expect(looks()).toBe(2)
      await vi.advanceTimersByTimeAsync(59_398)
      expect(looks()).toBe(2)
      await vi.advanceTimersByTimeAsync(6_602)
      expect(looks()).toBe(3)
      await vi.advanceTimersByTimeAsync(293_398)
      expect(looks()).toBe(3)
      await client.close()
      await result
    },
  )

  it('ends with the last state and the error of a failed task [XTASK-013]', async () => {
    const error = { code: -32603, message: 'Out of paper', data: { tray: 2 } }
    const server = taskServer({
      'tasks/get': sequence(complete(task()), complete(task({ status: 'failed', error, statusMessage: 'No paper' }))),
    })
    await using client = await clientOf(server)
    const handle = await client.callToolAsTask('report')
    const failure = await errorOf<PeerError>(handle.result())
    expect(failure).toBeInstanceOf(PeerError)
    expect(failure).toMatchObject({ rpcCode: -32603, message: 'Out of paper', data: { tray: 2 } })
    expect(handle).toMatchObject({ status: 'failed', statusMessage: 'No paper' })
    const looks = said(server.transcript, 'client', 'tasks/get').length
    expect(await errorOf(handle.result())).toMatchObject({ rpcCode: -32603 })
    expect(said(server.transcript, 'client', 'tasks/get')).toHaveLength(looks)
    expect(await errorOf(client.callTool('report'))).toMatchObject({ rpcCode: -32603 })
  })

  it('retries after an internal error of the server', async () => {
    const trouble = { error: { code: -32603, message: 'Internal error' } }
    const server = taskServer({
      'tasks/get': sequence(trouble, trouble, complete(task({ status: 'completed', result: done }))),
    })
    await using client = await clientOf(server)
    expect((await client.callTool('report')).text).toBe('done')
  })

  it('ends when the server has deleted the task, and tracks its TTL [XTASK-019]', async () => {
    const server = taskServer({ 'tasks/get': sequence(complete(task({ ttlMs: 900 })), gone) }, { ttlMs: 500 })
    await using client = await clientOf(server)
    const handle = await client.callToolAsTask('report')
    expect(handle.newest.ttlMs).toBe(500)
    expect(await errorOf(handle.result())).toMatchObject({ name: 'PeerError', rpcCode: -32602 })
    expect(handle.newest.ttlMs).toBe(900)
  })

  it.each([legacy, modern] as const)(
    'treats a task that disappears after tasks/cancel as cancelled (%s) [TASK-045] [XTASK-030]',
    async (revision) => {
      let isGone = false
      const answers = {
        'tasks/get': () => (isGone ? gone : complete(revision === modern ? task() : oldTask())),
        'tasks/cancel': () => {
          isGone = true
          return revision === modern ? complete({}) : { result: oldTask({ status: 'cancelled' }) }
        },
      }
      const server = revision === modern ? taskServer(answers) : oldServer(answers)
      await using client = await clientOf(server)
      const handle = await client.callToolAsTask('report')
      const result = errorOf<McpError>(handle.result())
      await handle.cancel()
      expect((await result).code).toBe('cancelled')
      expect(handle.status).toBe('cancelled')
    },
  )

  it.each([
    ['no task', { taskId: 7 }],
    ['another task', task({ taskId: 't2' })],
    ['a status that there is not', task({ status: 'resting' })],
    ['a result that is none', task({ status: 'completed', result: 'done' })],
    ['no error', task({ status: 'failed' })],
    ['questions that are none', task({ status: 'input_required', inputRequests: { a: { method: 'tools/call' } } })],
  ])('rejects a response with %s', async (_, body) => {
    const server = taskServer({ 'tasks/get': () => complete(body), 'tasks/cancel': () => complete({}) })
    await using client = await clientOf(server)
    expect((await errorOf(client.callTool('report'))).code).toBe('invalid-response')
  })
})

describe('an unexpected task', () => {
  it('is an invalid response [XTASK-005]', async () => {
    const created = () => ({ result: { resultType: 'task', ...task() } })
    const server = taskServer({
      'prompts/get': created,
      'resources/read': created,
      'tools/list': created,
      'tasks/get': created,
    })
    await using client = await clientOf(server)
    expect((await errorOf(client.getPrompt('p'))).code).toBe('invalid-response')
    expect((await errorOf(client.readResource('file:///a'))).code).toBe('invalid-response')
    expect((await errorOf(client.listTools())).code).toBe('invalid-response')
    expect((await errorOf(client.callTool('report'))).code).toBe('invalid-response')
    expect(said(server.transcript, 'client', 'tasks/get').length).toBeGreaterThan(0)
  })

  it('is an invalid response for a client with tasks: false [XTASK-005]', async () => {
    await using client = await clientOf(taskServer({}), { tasks: false })
    expect((await errorOf(client.callTool('report'))).code).toBe('invalid-response')
  })
})

describe('questions of a task', () => {
  it('are answered once each, even when they are listed many times [XTASK-022]', async () => {
    const asks = (...keys: string[]) => {
      const inputRequests = Object.fromEntries(keys.map((key) => [key, ask(key)]))
      return complete(task({ status: 'input_required', inputRequests }))
    }
    const server = taskServer({
      'tasks/get': sequence(
        asks('a', 'b'),
        asks('a', 'b'),
        asks('a', 'b'),
        asks('c'),
        asks('c'),
        complete(task({ status: 'completed', result: done })),
      ),
      'tasks/update': () => complete({}),
    })
    const shown: string[] = []
    const elicit: ClientHandlers['elicit'] = ({ message }) => {
      shown.push(message)
      return accept()
    }
    await using client = await clientOf(server, { handlers: { elicit } })
    expect((await client.callTool('report')).text).toBe('done')
    expect(shown).toEqual(['a', 'b', 'c'])
    const updates = said(server.transcript, 'client', 'tasks/update').map(({ params }) => params)
    expect(updates).toMatchObject([
      { taskId: 't1', inputResponses: { a: accept(), b: accept() } },
      { taskId: 't1', inputResponses: { c: accept() } },
    ])
  })

  it('are aborted and not answered when the server replaces them [XTASK-024]', async () => {
    const old = gate<AbortSignal>()
    const asks = (key: string) => complete(task({ status: 'input_required', inputRequests: { [key]: ask(key) } }))
    let isNew = false
    let isAnswered = false
    const server = taskServer({
      'tasks/get': () => {
        if (isAnswered) return complete(task({ status: 'completed', result: done }))
        return asks(isNew ? 'new' : 'old')
      },
      'tasks/update': () => {
        isAnswered = true
        return complete({})
      },
    })
    const elicit: ClientHandlers['elicit'] = ({ message }, { signal }) => {
      if (message === 'new') return accept()
      old.open(signal)
      return new Promise(() => {})
    }
    await using client = await clientOf(server, { handlers: { elicit } })
    const call = client.callTool('report')
    const signal = await old.opened
    isNew = true
    expect((await call).text).toBe('done')
    expect(signal.aborted).toBe(true)
    const updates = said(server.transcript, 'client', 'tasks/update').map(({ params }) => params?.inputResponses)
    expect(updates).toEqual([{ new: accept() }])
  })

  it('that the client did not declare end the call and cancel the task', async () => {
    const inputRequests = { a: { method: 'sampling/createMessage', params: { messages: [], maxTokens: 1 } } }
    const server = taskServer({
      'tasks/get': () => complete(task({ status: 'input_required', inputRequests })),
      'tasks/cancel': () => complete({}),
    })
    await using client = await clientOf(server)
    expect((await errorOf(client.callTool('report'))).code).toBe('invalid-response')
    await heard(server.transcript, 'client', 'tasks/cancel')
    expect(said(server.transcript, 'client', 'tasks/update')).toEqual([])
  })

  it('are limited by maxRounds', async () => {
    let number = 0
    const server = taskServer({
      'tasks/get': () =>
        complete(task({ status: 'input_required', inputRequests: { [`k${number++}`]: ask('More?') } })),
      'tasks/update': () => complete({}),
      'tasks/cancel': () => complete({}),
    })
    await using client = await clientOf(server, { maxRounds: 3 })
    expect((await errorOf(client.callTool('report'))).message).toBe(
      'The task requested input 3 times without returning a result (maxRounds)',
    )
  })
})

describe('task subscriptions', () => {
  const acknowledge = (server: ScriptedServer, id: unknown, taskIds: string[]) => {
    const _meta = { 'io.modelcontextprotocol/subscriptionId': id }
    server.say({
      jsonrpc: '2.0',
      method: 'notifications/subscriptions/acknowledged',
      params: { notifications: { taskIds }, _meta },
    })
  }

  it('name the task and replace most polling [XTASK-035]', async () => {
    const server = taskServer({ 'tasks/get': () => complete(task()), 'subscriptions/listen': () => undefined })
    await using client = await clientOf(server)
    const handle = await client.callToolAsTask('report')
    const result = handle.result()
    const { id, params } = await heard(server.transcript, 'client', 'subscriptions/listen')
    expect(params?.notifications).toEqual({ taskIds: ['t1'] })
    acknowledge(server, id, ['t1'])
    // The task may have changed before the subscription started, so the client reads it once.
    await heard(server.transcript, 'client', 'tasks/get')
    const _meta = { 'io.modelcontextprotocol/subscriptionId': id }
    const last = { ...task({ status: 'completed', result: done }), _meta }
    server.say({
      jsonrpc: '2.0',
      method: 'notifications/tasks',
      params: { ...task({ statusMessage: 'half way' }), _meta },
    })
    server.say({ jsonrpc: '2.0', method: 'notifications/tasks', params: last })
    expect((await result).text).toBe('done')
    await heard(server.transcript, 'client', 'notifications/cancelled')
  })

  it('are not relied on when the server does not grant the task', async () => {
    const server = taskServer({
      'tasks/get': sequence(complete(task()), complete(task()), complete(task({ status: 'completed', result: done }))),
      'subscriptions/listen': () => undefined,
    })
    await using client = await clientOf(server)
    const call = client.callTool('report')
    const { id } = await heard(server.transcript, 'client', 'subscriptions/listen')
    acknowledge(server, id, [])
    expect((await call).text).toBe('done')
  })
})

import type { ServerResponse } from 'node:http'
import { type McpError, PeerError, type ServerCapabilities } from 'tenon'
import { type ClientHandlers, type ClientOptions, connect } from 'tenon/client'
import type { ScriptedAnswer, ScriptedServer } from 'tenon/testing'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { errorOf, everything, gate, heard, type Said, said, scripted, scriptedClient } from '../era/support.ts'
import { listenWith } from '../transport/http/server/support.ts'
import { accept, extensionId, legacy, modern } from './client-support.ts'

type Body = Record<string, unknown>
type Answers = Record<string, (params: Body) => ScriptedAnswer>

const times = { createdAt: '2026-01-01T00:00:00Z', lastUpdatedAt: '2026-01-01T00:00:00Z' }
const done = { content: [{ type: 'text', text: 'done' }] }
const taskful: Record<string, ServerCapabilities> = {
  [legacy]: { ...everything, tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } },
  [modern]: { ...everything, extensions: { [extensionId]: {} } },
}

/** A task of 2026-07-28, t1 unless told otherwise. */
const task = (more: Body = {}) => ({
  taskId: 't1',
  status: 'working',
  ...times,
  ttlMs: null,
  pollIntervalMs: 20,
  ...more,
})
/** The same in the words of 2025-11-25. */
const oldTask = (more: Body = {}) => ({
  taskId: 't1',
  status: 'working',
  ...times,
  ttl: null,
  pollInterval: 20,
  ...more,
})
const complete = (more: Body): ScriptedAnswer => ({ result: { resultType: 'complete', ...more } })
const gone = { error: { code: -32602, message: 'There is no such task' } }

function ask(message: string) {
  const requestedSchema = { type: 'object', properties: { sure: { type: 'boolean' } } }
  return { method: 'elicitation/create', params: { mode: 'form', message, requestedSchema } }
}

/** A server of 2026-07-28 that makes a task of every call, and no streams. */
function taskServer(answers: Answers, created: Body = {}): ScriptedServer {
  const call = { 'tools/call': () => ({ result: { resultType: 'task', ...task(created) } }) }
  return scripted(modern, { ...call, ...answers }, taskful[modern])
}

/** A server of 2025-11-25 with one tool. */
function oldServer(answers: Answers, taskSupport: string | undefined = 'required', capabilities = taskful[legacy]) {
  const tool = { name: 'report', inputSchema: { type: 'object' }, ...(taskSupport && { execution: { taskSupport } }) }
  const call = ({ task }: Body) => ({ result: task ? { task: oldTask() } : { content: [] } })
  const basics = { 'tools/list': () => ({ result: { tools: [tool] } }), 'tools/call': call }
  return scripted(legacy, { ...basics, ...answers }, capabilities)
}

function clientOf(server: ScriptedServer, options: ClientOptions = {}) {
  return scriptedClient(server, { tasks: true, handlers: { elicit: () => accept() }, ...options })
}

/** Gives the answers one after another, and the last for ever. */
function sequence(...answers: ScriptedAnswer[]): () => ScriptedAnswer {
  let next = 0
  return () => answers[Math.min(next++, answers.length - 1)]
}

afterEach(() => void vi.useRealTimers())

describe('polling', () => {
  it.each([legacy, modern] as const)(
    'is as slow as the server wishes, also when its wish changes (%s) [TASK-023] [XTASK-011]',
    async (revision) => {
      const wish = (ms: number) => (revision === modern ? { pollIntervalMs: ms } : { pollInterval: ms })
      const look = sequence(
        complete({ ...(revision === modern ? task(wish(1_000)) : oldTask(wish(1_000))) }),
        complete({ ...(revision === modern ? task(wish(60_000)) : oldTask(wish(60_000))) }),
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
      // Up to a tenth is added, so that clients do not ask in step.
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
      await client.close()
      await result
    },
  )

  it('ends with the last state, and with the error that the task failed of [XTASK-013]', async () => {
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

  it('takes trouble within the server for passing', async () => {
    const trouble = { error: { code: -32603, message: 'Internal error' } }
    const server = taskServer({
      'tasks/get': sequence(trouble, trouble, complete(task({ status: 'completed', result: done }))),
    })
    await using client = await clientOf(server)
    expect((await client.callTool('report')).text).toBe('done')
  })

  it('gives a task up that the server does not keep any longer, and knows how long it would [XTASK-019]', async () => {
    const server = taskServer({ 'tasks/get': sequence(complete(task({ ttlMs: 900 })), gone) }, { ttlMs: 500 })
    await using client = await clientOf(server)
    const handle = await client.callToolAsTask('report')
    expect(handle.newest.ttlMs).toBe(500)
    expect(await errorOf(handle.result())).toMatchObject({ name: 'PeerError', rpcCode: -32602 })
    expect(handle.newest.ttlMs).toBe(900)
  })

  it.each([legacy, modern] as const)(
    'takes a task for cancelled that is forgotten after it was cancelled (%s) [TASK-045] [XTASK-030]',
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
  ])('refuses an answer with %s', async (_, body) => {
    const server = taskServer({ 'tasks/get': () => complete(body), 'tasks/cancel': () => complete({}) })
    await using client = await clientOf(server)
    expect((await errorOf(client.callTool('report'))).code).toBe('invalid-response')
  })
})

describe('a task where none belongs', () => {
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

  it('is one also to a call of a client that takes no tasks [XTASK-005]', async () => {
    await using client = await clientOf(taskServer({}), { tasks: false })
    expect((await errorOf(client.callTool('report'))).code).toBe('invalid-response')
  })
})

describe('questions of a task', () => {
  it('are answered once each, though they are seen many times [XTASK-022]', async () => {
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

  it('are taken back, and not answered, when the server has others [XTASK-024]', async () => {
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
    const signal = await old.promise
    isNew = true
    expect((await call).text).toBe('done')
    expect(signal.aborted).toBe(true)
    const updates = said(server.transcript, 'client', 'tasks/update').map(({ params }) => params?.inputResponses)
    expect(updates).toEqual([{ new: accept() }])
  })

  it('that this client did not declare end the call, and the task with it', async () => {
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

  it('have an end', async () => {
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

describe('streams of changes', () => {
  const acknowledge = (server: ScriptedServer, id: unknown, taskIds: string[]) => {
    const _meta = { 'io.modelcontextprotocol/subscriptionId': id }
    server.say({
      jsonrpc: '2.0',
      method: 'notifications/subscriptions/acknowledged',
      params: { notifications: { taskIds }, _meta },
    })
  }

  it('are asked for with the id of the task, and make asking rare [XTASK-035]', async () => {
    const server = taskServer({ 'tasks/get': () => complete(task()), 'subscriptions/listen': () => undefined })
    await using client = await clientOf(server)
    const handle = await client.callToolAsTask('report')
    const result = handle.result()
    const { id, params } = await heard(server.transcript, 'client', 'subscriptions/listen')
    expect(params?.notifications).toEqual({ taskIds: ['t1'] })
    acknowledge(server, id, ['t1'])
    // It may have changed before the server began to tell.
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

  it('that the server grants for other tasks only are not relied on', async () => {
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

describe('2025-11-25', () => {
  it('calls nothing as a task where the server did not say that it may [TASK-003] [TASK-005]', async () => {
    const server = oldServer({}, 'required', { ...everything, tasks: { list: {}, cancel: {} } })
    await using client = await clientOf(server)
    await client.listTools()
    await client.callTool('report')
    const handle = await client.callToolAsTask('report')
    await handle.result()
    expect(handle.id).toBeUndefined()
    for (const { params } of said(server.transcript, 'client', 'tools/call')) expect(params).not.toHaveProperty('task')
  })

  it.each([undefined, 'forbidden', 'sometimes'])(
    'calls no tool as a task whose taskSupport is %s [TASK-006]',
    async (support) => {
      const server = oldServer({}, support ?? '')
      await using client = await clientOf(server)
      await client.callTool('report')
      expect((await client.callToolAsTask('report')).id).toBeUndefined()
      for (const { params } of said(server.transcript, 'client', 'tools/call'))
        expect(params).not.toHaveProperty('task')
    },
  )

  it('calls a tool as a task where it wants that, and either way where it may be so [TASK-008] [TASK-009]', async () => {
    const answers = {
      'tasks/get': () => ({ result: oldTask({ status: 'completed' }) }),
      'tasks/result': () => ({ result: done }),
    }
    const required = oldServer(answers, 'required')
    await using strict = await clientOf(required)
    expect((await strict.callTool('report')).text).toBe('done')
    expect(said(required.transcript, 'client', 'tools/call')[0]!.params).toMatchObject({ name: 'report', task: {} })
    const optional = oldServer(answers, 'optional')
    await using free = await clientOf(optional)
    await free.callTool('report')
    const handle = await free.callToolAsTask('report', {}, { ttlMs: 5_000 })
    expect((await handle.result()).text).toBe('done')
    const [plain, asTask] = said(optional.transcript, 'client', 'tools/call').map(({ params }) => params)
    expect(plain).not.toHaveProperty('task')
    expect(asTask).toMatchObject({ task: { ttl: 5_000 } })
  })

  it('looks again at a tool when the list has changed [TASK-009]', async () => {
    let taskSupport = 'optional'
    const list = () => ({
      result: { tools: [{ name: 'report', inputSchema: { type: 'object' }, execution: { taskSupport } }] },
    })
    const server = oldServer({
      'tools/list': list,
      'tasks/get': () => ({ result: oldTask({ status: 'completed' }) }),
      'tasks/result': () => ({ result: done }),
    })
    await using client = await clientOf(server)
    await client.callTool('report')
    await client.callTool('report')
    expect(said(server.transcript, 'client', 'tools/list')).toHaveLength(1)
    taskSupport = 'required'
    const changed = new Promise((resolve) => client.on('toolsChanged', resolve))
    server.say({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' })
    await changed
    await client.callTool('report')
    const [first, second, third] = said(server.transcript, 'client', 'tools/call').map(({ params }) => params?.task)
    expect([first, second, third]).toEqual([undefined, undefined, {}])
  })

  it('asks for the result at once when something is needed, once, and goes on looking [TASK-024] [TASK-028] [TASK-032]', async () => {
    let status = 'input_required'
    const server: ScriptedServer = oldServer({
      'tasks/get': () => ({ result: oldTask({ status }) }),
      'tasks/result': () => undefined,
    })
    await using client = await clientOf(server)
    const states: string[] = []
    client.on('task', ({ status }) => states.push(status))
    const call = client.callTool('report')
    const { id } = await heard(server.transcript, 'client', 'tasks/result')
    await heard(server.transcript, 'client', 'tasks/get', 4)
    const _meta = { 'io.modelcontextprotocol/related-task': { taskId: 't1' } }
    server.say({ jsonrpc: '2.0', id: 900, method: 'elicitation/create', params: { ...ask('Sure?').params, _meta } })
    expect(await answerTo(server, 900)).toMatchObject({ ...accept(), _meta })
    status = 'completed'
    server.say({ jsonrpc: '2.0', id, result: { ...done, _meta } })
    expect((await call).text).toBe('done')
    expect(said(server.transcript, 'client', 'tasks/result')).toHaveLength(1)
    for (const { params } of said(server.transcript, 'client', 'tasks/get')) expect(params).toEqual({ taskId: 't1' })
    expect(states).toEqual(['working', 'input_required', 'completed'])
  })

  it('needs no notification of a status, and takes those that come [TASK-037]', async () => {
    let status = 'working'
    const server = oldServer({
      'tasks/get': () => ({ result: oldTask({ status, pollInterval: 20 }) }),
      'tasks/result': () => ({ result: done }),
    })
    await using client = await clientOf(server)
    const handle = await client.callToolAsTask('report')
    const told = new Promise((resolve) => client.on('task', resolve))
    server.say({ jsonrpc: '2.0', method: 'notifications/tasks/status', params: oldTask({ statusMessage: 'half way' }) })
    expect(await told).toMatchObject({ taskId: 't1', tool: 'report', statusMessage: 'half way' })
    expect(handle.statusMessage).toBe('half way')
    status = 'completed'
    expect((await handle.result()).text).toBe('done')
  })

  it('takes the result where the server forgets the task as soon as it gave it', async () => {
    let isGone = false
    const server = oldServer({
      'tasks/get': () => (isGone ? gone : { result: oldTask({ status: 'input_required' }) }),
      'tasks/result': () => {
        isGone = true
        return { result: done }
      },
    })
    await using client = await clientOf(server)
    expect((await client.callTool('report')).text).toBe('done')
  })

  it('gives the error that the call would have had', async () => {
    const error = { code: -32603, message: 'Internal error' }
    const server = oldServer({
      'tasks/get': () => ({ result: oldTask({ status: 'failed', statusMessage: 'No paper' }) }),
      'tasks/result': () => ({ error }),
    })
    await using client = await clientOf(server)
    expect(await errorOf(client.callTool('report'))).toMatchObject({ name: 'PeerError', rpcCode: -32603 })
    expect(said(server.transcript, 'client', 'tasks/result')).toHaveLength(1)
  })

  it('hears of progress for as long as the task goes on', async () => {
    let status = 'working'
    const server = oldServer({
      'tasks/get': () => ({ result: oldTask({ status }) }),
      'tasks/result': () => ({ result: done }),
    })
    await using client = await clientOf(server)
    const far = gate<unknown>()
    const call = client.callTool('report', {}, { onProgress: (progress) => far.open(progress) })
    await heard(server.transcript, 'client', 'tasks/get')
    const progressToken = said(server.transcript, 'client', 'tools/call')[0]!.params!._meta!.progressToken
    server.say({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken, progress: 3, total: 4 } })
    expect(await far.promise).toEqual({ progress: 3, total: 4 })
    status = 'completed'
    await call
  })

  it('gives the model what the server has for it before there is a result', async () => {
    const _meta = { 'io.modelcontextprotocol/model-immediate-response': 'It takes a while.' }
    const server = oldServer({ 'tools/call': () => ({ result: { task: oldTask(), _meta } }) })
    await using client = await clientOf(server)
    expect((await client.callToolAsTask('report')).immediateResponse).toBe('It takes a while.')
  })

  it('takes a plain result from a server that changed its mind', async () => {
    await using client = await clientOf(oldServer({ 'tools/call': () => ({ result: done }) }))
    const handle = await client.callToolAsTask('report')
    expect(handle.id).toBeUndefined()
    expect((await handle.result()).text).toBe('done')
    expect((await client.callTool('report')).text).toBe('done')
  })

  it('cancels nothing where the server does not let it [TASK-004]', async () => {
    const capabilities = { ...everything, tasks: { requests: { tools: { call: {} } } } }
    await using client = await clientOf(oldServer({}, 'required', capabilities))
    const handle = await client.callToolAsTask('report')
    expect((await errorOf(handle.cancel())).code).toBe('capability-missing')
  })
})

function answerTo(server: ScriptedServer, id: number): Promise<Body> {
  return new Promise((resolve) => {
    const look = () => {
      const found = said(server.transcript, 'client').find((message) => message.id === id && message.result)
      if (found) resolve(found.result!)
    }
    look()
    server.transcript.onLine(look)
  })
}

/** A server of 2025-11-25 over HTTP that asks on the stream of the session, and not on that of the request. */
async function withSessionStream() {
  const asked = gate<Body>()
  let session: ServerResponse | undefined
  let waiting: ServerResponse | undefined
  const tool = { name: 'report', inputSchema: { type: 'object' }, execution: { taskSupport: 'required' } }
  const status = () => (waiting ? 'working' : 'input_required')
  const answers: Record<string, () => unknown> = {
    initialize: () => ({
      protocolVersion: legacy,
      capabilities: taskful[legacy],
      serverInfo: { name: 's', version: '1' },
    }),
    'tools/list': () => ({ tools: [tool] }),
    'tools/call': () => ({ task: oldTask() }),
    'tasks/get': () => oldTask({ status: status() }),
  }
  const http = await listenWith(async (request, response) => {
    if (request.method === 'GET') {
      session = response.writeHead(200, { 'content-type': 'text/event-stream' })
      return session.flushHeaders()
    }
    let text = ''
    for await (const chunk of request) text += chunk
    const { id, method, result } = JSON.parse(text || '{}') as Said & { method: string }
    if (id === undefined || result) {
      response.writeHead(202).end()
      if (!result) return
      asked.open(result)
      return waiting?.end(event({ id: waitingId, result: done }))
    }
    if (method !== 'tasks/result') {
      const headers = { 'content-type': 'application/json', 'mcp-session-id': 's1' }
      return response.writeHead(200, headers).end(JSON.stringify({ jsonrpc: '2.0', id, result: answers[method]!() }))
    }
    waitingId = id
    waiting = response.writeHead(200, { 'content-type': 'text/event-stream' })
    waiting.flushHeaders()
    session?.write(event({ id: 7, ...ask('Sure?') }))
  })
  let waitingId: unknown
  return { http, asked: asked.promise }
}

function event(message: Body): string {
  return `data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`
}

it('is asked on any stream, also that of the session [TASK-033]', async () => {
  const { http, asked } = await withSessionStream()
  await using _http = http
  await using client = await connect(http.url, { revision: legacy, handlers: { elicit: () => accept() } })
  expect((await client.callTool('report')).text).toBe('done')
  expect(await asked).toEqual(accept())
})

import type { ServerResponse } from 'node:http'
import { connect, type TaskHandle } from 'tenon/client'
import type { ScriptedServer } from 'tenon/testing'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { errorOf } from '../kit/error-of.ts'
import { gate } from '../kit/gate.ts'
import { everything } from '../kit/scripted-server.ts'
import { listenWith } from '../kit/serve-http.ts'
import { heard, type Said, said } from '../kit/transcript.ts'

import { accept, legacy } from './client-support.ts'
import { ask, type Body, clientOf, done, gone, oldServer, oldTask, taskful } from './scripted-task-server.ts'

afterEach(() => void vi.useRealTimers())

describe('a client of 2025-11-25', () => {
  it('does not create tasks when the server did not declare them for tools/call [TASK-003] [TASK-005]', async () => {
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
    'does not create a task for a tool whose taskSupport is %s [TASK-006]',
    async (support) => {
      const server = oldServer({}, support ?? '')
      await using client = await clientOf(server)
      await client.callTool('report')
      expect((await client.callToolAsTask('report')).id).toBeUndefined()
      for (const { params } of said(server.transcript, 'client', 'tools/call'))
        expect(params).not.toHaveProperty('task')
    },
  )

  it('creates a task if the tool requires it, or on request if optional [TASK-008] [TASK-009]', async () => {
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

  it('reads taskSupport again after tools/list_changed [TASK-009]', async () => {
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

  it('requests tasks/result once on input_required, and still polls [TASK-024] [TASK-028] [TASK-032]', async () => {
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
    expect(said(server.transcript, 'client', 'tasks/result').map(({ params }) => params)).toEqual([{ taskId: 't1' }])
    for (const { params } of said(server.transcript, 'client', 'tasks/get')) expect(params).toEqual({ taskId: 't1' })
    expect(states).toEqual(['working', 'input_required', 'completed'])
  })

  it('does not depend on status notifications, but processes them [TASK-037]', async () => {
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

  it('accepts the result when the server deletes the task right after returning it', async () => {
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

  it('rejects with the error of the task', async () => {
    const error = { code: -32603, message: 'Internal error' }
    const server = oldServer({
      'tasks/get': () => ({ result: oldTask({ status: 'failed', statusMessage: 'No paper' }) }),
      'tasks/result': () => ({ error }),
    })
    await using client = await clientOf(server)
    expect(await errorOf(client.callTool('report'))).toMatchObject({ name: 'PeerError', rpcCode: -32603 })
    expect(said(server.transcript, 'client', 'tasks/result')).toHaveLength(1)
  })

  it('passes on few of very many values of a task, in order, with the newest before the result [PROG-005, PROG-010, PROG-011]', async () => {
    let status = 'working'
    const server = oldServer({
      'tools/call': () => undefined,
      'tasks/get': () => ({ result: oldTask({ status }) }),
      'tasks/result': () => ({ result: done }),
    })
    await using client = await clientOf(server)
    const values: number[] = []
    const call = client.callTool('report', {}, { onProgress: ({ progress }) => values.push(progress) })
    const asked = await heard(server.transcript, 'client', 'tools/call')
    const progressToken = asked.params!._meta!.progressToken
    const tell = (progress: number) =>
      server.say({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken, progress } })
    // The token is that of the call, before and after it became a task.
    tell(5)
    server.say({ jsonrpc: '2.0', id: asked.id, result: { task: oldTask() } })
    await heard(server.transcript, 'client', 'tasks/get')
    for (const progress of [3, 5, 6, 4, 7]) tell(progress)
    for (let progress = 8; progress <= 5_000; progress++) tell(progress)
    status = 'completed'
    await call
    expect(values.slice(0, 4)).toEqual([5, 6, 7, 8])
    expect(values).toEqual([...values].sort((a, b) => a - b))
    expect(new Set(values).size).toBe(values.length)
    // On a slow machine some more may be passed on meanwhile.
    expect(values.length).toBeLessThan(2_500)
    expect(values.at(-1)).toBe(5_000)
  })

  it.each([
    ['tasks/get', async (handle: TaskHandle) => void (await handle.result())],
    [
      'a notification',
      async (_: TaskHandle, server: ScriptedServer) => {
        const params = oldTask({ status: 'completed' })
        server.say({ jsonrpc: '2.0', method: 'notifications/tasks/status', params })
      },
    ],
  ])('reports no progress of a task after %s said that it ended [PROG-010, PROG-011]', async (_, end) => {
    const server = oldServer({
      'tasks/get': () => ({ result: oldTask({ status: 'completed' }) }),
      'tasks/result': () => ({ result: done }),
    })
    await using client = await clientOf(server)
    const values: number[] = []
    const handle = await client.callToolAsTask('report', {}, { onProgress: ({ progress }) => values.push(progress) })
    const progressToken = said(server.transcript, 'client', 'tools/call')[0]!.params!._meta!.progressToken
    const tell = (progress: number) =>
      server.say({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken, progress } })
    tell(6)
    await end(handle, server)
    tell(7)
    tell(8)
    await client.ping()
    expect(values).toEqual([6])
    expect((await handle.result()).text).toBe('done')
  })

  it('reports a progress listener of a task that throws, and completes the call [PROG-010]', async () => {
    let status = 'working'
    const server = oldServer({
      'tasks/get': () => ({ result: oldTask({ status }) }),
      'tasks/result': () => ({ result: done }),
    })
    await using client = await clientOf(server)
    const problems: unknown[] = []
    client.on('error', ({ error }) => problems.push(error))
    const failure = new Error('no display')
    const onProgress = ({ progress }: { progress: number }) => {
      if (progress === 1 || progress === 500) throw failure
    }
    const call = client.callTool('report', {}, { onProgress })
    await heard(server.transcript, 'client', 'tasks/get')
    const progressToken = said(server.transcript, 'client', 'tools/call')[0]!.params!._meta!.progressToken
    for (let progress = 1; progress <= 500; progress++)
      server.say({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken, progress } })
    status = 'completed'
    expect((await call).text).toBe('done')
    expect(problems).toEqual([failure, failure])
  })

  it('reports progress until the task ends [PROG-011]', async () => {
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
    expect(await far.opened).toEqual({ progress: 3, total: 4 })
    status = 'completed'
    await call
  })

  it('exposes the immediate response for the model before there is a result', async () => {
    const _meta = { 'io.modelcontextprotocol/model-immediate-response': 'It takes a while.' }
    const server = oldServer({ 'tools/call': () => ({ result: { task: oldTask(), _meta } }) })
    await using client = await clientOf(server)
    expect((await client.callToolAsTask('report')).immediateResponse).toBe('It takes a while.')
  })

  it('accepts a plain result for a task-augmented call', async () => {
    await using client = await clientOf(oldServer({ 'tools/call': () => ({ result: done }) }))
    const handle = await client.callToolAsTask('report')
    expect(handle.id).toBeUndefined()
    expect((await handle.result()).text).toBe('done')
    expect((await client.callTool('report')).text).toBe('done')
  })

  it('does not cancel when the server did not declare tasks.cancel [TASK-004]', async () => {
    const capabilities = { ...everything, tasks: { requests: { tools: { call: {} } } } }
    await using client = await clientOf(oldServer({}, 'required', capabilities))
    const handle = await client.callToolAsTask('report')
    expect((await errorOf(handle.cancel())).code).toBe('capability-missing')
  })
})

it('a client accepts questions on any stream, including the session stream [TASK-033]', async () => {
  const { http, asked } = await withSessionStream()
  await using _http = http
  await using client = await connect(http.url, { revision: legacy, handlers: { elicit: () => accept() } })
  expect((await client.callTool('report')).text).toBe('done')
  expect(await asked).toEqual(accept())
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

/** Starts a 2025-11-25 server over HTTP that asks on the session stream instead of the request stream. */
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
  return { http, asked: asked.opened }
}

function event(message: Body): string {
  return `data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`
}

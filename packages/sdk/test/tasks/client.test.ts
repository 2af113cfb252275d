import { CapabilityError, type McpError, PeerError } from 'tenon'
import {
  Client,
  type ClientHandlers,
  connect,
  StreamableHTTPClientTransport,
  type TaskHandle,
  type TaskSnapshot,
  type TaskStatusChange,
  TimeoutError,
} from 'tenon/client'
import { McpServer, serveHttp } from 'tenon/server'
import type { Wire } from 'tenon/testing'
import { describe, expect, it } from 'vitest'
import { connected } from '../era/support.ts'
import { errorOf } from '../kit/error-of.ts'
import { everyWire } from '../kit/every-wire.ts'
import { gate } from '../kit/gate.ts'
import { handshakeRevisions } from '../kit/revisions.ts'
import { movableTimers } from '../kit/time.ts'
import { heard, type Said, said } from '../kit/transcript.ts'
import { accept, extensionId, labServer, legacy, modern } from './client-support.ts'

const handlers: ClientHandlers = { elicit: () => accept() }

/** Registers a test without schema validation, because the official result schemas do not include tasks. */
function eachDialect(title: string, body: (wire: Wire) => Promise<void>, revisions = [legacy, modern] as const): void {
  everyWire(title, (wire) => body(withTasks(wire)), { revisions, schemas: undefined })
}

/** Lets every call become a task. */
function withTasks(wire: Wire): Wire {
  return { ...wire, connect: (server, options) => wire.connect(server, { tasks: true, ...options }) }
}

function extensionsOf(params: Said['params']): unknown {
  const declared = params?._meta?.['io.modelcontextprotocol/clientCapabilities'] as Record<string, unknown> | undefined
  return declared?.extensions
}

async function statesOf(task: TaskHandle): Promise<TaskSnapshot['status'][]> {
  const states: TaskSnapshot['status'][] = []
  for await (const { status } of task) states.push(status)
  return states
}

describe('a call that becomes a task', () => {
  eachDialect('is awaited by callTool, which also accepts plain results [TASK-009] [XTASK-004]', async (wire) => {
    await using pair = await wire.connect(labServer().lab, { handlers })
    expect((await pair.client.callTool('must')).text).toBe('a task: true')
    expect((await pair.client.callTool('plain')).text).toBe('a task: false')
    expect((await pair.client.callTool('steps', { name: 'Ann' })).text).toBe('Ann accept true')
  })

  eachDialect(
    'has its questions answered by the regular input handlers [TASK-032] [XTASK-020] [XTASK-021]',
    async (wire) => {
      const asked: string[] = []
      const elicit: ClientHandlers['elicit'] = ({ message }, { server }) => {
        asked.push(`${server.name}: ${message}`)
        return accept()
      }
      await using pair = await wire.connect(labServer().lab, { handlers: { elicit } })
      const task = await pair.client.callToolAsTask('steps', { name: 'Ann' })
      expect((await task.result()).text).toBe('Ann accept true')
      expect(asked).toEqual(['lab: Go on, Ann?'])
    },
  )

  eachDialect('returns a handle with its states and its result [TASK-008] [XTASK-013]', async (wire) => {
    const { lab, release, started } = labServer()
    await using pair = await wire.connect(lab)
    const task = await pair.client.callToolAsTask('wait', {}, { ttlMs: 60_000 })
    expect(task.id).toMatch(/^.{20,}$/)
    expect(task.status).toBe('working')
    const states = statesOf(task)
    await started
    release()
    expect((await task.result()).text).toBe('waited')
    expect(await states).toEqual(['working', 'completed'])
    expect(task.status).toBe('completed')
    expect(await statesOf(task)).toEqual(['completed'])
    expect((await task.result()).text).toBe('waited')
  })

  eachDialect('exposes the status messages of the server', async (wire) => {
    const told = gate()
    await using pair = await wire.connect(labServer().lab, {
      handlers: { elicit: () => told.opened.then(() => accept()) },
    })
    const task = await pair.client.callToolAsTask('steps', { name: 'Ann' })
    const messages: (string | undefined)[] = []
    for await (const { status, statusMessage } of task) {
      messages.push(statusMessage)
      if (status === 'input_required') told.open()
    }
    expect(messages).toContain('half way')
    expect(task.status).toBe('completed')
  })

  eachDialect('has a result when the tool failed', async (wire) => {
    await using pair = await wire.connect(labServer().lab)
    expect(await pair.client.callTool('broken')).toMatchObject({ isError: true, content: [{ text: 'No paper' }] })
    const task = await pair.client.callToolAsTask('broken')
    expect(await task.result()).toMatchObject({ isError: true, text: 'No paper' })
    expect(task.status).toBe(wire.revision.id === legacy ? 'failed' : 'completed')
  })

  eachDialect('emits an event for each status change, with the name of the tool [TASK-052]', async (wire) => {
    await using pair = await wire.connect(labServer().lab)
    const changes: TaskStatusChange[] = []
    pair.client.on('task', (change) => changes.push(change))
    await pair.client.callTool('must')
    expect(changes.map(({ tool }) => tool)).toEqual(changes.map(() => 'must'))
    expect(new Set(changes.map(({ taskId }) => taskId)).size).toBe(1)
    expect(changes[0]!.status).toBe('working')
    expect(changes.at(-1)!.status).toBe('completed')
  })

  eachDialect('asks each question once, however many handles there are [XTASK-022]', async (wire) => {
    let asked = 0
    const elicit = () => {
      asked++
      return accept()
    }
    await using pair = await wire.connect(labServer().lab, { handlers: { elicit } })
    const task = await pair.client.callToolAsTask('steps', { name: 'Ann' })
    const same = pair.client.resumeTask(task.id!)
    const results = await Promise.all([task.result(), same.result(), statesOf(same)])
    expect(results.slice(0, 2)).toMatchObject([{ text: 'Ann accept true' }, { text: 'Ann accept true' }])
    expect(asked).toBe(1)
  })

  eachDialect('can be abandoned while it asks, and asks again when it is resumed [TASK-035]', async (wire) => {
    const shown = gate()
    let asked = 0
    const elicit: ClientHandlers['elicit'] = (_form, { signal }) => {
      if (++asked > 1) return accept()
      shown.open()
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('Nobody asks'))))
    }
    await using pair = await wire.connect(labServer().lab, { handlers: { elicit } })
    pair.client.on('error', () => {})
    const task = await pair.client.callToolAsTask('steps', { name: 'Ann' })
    for await (const { status } of task) {
      if (status !== 'input_required') continue
      await shown.opened
      break
    }
    expect((await task.result()).text).toBe('Ann accept true')
  })

  eachDialect('can be resumed by another client with its id [XTASK-013]', async (wire) => {
    const { lab, release } = labServer()
    let id: string
    {
      await using first = await wire.connect(lab)
      id = (await first.client.callToolAsTask('wait')).id!
    }
    await using second = await wire.connect(lab)
    const task = second.client.resumeTask(id)
    expect(task.id).toBe(id)
    release()
    expect((await task.result()).text).toBe('waited')
  })

  eachDialect('with an unknown id fails with the error of the server', async (wire) => {
    await using pair = await wire.connect(labServer().lab)
    const task = pair.client.resumeTask('nobody')
    expect(await errorOf(task.result())).toMatchObject({ name: 'PeerError', rpcCode: -32602 })
    expect(await errorOf(statesOf(task))).toBeInstanceOf(PeerError)
  })
})

describe('cancelling and timeouts', () => {
  eachDialect('a handle cancels its task [TASK-045] [XTASK-030]', async (wire) => {
    const { lab, started, stopped } = labServer()
    await using pair = await wire.connect(lab)
    const task = await pair.client.callToolAsTask('wait')
    await started
    const result = errorOf(task.result())
    await task.cancel()
    await stopped
    expect(await result).toMatchObject({ name: 'McpError', code: 'cancelled' })
    expect(task.status).toBe('cancelled')
    await task.cancel()
    expect(await statesOf(task)).toEqual(['cancelled'])
  })

  eachDialect('aborting a call that became a task cancels the task, not the request [XTASK-029]', async (wire) => {
    const { lab, started, stopped } = labServer()
    await using pair = await wire.connect(lab)
    // The tool runs as a task on both revisions.
    const isLegacy = wire.revision.id === legacy
    const stop = new AbortController()
    const params = { name: 'wait', arguments: {}, ...(isLegacy && { task: {} }) }
    const call = errorOf<McpError>(pair.client.callTool(params, { signal: stop.signal }))
    await started
    await heard(pair.transcript, 'client', 'tasks/get')
    stop.abort()
    expect((await call).code).toBe('cancelled')
    await stopped
    const { id } = said(pair.transcript, 'client', 'tools/call')[0]!
    const taken = said(pair.transcript, 'client', 'notifications/cancelled').map(({ params }) => params?.requestId)
    expect(taken).not.toContain(id)
    expect(said(pair.transcript, 'client', 'tasks/cancel')).toHaveLength(1)
    const related = { 'io.modelcontextprotocol/related-task': { taskId: expect.any(String) } }
    const withdrawn = said(pair.transcript, 'client', 'notifications/cancelled').filter(({ params }) =>
      said(pair.transcript, 'client', 'tasks/result').some(({ id }) => id === params?.requestId),
    )
    for (const { params } of withdrawn) expect(params?._meta).toEqual(related)
  })

  eachDialect('a timeout rejects the call and cancels the task', async (wire) => {
    const timers = movableTimers()
    const { lab, started, stopped } = labServer()
    await using pair = await wire.connect(lab)
    const task = wire.revision.id === legacy ? { task: {} } : {}
    const params = { name: 'wait', arguments: {}, ...task }
    const call = errorOf(pair.client.callTool(params, { timeoutMs: 30_000 }))
    await started
    await timers.advance(30_000)
    expect(await call).toBeInstanceOf(TimeoutError)
    await stopped
  })

  eachDialect('maxTotalTimeoutMs limits the call regardless of status updates', async (wire) => {
    const timers = movableTimers()
    const { lab, started, stopped } = labServer()
    await using pair = await wire.connect(lab)
    const task = wire.revision.id === legacy ? { task: {} } : {}
    const call = errorOf(pair.client.callTool({ name: 'wait', ...task }, { timeoutMs: 0, maxTotalTimeoutMs: 30_000 }))
    await started
    await timers.advance(30_000)
    expect(await call).toMatchObject({ name: 'TimeoutError', timeoutMs: 30_000 })
    await stopped
  })

  eachDialect('the time of the user does not count towards the timeout', async (wire) => {
    const timers = movableTimers()
    let asked = 0
    const elicit = async () => {
      asked++
      await timers.advance(90_000)
      return accept()
    }
    await using pair = await wire.connect(labServer().lab, { handlers: { elicit } })
    const task = wire.revision.id === legacy ? { task: {} } : {}
    const call = pair.client.callTool({ name: 'steps', arguments: { name: 'Ann' }, ...task }, { timeoutMs: 60_000 })
    expect((await call).text).toBe('Ann accept true')
    expect(asked).toBe(1)
  })

  eachDialect('closing the client ends the call', async (wire) => {
    const { lab, started } = labServer()
    const pair = await wire.connect(lab)
    const task = await pair.client.callToolAsTask('wait')
    await started
    const result = errorOf<McpError>(task.result())
    await pair.client.close()
    expect((await result).code).toBe('closed')
  })
})

describe('the declared capabilities', () => {
  everyWire(
    'include the extension in every 2026-07-28 request when tasks are enabled, and nowhere else [XTASK-001]',
    async (wire) => {
      await using pair = await wire.connect(labServer().lab, { handlers: { ...handlers, tasks: true }, tasks: true })
      await pair.client.listTools()
      for (const { method, params } of said(pair.transcript, 'client')) {
        if (wire.revision.id === modern && method) expect(extensionsOf(params)).toEqual({ [extensionId]: {} })
        else expect(JSON.stringify(params ?? {})).not.toContain(extensionId)
      }
    },
  )

  eachDialect('include the extension by default only in requests for a task [VER-036] [XTASK-001]', async (wire) => {
    await using pair = await wire.connect(labServer().lab, { handlers, tasks: undefined })
    await pair.client.callTool('steps', { name: 'Ann' })
    const isDeclared = () =>
      new Set(said(pair.transcript, 'client').flatMap(({ method, params }) => (extensionsOf(params) ? method! : [])))
    const must = pair.client.callTool('must')
    if (wire.revision.id === legacy) await must
    else expect(await errorOf(must)).toMatchObject({ rpcCode: -32021 })
    expect(isDeclared()).toEqual(new Set())
    const task = await pair.client.callToolAsTask('steps', { name: 'Ann' })
    await task.result()
    const others = [...isDeclared()].filter((method) => !method.startsWith('tasks/'))
    expect(others).toEqual(wire.revision.id === modern ? ['tools/call', 'subscriptions/listen'] : [])
  })

  it('keep other extensions, and omit tasks when they are disabled', async () => {
    const { lab } = labServer()
    lab.registerTool('who', {}, (_, { caller }) => JSON.stringify(caller.capabilities))
    const capabilities = { extensions: { 'com.example/x': {} } }
    const declared = async (options: object) => {
      await using client = await connected(lab, options)
      return JSON.parse((await client.callTool('who')).text)
    }
    expect(await declared({ revision: legacy, capabilities })).toEqual(capabilities)
    expect(await declared({ revision: modern, tasks: false })).toEqual({})
    expect(await declared({ revision: modern, tasks: false, capabilities })).toEqual(capabilities)
  })

  eachDialect('do not include tasks when they are disabled', async (wire) => {
    await using pair = await wire.connect(labServer().lab, { handlers, tasks: false })
    const task = await pair.client.callToolAsTask('steps', { name: 'Ann' })
    expect(task.id).toBeUndefined()
    expect((await task.result()).text).toBe('Ann accept true')
  })
})

describe('servers without tasks', () => {
  everyWire('are called without a task, with the same handle [TASK-003]', async (wire) => {
    const server = new McpServer({ name: 'plain', version: '1.0.0' })
    const release = gate()
    server.registerTool('wait', {}, () => release.opened.then(() => 'waited'))
    server.registerTool('hang', {}, async (_, { signal }) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      return 'stopped'
    })
    await using pair = await wire.connect(server)
    const task = await pair.client.callToolAsTask('wait')
    expect(task.id).toBeUndefined()
    const states = statesOf(task)
    release.open()
    expect((await task.result()).text).toBe('waited')
    expect(await states).toEqual(['working', 'completed'])
    expect(said(pair.transcript, 'client', 'tools/call')[0]!.params).not.toHaveProperty('task')
    const hung = await pair.client.callToolAsTask('hang')
    await hung.cancel()
    expect(await errorOf(hung.result())).toMatchObject({ code: 'cancelled' })
    expect(hung.status).toBe('cancelled')
  })

  it('on revisions without tasks reject resumeTask', async () => {
    for (const revision of handshakeRevisions.slice(0, 3)) {
      await using client = await connected(labServer().lab, { revision })
      expect(await errorOf(client.resumeTask('t1').result())).toBeInstanceOf(CapabilityError)
    }
  })
})

describe('listTasks', () => {
  it('returns the tasks of the server', async () => {
    await using client = await connected(labServer().lab, { revision: legacy })
    const task = await client.callToolAsTask('must')
    await task.result()
    expect(await client.listTasks().all()).toMatchObject([{ taskId: task.id, status: 'completed' }])
    expect((await client.listTasks()).tasks).toHaveLength(1)
  })

  it('rejects with the reason when the server has no list', async () => {
    await using client = await connected(labServer().lab, { revision: modern })
    const error = await errorOf(client.listTasks())
    expect(error).toBeInstanceOf(CapabilityError)
    expect(error.message).toBe('2026-07-28 cannot list tasks. Keep the ids of your tasks and call resumeTask(id).')
    await using plain = await connected(new McpServer({ name: 'plain', version: '1' }), { revision: legacy })
    expect((await errorOf(plain.listTasks())).message).toBe('The server does not offer a list of its tasks')
  })
})

describe('a client over HTTP', () => {
  it('receives changes on a stream for the task instead of polling [XTASK-035]', async () => {
    const { lab, release, started } = labServer({ pollIntervalMs: 3_600_000 })
    await using http = await serveHttp(lab, { port: 0, exit: false })
    await using client = await connect(http.url, { handlers, tasks: true })
    const task = await client.callToolAsTask('wait')
    const states = statesOf(task)
    await started
    release()
    expect(await states).toEqual(['working', 'completed'])
    expect((await client.callTool('steps', { name: 'Ann' })).text).toBe('Ann accept true')
  })

  it('names the task in a header of every request about it [XTASK-038]', async () => {
    const { lab } = labServer()
    await using http = await serveHttp(lab, { port: 0, exit: false })
    const names = new Map<string, Set<string | null>>()
    const look: typeof fetch = (url, init) => {
      const headers = new Headers(init?.headers)
      const method = headers.get('mcp-method')
      if (method) names.set(method, (names.get(method) ?? new Set()).add(headers.get('mcp-name')))
      return fetch(url, init)
    }
    await using client = await connect(http.url, { handlers, fetch: look as never })
    const task = await client.callToolAsTask('steps', { name: 'Ann' })
    await task.result()
    const other = await client.callToolAsTask('wait')
    await other.cancel()
    expect(names.get('tasks/update')).toEqual(new Set([task.id]))
    expect(names.get('tasks/get')).toContain(task.id)
    expect(names.get('tasks/cancel')).toEqual(new Set([other.id]))
  })

  it('recovers when the server is temporarily unreachable', async () => {
    const { lab, release } = labServer()
    await using http = await serveHttp(lab, { port: 0, exit: false })
    for (const revision of [legacy, modern] as const) {
      let failures = 4
      const flaky: typeof fetch = (url, init) => {
        // Without server streams the client has to poll.
        if (init?.method === 'GET') return Promise.resolve(new Response(null, { status: 405 }))
        const body = String(init?.body)
        if (body.includes('"subscriptions/listen"')) return Promise.reject(new TypeError('fetch failed'))
        const isPoll = body.includes('"tasks/get"')
        if (isPoll && failures-- > 0) return Promise.reject(new TypeError('fetch failed'))
        return fetch(url, init)
      }
      await using client = await connect(http.url, { revision, fetch: flaky as never })
      const task = await client.callToolAsTask('wait')
      release()
      expect((await task.result()).text).toBe('waited')
      expect(failures).toBeLessThan(0)
    }
  })

  it.each([legacy, modern] as const)(
    'fails when the server does not support polling, without repeating it (%s)',
    async (revision) => {
      const { lab } = labServer()
      await using http = await serveHttp(lab, { port: 0, exit: false })
      let polls = 0
      const unsupported: typeof fetch = (url, init) => {
        if (init?.method === 'GET') return Promise.resolve(new Response(null, { status: 405 }))
        const body = String(init?.body)
        if (body.includes('"subscriptions/listen"')) return Promise.reject(new TypeError('fetch failed'))
        if (!/"tasks\/(get|result)"/.test(body)) return fetch(url, init)
        polls++
        return Promise.resolve(new Response(null, { status: 501 }))
      }
      await using client = await connect(http.url, { revision, fetch: unsupported as never })
      const task = await client.callToolAsTask('wait')
      await expect(task.result()).rejects.toThrow(/HTTP 501/)
      expect(polls).toBe(1)
    },
  )

  it('continues in a new session when the server drops the old one', async () => {
    const { lab, release } = labServer()
    await using http = await serveHttp(lab, { port: 0, exit: false })
    const transport = new StreamableHTTPClientTransport(http.url)
    await using client = new Client({ name: 'test', version: '1' }, { revision: legacy })
    await client.connect(transport)
    const task = await client.callToolAsTask('wait')
    const renewed = gate<string | undefined>()
    client.on('sessionRenewed', ({ previous }) => renewed.open(previous))
    const result = task.result()
    const sessionId = transport.sessionId!
    await fetch(http.url, { method: 'DELETE', headers: { 'mcp-session-id': sessionId } })
    expect(await renewed.opened).toBe(sessionId)
    release()
    expect((await result).text).toBe('waited')
  })
})

import { metaKeys, revisionIds } from 'tenon'
import { connect } from 'tenon/client'
import { McpServer, ProtocolError, Server } from 'tenon/server'
import { describe, expect, it, vi } from 'vitest'
import * as z from 'zod'
import { everyWire } from '../../kit/every-wire.ts'
import { ask, handshakes, notes, script } from './support.ts'

const info = { name: 'middleware', version: '1' }

function createServer() {
  const server = new McpServer(info, { onError: () => {} })
  server.registerTool('echo', { inputSchema: { text: z.string() } }, ({ text }) => text)
  return server
}

describe('middleware', () => {
  everyWire('runs from the outermost to the innermost, and back', async (wire) => {
    const order: string[] = []
    const server = createServer()
    for (const name of ['a', 'b', 'c']) {
      server.use(async ({ method }, next) => {
        order.push(`${name} in ${method}`)
        const result = await next()
        order.push(`${name} out`)
        return result
      })
    }
    await using pair = await wire.connect(server)
    await pair.client.callTool('echo', { text: 'x' })
    expect(order).toEqual(['a in tools/call', 'b in tools/call', 'c in tools/call', 'c out', 'b out', 'a out'])
  })

  everyWire('can rewrite requests and results', async (wire) => {
    const server = createServer()
    server.use(async (_request, next) => ({ ...(await next()), _meta: { 'example.com/seen': true } }))
    server.use(({ params, method }, next) =>
      method === 'tools/call' ? next({ ...params, arguments: { text: 'rewritten' } }) : next(),
    )
    server.use(async ({ params }, next) => {
      const result = await next()
      return params.arguments
        ? { ...result, content: [...(result.content as []), { type: 'text', text: JSON.stringify(params.arguments) }] }
        : result
    })
    await using pair = await wire.connect(server)
    const result = await pair.client.callTool('echo', { text: 'x' })
    expect(result.text).toBe('rewritten\n{"text":"rewritten"}')
    expect(result._meta).toMatchObject({ 'example.com/seen': true })
  })

  everyWire('can answer a request itself, or reject it', async (wire) => {
    const server = createServer()
    server.use(({ params }, next) => {
      const { text } = (params.arguments ?? {}) as { text?: string }
      if (text === 'cached') return { content: [{ type: 'text', text: 'from the cache' }] }
      if (text === 'forbidden') throw new ProtocolError(-32001, 'Not for you')
      if (text === 'broken') throw new Error('secret')
      return next()
    })
    await using pair = await wire.connect(server)
    const call = (text: string) => pair.client.callTool('echo', { text })
    expect((await call('cached')).text).toBe('from the cache')
    await expect(call('forbidden')).rejects.toMatchObject({ rpcCode: -32001, message: 'Not for you' })
    await expect(call('broken')).rejects.toMatchObject({ rpcCode: -32603, message: 'Internal error' })
    expect((await call('fine')).text).toBe('fine')
    expect(pair.transcript.toString()).not.toContain('secret')
  })

  everyWire('also runs for list requests, and receives the caller', async (wire) => {
    const server = createServer()
    server.use(async ({ method, ctx }, next) => {
      const result = await next()
      const hidden = ctx.caller.clientInfo?.name === 'test'
      return method === 'tools/list' && hidden ? { ...result, tools: [] } : result
    })
    await using pair = await wire.connect(server)
    expect((await pair.client.listTools()).tools).toEqual([])
    await using other = await connect(server, { info: { name: 'other', version: '1' }, revision: wire.revision.id })
    expect((await other.listTools()).tools).toHaveLength(1)
  })

  it('can be added while clients are connected', async () => {
    const server = createServer()
    await using client = await script(server, '2026-07-28')
    await ask(client, 'tools/list')
    const seen = vi.fn()
    server.use((request, next) => {
      seen(request.method)
      return next()
    })
    await ask(client, 'tools/list')
    expect(seen).toHaveBeenCalledWith('tools/list')
  })
})

describe('custom methods and notifications', () => {
  everyWire('work alongside the features of a server', async (wire) => {
    const server = createServer()
    const heard: unknown[] = []
    server.server.setRequestHandler('example/double', (params, ctx) => {
      ctx.notify('notifications/example/working', { on: params.n })
      return { doubled: (params.n as number) * 2 }
    })
    server.server.setNotificationHandler('notifications/example/poke', (params) => heard.push(params))
    await using pair = await wire.connect(server)
    const { client } = pair
    const working: unknown[] = []
    client.setNotificationHandler('notifications/example/working', (params) => working.push(params))
    expect(await client.request('example/double', { n: 21 })).toMatchObject({ doubled: 42 })
    expect(working).toEqual([{ on: 21 }])
    client.notify('notifications/example/poke', { hard: true })
    await client.ping()
    expect(heard).toEqual([{ hard: true }])
    await expect(client.request('example/unknown')).rejects.toMatchObject({ rpcCode: -32601 })
  })

  it.each(revisionIds)('that throw are reported to onError; the peer gets a generic error, on %s', async (revision) => {
    const onError = vi.fn()
    const server = new Server(info, { onError })
    server.setRequestHandler('example/fail', () => {
      throw new Error('secret')
    })
    server.setNotificationHandler('notifications/example/fail', () => {
      throw new Error('secret too')
    })
    await using client = await script(server, revision)
    client.notify('notifications/example/fail')
    expect((await ask(client, 'example/fail')).error).toEqual({ code: -32603, message: 'Internal error' })
    expect(onError.mock.calls.map(([error]) => error.message)).toEqual(['secret too', 'secret'])
  })

  it.each(handshakes)('from a server are answered by a client on %s', async (revision) => {
    const server = createServer()
    const { link, client } = await linked(server, revision)
    client.setRequestHandler('example/ask', (params) => ({ answer: params.n }))
    expect(await link.request('example/ask', { n: 1 })).toEqual({ answer: 1 })
    await expect(link.request('example/other')).rejects.toMatchObject({ rpcCode: -32601 })
    await client.close()
  })
})

async function linked(server: McpServer, revision: (typeof revisionIds)[number]) {
  const { InMemoryTransport, Client } = await import('tenon/client')
  const [ours, theirs] = InMemoryTransport.createLinkedPair()
  const link = await server.connect(theirs)
  const client = new Client({ name: 'linked', version: '1' }, { revision })
  await client.connect(ours)
  return { link, client }
}

describe('the low-level server', () => {
  function createLow() {
    const server = new Server(info, {
      capabilities: { tools: { listChanged: true }, resources: {}, logging: {} },
      listChangedDelayMs: 1,
    })
    server.setRequestHandler('tools/list', () => ({
      tools: [{ name: 'low', title: 'Low', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } }],
    }))
    server.setRequestHandler('tools/call', ({ name, arguments: args }) => {
      if (name !== 'low') throw new ProtocolError(-32602, `Unknown tool: ${name}`)
      return { content: [{ type: 'text', text: JSON.stringify(args) }], structuredContent: { got: args } }
    })
    server.setRequestHandler('resources/read', async ({ uri }) => ({ contents: [{ uri, text: 'low' }] }))
    return server
  }

  everyWire('leaves every handler to the application on every revision [SDK-012]', async (wire) => {
    await using pair = await wire.connect(createLow())
    const { client } = pair
    const [tool] = (await client.listTools()).tools
    expect(tool).toMatchObject({ name: 'low', inputSchema: { type: 'object' } })
    expect(tool?.title).toBe(wire.revision.id >= '2025-06-18' ? 'Low' : undefined)
    expect((await client.callTool('low', { a: 1 })).text).toBe('{"a":1}')
    await expect(client.callTool('high')).rejects.toMatchObject({ rpcCode: -32602 })
    expect((await client.readResource('low://x')).contents).toEqual([{ uri: 'low://x', text: 'low' }])
  })

  it.each(revisionIds)('answers -32601 to a method without a handler on %s [SDK-012]', async (revision) => {
    await using client = await script(createLow(), revision)
    for (const method of ['prompts/list', 'prompts/get', 'completion/complete', 'resources/list']) {
      expect((await ask(client, method, { name: 'x' })).error?.code).toBe(-32601)
    }
  })

  it.each(revisionIds)('validates the params of the methods of the specification on %s', async (revision) => {
    await using client = await script(createLow(), revision)
    expect((await ask(client, 'tools/call', { name: 7 })).error?.code).toBe(-32602)
    expect((await ask(client, 'resources/read', {})).error?.code).toBe(-32602)
  })

  it.each(handshakes)('sends list_changed when the application asks, on %s [SDK-012, TOOL-041]', async (revision) => {
    const server = createLow()
    await using client = await script(server, revision)
    await ask(client, 'ping')
    const changed = client.nextNotification('notifications/tools/list_changed')
    server.sendToolListChanged()
    server.sendPromptListChanged()
    await changed
    await ask(client, 'ping')
    expect(notes(client.transcript, 'notifications/prompts/list_changed')).toEqual([])
  })

  it('uses the handler that was set last', async () => {
    const server = createLow()
    server.setRequestHandler('tools/list', () => ({ tools: [] }))
    await using client = await script(server, '2026-07-28')
    expect((await ask(client, 'tools/list')).result.tools).toEqual([])
  })

  it.each(['ping', 'logging/setLevel', 'resources/subscribe'])(
    'calls or rejects the handler that was set for %s [SDK-012]',
    async (method) => {
      const server = new Server(info, { capabilities: { resources: { subscribe: true }, logging: {} } })
      const handler = vi.fn(() => ({}))
      try {
        server.setRequestHandler(method, handler)
      } catch {
        return // Rejecting the handler is as clear as calling it.
      }
      await using client = await script(server, '2025-11-25')
      await ask(client, method, { level: 'info', uri: 'a://b' })
      expect(handler).toHaveBeenCalledTimes(1)
    },
  )

  it('passes the caller to every handler', async () => {
    const server = new Server(info)
    server.setRequestHandler('example/who', (_params, { caller, requestId, meta }) => ({
      revision: caller.revision,
      name: caller.clientInfo?.name,
      requestId,
      trace: meta.traceparent,
    }))
    const trace = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    for (const revision of revisionIds) {
      await using client = await script(server, revision)
      const { result } = await ask(client, 'example/who', { _meta: { [metaKeys.traceparent]: trace } })
      expect(result).toMatchObject({ revision, name: 'script', requestId: expect.any(Number), trace })
    }
  })
})

describe('progress', () => {
  everyWire('of a tight loop is throttled, never decreases, and ends with the last value', async (wire) => {
    const server = new McpServer(info)
    server.registerTool('loop', {}, (_args, ctx) => {
      for (let step = 1; step <= 10_000; step++) ctx.progress(step, { total: 10_000 })
      ctx.progress(5)
      return 'done'
    })
    await using pair = await wire.connect(server)
    const values: number[] = []
    await pair.client.callTool('loop', {}, { onProgress: ({ progress }) => values.push(progress) })
    expect(values.length).toBeGreaterThan(5)
    expect(values.length).toBeLessThan(100)
    expect(values).toEqual([...values].sort((a, b) => a - b))
    expect(values.at(-1)).toBe(10_000)
  })

  everyWire(
    'is sent at a readable rate while the work continues',
    async (wire) => {
      const server = new McpServer(info)
      server.registerTool('work', {}, async (_args, ctx) => {
        const until = Date.now() + 250
        for (let step = 0; Date.now() < until; step++) {
          ctx.progress(step)
          if (step % 50 === 0) await new Promise((resolve) => setTimeout(resolve, 1))
        }
        return 'done'
      })
      await using pair = await wire.connect(server)
      await pair.client.callTool('work', {}, { onProgress: () => {} })
      const sent = notes(pair.transcript, 'notifications/progress').length
      expect(sent).toBeGreaterThan(32)
      expect(sent).toBeLessThan(60)
    },
    { transports: ['memory'] },
  )
})

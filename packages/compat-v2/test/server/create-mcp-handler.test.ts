import { describe, expect, it, onTestFinished, vi } from 'vitest'
import {
  createMcpHandler,
  createRequestStateCodec,
  inputRequired,
  isLegacyRequest,
  type McpRequestContext,
  McpServer,
  type ServerContext,
} from '../../src/server/index.ts'
import { envelope } from './kit.ts'

function post(body: object, headers: Record<string, string> = {}): Request {
  return new Request('http://localhost/mcp', {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', ...body }),
  })
}

function modern(id: number, method: string, params: Record<string, unknown> = {}): Request {
  const { name } = params
  const headers = {
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': method,
    ...(typeof name === 'string' && { 'mcp-name': name }),
  }
  return post({ id, method, params: { ...params, _meta: envelope } }, headers)
}

function createServer() {
  const server = new McpServer({ name: 'demo', version: '1.0.0' }, { cacheHints: { 'tools/list': { ttlMs: 5000 } } })
  server.registerTool('hi', {}, () => ({ content: [{ type: 'text', text: 'hi' }] }))
  return server
}

/** A handler whose tools send progress: `report` answers then, `wait` never. */
function createReportingHandler(responseMode: 'auto' | 'sse' | 'json' = 'auto') {
  let onclose = () => {}
  const closed = new Promise<void>((resolve) => {
    onclose = resolve
  })
  const handler = createMcpHandler(
    () => {
      const server = createServer()
      server.server.onclose = onclose
      const report = (ctx: ServerContext) =>
        ctx.mcpReq.notify({ method: 'notifications/progress', params: { progressToken: 1, progress: 1 } })
      server.registerTool('report', {}, async (ctx) => {
        await report(ctx)
        return { content: [] }
      })
      server.registerTool('wait', {}, async (ctx) => {
        await report(ctx)
        return new Promise<never>(() => {})
      })
      return server
    },
    { responseMode },
  )
  return { handler, closed }
}

describe('createMcpHandler of the 2.x packages', () => {
  it('builds a server for each request of either era and says which era it is', async () => {
    const built: McpRequestContext[] = []
    const handler = createMcpHandler((ctx) => {
      built.push(ctx)
      return createServer()
    })
    const first = await handler.fetch(modern(1, 'tools/call', { name: 'hi' }), {
      authInfo: { token: 't', clientId: 'c', scopes: [] },
    })
    expect(await first.json()).toMatchObject({ result: { resultType: 'complete', content: [{ text: 'hi' }] } })
    const second = await handler.fetch(post({ id: 1, method: 'tools/call', params: { name: 'hi' } }))
    expect(await second.text()).toContain('"text":"hi"')
    expect(built.map(({ era, authInfo }) => [era, authInfo?.clientId])).toEqual([
      ['modern', 'c'],
      ['legacy', undefined],
    ])
    expect(built[0]?.requestInfo?.headers.get('mcp-method')).toBe('tools/call')
  })

  it('creates no request that follows the signal of the one it answers, which is freed late', async () => {
    const given = modern(1, 'tools/call', { name: 'hi' })
    let created = 0
    class CountedRequest extends Request {
      constructor(...args: ConstructorParameters<typeof Request>) {
        super(...args)
        created++
      }
    }
    vi.stubGlobal('Request', CountedRequest)
    onTestFinished(() => void vi.unstubAllGlobals())
    const response = await createMcpHandler(createServer).fetch(given)
    expect(await response.json()).toMatchObject({ result: { content: [{ text: 'hi' }] } })
    expect(created).toBe(0)
  })

  it('adds cache hints per method and the name of the server to results of 2026-07-28', async () => {
    const response = await createMcpHandler(createServer).fetch(modern(1, 'tools/list'))
    expect(await response.json()).toMatchObject({
      result: {
        ttlMs: 5000,
        cacheScope: 'private',
        _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'demo' } },
      },
    })
  })

  it('continues a call with its signed state in an instance that another request built', async () => {
    const codec = createRequestStateCodec<{ step: number }>({ key: 'k'.repeat(32) })
    const handler = createMcpHandler(() => {
      const server = new McpServer({ name: 'demo', version: '1.0.0' }, { requestState: { verify: codec.verify } })
      server.registerTool('steps', {}, async (ctx) => {
        const state = ctx.mcpReq.requestState<{ step: number }>()
        if (state) return { content: [{ type: 'text', text: `step ${state.step}` }] }
        return inputRequired({ requestState: await codec.mint({ step: 2 }) })
      })
      return server
    })
    const first = await handler.fetch(modern(1, 'tools/call', { name: 'steps' }))
    const { result } = (await first.json()) as { result: { resultType: string; requestState: string } }
    expect(result.resultType).toBe('input_required')
    const { requestState } = result
    const second = await handler.fetch(modern(2, 'tools/call', { name: 'steps', requestState }))
    expect(await second.json()).toMatchObject({ result: { content: [{ text: 'step 2' }] } })
    const forged = await handler.fetch(modern(3, 'tools/call', { name: 'steps', requestState: `${requestState}x` }))
    expect(await forged.json()).toMatchObject({ error: { code: -32602, data: { reason: 'invalid_request_state' } } })
  })

  it('refuses a request whose headers disagree with its body', async () => {
    const request = modern(1, 'tools/call', { name: 'hi' })
    request.headers.set('mcp-name', 'other')
    const response = await createMcpHandler(createServer).fetch(request)
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ error: { code: -32020 } })
  })

  it('refuses requests with initialize if legacy is set to reject, and names the revisions that it serves', async () => {
    const handler = createMcpHandler(createServer, { legacy: 'reject' })
    const request = post({ id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {} } })
    expect(await isLegacyRequest(request)).toBe(true)
    const response = await handler.fetch(request)
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ error: { code: -32022, data: { supported: ['2026-07-28'] } } })
  })

  it('closes the server of a request that it refuses because of its headers', async () => {
    const onclose = vi.fn()
    const handler = createMcpHandler(() => {
      const server = createServer()
      server.server.onclose = onclose
      return server
    })
    const request = modern(1, 'tools/call', { name: 'hi' })
    request.headers.delete('mcp-method')
    const response = await handler.fetch(request)
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ id: 1, error: { code: -32020 } })
    expect(onclose).toHaveBeenCalledOnce()
  })

  it('closes the server of a request when the reader of its stream is gone', async () => {
    const { handler, closed } = createReportingHandler()
    const response = await handler.fetch(modern(1, 'tools/call', { name: 'wait' }))
    await response.body?.cancel()
    await closed
  })

  it('refuses a parsed body that is nested too deep', async () => {
    let nested: unknown = 'hi'
    for (let depth = 0; depth < 600; depth++) nested = [nested]
    const request = modern(1, 'tools/call', { name: 'hi', arguments: { nested } })
    const response = await createMcpHandler(createServer).fetch(request)
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ id: 1, error: { code: -32600 } })
  })

  it('answers errors with the status that 2026-07-28 assigns to them', async () => {
    const handler = createMcpHandler(createServer)
    const unknownMethod = await handler.fetch(modern(1, 'prompts/list'))
    expect(unknownMethod.status).toBe(404)
    expect(await unknownMethod.json()).toMatchObject({ id: 1, error: { code: -32601 } })
    const unknownTool = await handler.fetch(modern(2, 'tools/call', { name: 'other' }))
    expect(unknownTool.status).toBe(200)
    expect(await unknownTool.json()).toMatchObject({ id: 2, error: { code: -32602 } })
  })

  it.each([
    ['auto', 'report', 'text/event-stream', ['notifications/progress', undefined]],
    ['auto', 'hi', 'application/json', [undefined]],
    ['sse', 'hi', 'text/event-stream', [undefined]],
    ['json', 'report', 'application/json', [undefined]],
  ] as const)('answers as %s, if the tool is %s, with %s', async (responseMode, name, type, methods) => {
    vi.spyOn(console, 'warn').mockReturnValue()
    onTestFinished(() => void vi.restoreAllMocks())
    const { handler } = createReportingHandler(responseMode)
    const response = await handler.fetch(modern(1, 'tools/call', { name }))
    expect(response.headers.get('content-type')).toBe(type)
    const text = await response.text()
    const lines = type === 'application/json' ? [text] : [...text.matchAll(/^data: (.+)$/gm)].map(([, json]) => json)
    expect(lines.map((json) => JSON.parse(json as string).method)).toEqual(methods)
  })

  it('tells subscribers about changes until the handler closes', async () => {
    const handler = createMcpHandler(createServer)
    const response = await handler.fetch(
      modern(7, 'subscriptions/listen', { notifications: { toolsListChanged: true, promptsListChanged: true } }),
    )
    handler.notify.toolsChanged()
    handler.notify.promptsChanged()
    await handler.close()
    const text = await response.text()
    const messages = [...text.matchAll(/^data: (.+)$/gm)].map(([, json]) => JSON.parse(json as string))
    expect(messages.map(({ method }) => method)).toEqual([
      'notifications/subscriptions/acknowledged',
      'notifications/tools/list_changed',
      undefined,
    ])
    expect(messages[0].params.notifications).toEqual({ toolsListChanged: true })
    expect(messages[2]).toMatchObject({ id: 7, result: { resultType: 'complete' } })
  })
})

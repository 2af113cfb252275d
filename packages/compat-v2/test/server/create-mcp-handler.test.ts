import { describe, expect, it } from 'vitest'
import {
  createMcpHandler,
  createRequestStateCodec,
  inputRequired,
  isLegacyRequest,
  type McpRequestContext,
  McpServer,
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

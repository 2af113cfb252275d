import { connect, type TraceEvent } from 'tenon/client'
import { McpServer } from 'tenon/server'
import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { everyWire } from '../kit/every-wire.ts'
import { serve } from '../kit/serve-http.ts'
import { initialized, script } from '../transport/http/client/support.ts'

const info = { name: 'batches', version: '1' }

function createServer(): McpServer {
  const server = new McpServer(info)
  server.registerTool('double', { inputSchema: { n: z.number() } }, ({ n }) => `${n * 2}`)
  server.registerPrompt('greet', {}, () => 'Hello')
  return server
}

const double = (n: number) => ({ method: 'tools/call', params: { name: 'double', arguments: { n } } })
const unknown = { method: 'prompts/get', params: { name: 'unknown' } }
const expected = [
  { status: 'fulfilled', value: { content: [{ type: 'text', text: '4' }] } },
  { status: 'rejected', reason: { code: 'peer', rpcCode: -32602, message: 'Unknown prompt: unknown' } },
  { status: 'fulfilled', value: { content: [{ type: 'text', text: '6' }] } },
]

describe('client.batch', () => {
  everyWire('sends one message on 2025-03-26, and single ones on other revisions [RPC-021]', async (wire) => {
    await using pair = await wire.connect(createServer())
    expect(await pair.client.batch([double(2), unknown, double(3)])).toMatchObject(expected)
    const sent = pair.transcript.lines.filter(({ from }) => from === 'client').map(({ message }) => message as unknown)
    const batches = sent.filter((message): message is { method: string }[] => Array.isArray(message))
    if (wire.revision.id === '2025-03-26') {
      expect(batches.map((batch) => batch.map(({ method }) => method))).toEqual([
        ['tools/call', 'prompts/get', 'tools/call'],
      ])
    } else expect(batches).toEqual([])
  })

  it('posts a batch as one message over HTTP [RPC-021]', async () => {
    await using http = await serve(createServer())
    const sent: unknown[] = []
    const trace = (event: TraceEvent) => {
      if (event.type === 'message' && event.direction === 'sent') sent.push(event.message)
    }
    await using client = await connect(String(http.url), { revision: '2025-03-26', trace })
    expect(await client.batch([double(2), unknown, double(3)])).toMatchObject(expected)
    expect(sent.filter(Array.isArray).map((batch) => batch.length)).toEqual([3])
  })

  it('mirrors arguments in headers where requests are sent one by one, on 2026-07-28 [RPC-021]', async () => {
    const server = new McpServer(info)
    const region = { type: 'string', 'x-mcp-header': 'Region' }
    const inputSchema = { type: 'object', properties: { region }, required: ['region'] } as const
    server.registerTool('deploy', { inputSchema }, ({ region }) => `to ${region}`)
    await using http = await serve(server)
    await using client = await connect(String(http.url), { revision: '2026-07-28' })
    const deploy = (region: string) => ({ method: 'tools/call', params: { name: 'deploy', arguments: { region } } })
    expect(await client.batch([deploy('eu'), deploy('us')])).toMatchObject([
      { status: 'fulfilled', value: { content: [{ type: 'text', text: 'to eu' }] } },
      { status: 'fulfilled', value: { content: [{ type: 'text', text: 'to us' }] } },
    ])
  })

  it('fails every request of a batch that the server refuses', async () => {
    await using http = await serve(createServer(), { standardHeaders: 'require' })
    await using client = await connect(String(http.url), { revision: '2025-03-26' })
    const refused = { status: 'rejected', reason: { rpcCode: -32001 } }
    expect(await client.batch([double(1), double(2), double(3)], { timeoutMs: 0 })).toMatchObject([
      refused,
      refused,
      refused,
    ])
  })

  it.each([
    ['one error without an id', () => ({ jsonrpc: '2.0', id: null, error: { code: -32600, message: 'No' } }), 0],
    ['fewer responses', ([first]: { id: number }[]) => [{ jsonrpc: '2.0', id: first!.id, result: {} }], 1],
    ['no response', () => [], 0],
  ])('fails the requests that are left if a batch is answered with %s', async (_, answer, count) => {
    await using http = await script((received) => {
      const { message, text } = received
      if (text.startsWith('[')) return received.json(answer(JSON.parse(text)))
      if (message.method === 'initialize') return received.result(initialized('2025-03-26'))
      return received.status(received.method === 'POST' ? 202 : 405)
    })
    await using client = await connect(http.url, { revision: '2025-03-26' })
    const settled = await client.batch([{ method: 'ping' }, { method: 'ping' }], { timeoutMs: 0 })
    expect(settled.filter(({ status }) => status === 'fulfilled')).toHaveLength(count)
    expect(settled.at(-1)).toMatchObject({ reason: { code: 'http' } })
  })

  it('fails every request of a batch if the connection ends', async () => {
    const server = createServer()
    server.registerTool('wait', {}, () => new Promise<string>(() => {}))
    const client = await connect(server, { revision: '2025-03-26', recover: false })
    const wait = { method: 'tools/call', params: { name: 'wait' } }
    const settled = client.batch([wait, wait])
    await client.ping()
    await client.close()
    expect(await settled).toMatchObject([{ status: 'rejected' }, { status: 'rejected' }])
  })

  it('sends nothing if one of the requests is not valid, and never the handshake [RPC-022]', async () => {
    await using client = await connect(createServer(), { revision: '2025-03-26' })
    const invalid = { method: 'tools/call', params: { name: 7 } }
    await expect(client.batch([double(1), invalid])).rejects.toMatchObject({ code: 'invalid-argument' })
    await expect(client.batch([{ method: 'initialize' }])).rejects.toThrow('A batch cannot contain "initialize"')
    expect(await client.batch([])).toEqual([])
  })
})

describe('an error about params', () => {
  everyWire('says in data.details what is wrong [RPC-053]', async (wire) => {
    await using pair = await wire.connect(createServer())
    const message = 'Unknown prompt: unknown'
    await expect(pair.client.getPrompt('unknown')).rejects.toMatchObject({
      rpcCode: -32602,
      message,
      data: { details: message },
    })
  })

  it('has sanitized details', async () => {
    const server = createServer()
    const password = z.string().refine((text) => text.length > 20, 'not allowed: password=hunter2')
    server.registerPrompt('login', { argsSchema: { password } }, () => 'x')
    await using client = await connect(server)
    const error = await client.getPrompt('login', { password: 'hunter2' }).catch((reason) => reason)
    expect(error.data.details).toBe(error.message)
    expect(JSON.stringify([error.message, error.data])).not.toContain('hunter2')
  })
})

import { createServer as createHttpServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createMcpHandler, SSEServerTransport } from 'tenon/server'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type RawHeaders, toBytes } from '../../../kit/raw-http.ts'
import { httpRevisions, modern, sessionRevisions } from '../../../kit/revisions.ts'
import { createServer, RawClient, serve } from './support.ts'

const maxBodyBytes = 1_000

/** A call whose body has exactly the given number of bytes. */
function bodyOf(client: RawClient, bytes: number): string {
  const empty = client.call(1, 'echo', { text: '' })
  return client.call(1, 'echo', { text: 'x'.repeat(bytes - empty.length) })
}

function toChunks(body: string): string {
  const half = body.length >> 1
  return (
    [body.slice(0, half), body.slice(half)].map((part) => `${part.length.toString(16)}\r\n${part}\r\n`).join('') +
    '0\r\n\r\n'
  )
}

describe.each(httpRevisions)('a body of %s', (revision) => {
  it('can have exactly maxBodyBytes, with and without Content-Length', async () => {
    const http = await serve(createServer(), { maxBodyBytes })
    const client = await RawClient.open(http.port, revision)
    const chunked = (body: string) =>
      client.exchange(
        toBytes(
          'POST',
          '/mcp',
          client.headers('tools/call', 'echo', { 'Transfer-Encoding': 'chunked' }),
          toChunks(body),
        ),
      )
    for (const send of [(body: string) => client.post(body), chunked]) {
      expect((await send(bodyOf(client, maxBodyBytes))).status).toBe(200)
      const refused = await send(bodyOf(client, maxBodyBytes + 1))
      expect(refused.status).toBe(413)
      expect(refused.json.error?.message).toMatch(/1000 bytes.*maxBodyBytes/)
    }
  })

  it('can have exactly maxBodyBytes over fetch', async () => {
    const handler = createMcpHandler(createServer(), { maxBodyBytes, sessions: false })
    const client = new RawClient(0, revision)
    const headers = Object.fromEntries(
      Object.entries(
        client.headers('tools/call', 'echo', { 'MCP-Protocol-Version': revision, Host: undefined }),
      ).filter(([, value]) => value !== undefined),
    ) as Record<string, string>
    const post = async (body: string, announced: boolean) => {
      const { length } = body
      const all = { ...headers, ...(announced && { 'content-length': String(length) }) }
      return (await handler.fetch(new Request('http://localhost/mcp', { method: 'POST', headers: all, body }))).status
    }
    for (const announced of [true, false]) {
      expect(await post(bodyOf(client, maxBodyBytes), announced)).toBe(200)
      expect(await post(bodyOf(client, maxBodyBytes + 1), announced)).toBe(413)
    }
    await handler.close()
  })
})

/** A server behind a body parser like `express.json()`. */
async function behindParser(keepRaw: boolean, options = {}) {
  const handler = createMcpHandler(createServer(), options)
  const http = createHttpServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const raw = Buffer.concat(chunks)
    const parsed = request as IncomingMessage & { body?: unknown; rawBody?: Buffer }
    if (raw.length > 0) parsed.body = JSON.parse(raw.toString())
    if (keepRaw) parsed.rawBody = raw
    handler.node(parsed, response)
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    await handler.close(0)
    http.close()
  })
  return (http.address() as AddressInfo).port
}

const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`
const noName: RawHeaders = {}

describe.each(httpRevisions)('a body parsed by a framework (%s)', (revision) => {
  const deep = (client: RawClient, levels: number) =>
    client.call(1, 'echo', { deep: 'HERE' }).replace('"HERE"', nested(levels))

  it('has the same depth limit as a body parsed by the SDK', async () => {
    const port = await behindParser(false)
    const client = await RawClient.open(port, revision)
    // The message, its params and the arguments are three levels.
    expect((await client.post(deep(client, 509), noName)).status).toBe(200)
    const refused = await client.post(deep(client, 510), noName)
    expect([refused.status, refused.json.error?.code]).toEqual([400, -32600])
    expect(refused.json.error?.message).toBe('The message is nested deeper than 512 levels')
    expect((await client.post(deep(client, 100_000), noName)).status).toBe(400)
  })

  it('has a size limit', async () => {
    const port = await behindParser(false, { maxBodyBytes: 2_000 })
    const client = await RawClient.open(port, revision)
    expect((await client.post(client.call(1, 'echo', { text: 'x'.repeat(1_000) }))).status).toBe(200)
    const many = Array.from({ length: 1_100 }, () => 0)
    for (const args of [{ text: 'x'.repeat(2_100) }, { ['k'.repeat(2_100)]: 1 }, { many: many.map(() => []) }]) {
      expect((await client.post(client.call(1, 'echo', args))).status).toBe(413)
    }
  })

  it('is checked for duplicate members if the raw body was kept', async () => {
    const port = await behindParser(true)
    const client = await RawClient.open(port, revision)
    const twice = client.call(1, 'echo').replace('"id":1', '"id":1,"id":2')
    const refused = await client.post(twice)
    expect([refused.status, refused.json.error?.code]).toEqual([400, -32600])
    await client.stillServes()
  })
})

describe('a body passed as text', () => {
  it('is parsed and checked by the SDK', async () => {
    const handler = createMcpHandler(createServer())
    const http = createHttpServer(async (request, response) => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk as Buffer)
      const raw = Buffer.concat(chunks)
      handler.node(request, response, request.headers['x-as'] === 'bytes' ? raw : raw.toString())
    })
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
    onTestFinished(async () => {
      await handler.close(0)
      http.close()
    })
    const client = new RawClient((http.address() as AddressInfo).port, modern)
    for (const as of ['text', 'bytes']) {
      expect((await client.post(client.call(1, 'echo'), { 'X-As': as })).status).toBe(200)
      const twice = client.call(1, 'echo').replace('"id":1', '"id":1,"id":2')
      expect((await client.post(twice, { 'X-As': as })).status).toBe(400)
    }
  })
})

describe('SSEServerTransport behind a body parser', () => {
  it('limits the depth of a message', async () => {
    let transport: SSEServerTransport | undefined
    const http = createHttpServer(async (request, response) => {
      if (request.method === 'GET') {
        transport = new SSEServerTransport('/messages', response)
        return void createServer().connect(transport)
      }
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk as Buffer)
      await transport!.handlePostMessage(request, response, JSON.parse(Buffer.concat(chunks).toString()))
    })
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => {
      http.closeAllConnections()
      http.close()
    })
    const { port } = http.address() as AddressInfo
    const client = new RawClient(port, sessionRevisions[0])
    await client.listen()
    const body = `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"deep":${nested(600)}}}`
    expect((await client.post(body)).status).toBe(400)
  })
})

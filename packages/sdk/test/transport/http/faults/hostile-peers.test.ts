import { createServer as createTcpServer, type Socket } from 'node:net'
import { connect, McpError } from 'tenon/client'
import { createMcpHandler, MemoryEventStore, MemorySessionStore } from 'tenon/server'
import { describe, expect, it, onTestFinished } from 'vitest'
import { eventually } from '../../../kit/eventually.ts'
import { RawConnection, toBytes } from '../../../kit/raw-http.ts'
import { modern } from '../../../kit/revisions.ts'
import { createServer, listen, RawClient, serve } from './support.ts'

const meta = (id: number) => ({
  jsonrpc: '2.0',
  id,
  method: 'subscriptions/listen',
  params: {
    notifications: { toolsListChanged: true },
    _meta: { 'io.modelcontextprotocol/protocolVersion': modern, 'io.modelcontextprotocol/clientCapabilities': {} },
  },
})

describe('a client that pipelines requests', () => {
  it('leaves nothing open when it disconnects', async () => {
    const server = createServer()
    server.registerTool('one', {}, () => '1')
    const http = await serve(server)
    const client = new RawClient(http.port, modern)
    const connection = await RawConnection.open(http.port)
    for (let id = 1; id <= 30; id++) {
      const body = JSON.stringify(meta(id))
      const headers = client.headers('subscriptions/listen', '', { 'Content-Length': String(body.length) })
      connection.write(toBytes('POST', '/mcp', { ...headers, 'Mcp-Name': undefined }, body))
    }
    await eventually(() => http.metrics.calls === 30)
    connection.destroy()
    await eventually(() => http.metrics.streams === 0 && http.metrics.calls === 0)
  })
})

describe('a body in chunks of one byte', () => {
  it('needs little more memory than its size', async () => {
    const http = await serve(createServer())
    const client = await RawClient.open(http.port, '2025-11-25')
    const connection = await RawConnection.open(http.port)
    const headers = client.headers('', '', { 'Transfer-Encoding': 'chunked' })
    const body = client.call(1, 'echo', { text: 'x'.repeat(300_000) })
    const before = process.memoryUsage().heapUsed
    connection.write(toBytes('POST', '/mcp', { ...headers, 'Content-Length': undefined }))
    for (let at = 0; at < body.length; at += 1_000) {
      connection.write([...body.slice(at, at + 1_000)].map((char) => `1\r\n${char}\r\n`).join(''))
      if (at % 50_000 === 0) await new Promise((resolve) => setImmediate(resolve))
    }
    connection.write('0\r\n\r\n')
    const { status } = await connection.response()
    expect(status).toBe(200)
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(200 * 1024 * 1024)
  })
})

describe('callers identified by an authentication layer', () => {
  it.each([
    [
      { clientId: 'a', extra: { userId: 1 } },
      { clientId: 'a', extra: { userId: 2 } },
    ],
    [
      { clientId: 'a', extra: { sub: 'b c' } },
      { clientId: 'a b', extra: { sub: 'c' } },
    ],
    [{ clientId: 'a b' }, { clientId: 'a', extra: { sub: 'b' } }],
  ])('are never confused: %j and %j [SESS-014]', async (alice, mallory) => {
    const handler = createMcpHandler(createServer())
    onTestFinished(() => handler.close())
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
    const post = (body: object, auth: object, more = {}) =>
      handler.fetch(
        new Request('http://localhost/mcp', {
          method: 'POST',
          headers: { ...headers, ...more },
          body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...body }),
        }),
        { auth },
      )
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } }
    const opened = await post({ method: 'initialize', params }, alice)
    const session = { 'mcp-session-id': opened.headers.get('mcp-session-id')! }
    expect((await post({ method: 'ping' }, mallory, session)).status).toBe(404)
    expect((await post({ method: 'ping' }, alice, session)).status).toBe(200)
  })
})

describe('a client that resumes a stream and does not read it', () => {
  it('is disconnected when too much data is queued for it', async () => {
    const server = createServer()
    const http = await serve(server, { maxQueuedBytes: 256 * 1024, eventStore: new MemoryEventStore() })
    const client = await RawClient.open(http.port, '2025-11-25')
    const first = await client.listen()
    const { id } = (await first.next())!
    const data = 'x'.repeat(64 * 1024)
    for (let at = 0; at < 40; at++) server.server.sendLoggingMessage({ level: 'info', data })
    first.connection.destroy()
    await eventually(() => http.metrics.streams === 0)
    const again = await RawConnection.open(http.port)
    onTestFinished(() => again.destroy())
    again.socket.pause()
    again.write(toBytes('GET', '/mcp', client.getHeaders({ 'Last-Event-ID': id })))
    await eventually(() => http.metrics.streams === 1)
    for (let at = 0; http.metrics.streams === 1; at++) {
      expect(at).toBeLessThan(2_000)
      server.server.sendLoggingMessage({ level: 'info', data })
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    await client.stillServes()
  })
})

describe('shared services that fail', () => {
  it.each([
    ['rejects', () => Promise.reject(new Error('The bus is down'))],
    ['hangs', () => new Promise<() => void>(() => {})],
  ])('a bus whose subscribe %s affects neither calls nor shutdown', async (_how, subscribe) => {
    const errors: unknown[] = []
    const server = createServer({ onError: (error) => errors.push(error) })
    const http = await serve(server, { bus: { publish: () => {}, subscribe }, sessionStore: new MemorySessionStore() })
    const client = await RawClient.open(http.port, '2025-11-25')
    await client.stillServes()
    await http.close()
  })

  it('invalid messages on the bus are ignored', async () => {
    let tell: (message: string) => void = () => {}
    const bus = {
      publish: () => {},
      subscribe: (_topic: string, listener: (message: string) => void) => {
        tell = listener
        return () => {}
      },
    }
    const http = await serve(createServer(), { bus })
    const client = await RawClient.open(http.port, '2025-11-25')
    for (const message of ['{', 'null', '[]', '7']) tell(message)
    await client.stillServes()
  })

  it('a session that cannot be restored causes a 500 each time and leaves nothing behind', async () => {
    const sessionStore = new MemorySessionStore()
    sessionStore.set({ id: 'broken', state: { revision: '1999-01-01' }, createdAt: Date.now() }, 60_000)
    const server = createServer({ onError: () => {} })
    const http = await serve(server, { sessionStore })
    const client = await RawClient.open(http.port, '2025-11-25')
    const open = http.metrics.sessions.open
    for (let times = 0; times < 2; times++) {
      const response = await client.post(client.call(1, 'echo'), { 'Mcp-Session-Id': 'broken' })
      expect(response.status).toBe(500)
    }
    expect(http.metrics.sessions.open).toBe(open)
  })

  it('an onError callback that throws does not prevent a response', async () => {
    const server = createServer({
      onError: () => {
        throw new Error('also broken')
      },
    })
    const http = await serve(server, {
      principal: () => {
        throw new Error('broken')
      },
    })
    const connection = await RawConnection.open(http.port)
    onTestFinished(() => connection.destroy())
    const client = new RawClient(http.port, modern)
    const body = client.call(1, 'echo')
    const headers = client.headers('tools/call', 'echo', { 'Content-Length': String(body.length) })
    expect((await connection.write(toBytes('POST', '/mcp', headers, body)).response()).status).toBe(500)
  })
})

describe('invalid bytes after a request whose response has begun', () => {
  it('are not answered within that response', async () => {
    const server = createServer()
    server.registerTool('one', {}, () => '1')
    const http = await serve(server)
    const client = new RawClient(http.port, modern)
    const connection = await RawConnection.open(http.port)
    const body = JSON.stringify(meta(1))
    const headers = client.headers('subscriptions/listen', '', { 'Content-Length': String(body.length) })
    let seen = ''
    connection.socket.on('data', (chunk: Buffer) => {
      seen += chunk.toString('latin1')
    })
    connection.write(toBytes('POST', '/mcp', { ...headers, 'Mcp-Name': undefined }, body))
    await eventually(() => seen.includes('acknowledged'))
    connection.write('this is no HTTP\r\n\r\n')
    await connection.closed()
    expect(seen.match(/HTTP\/1\.1/g)).toHaveLength(1)
  })
})

/** A TCP server that sends raw bytes. */
async function rawServer(answer: (socket: Socket, request: string) => void): Promise<string> {
  const sockets = new Set<Socket>()
  const server = createTcpServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('data', (chunk) => answer(socket, chunk.toString('latin1')))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as { port: number }).port}/mcp`
}

describe('a client of a hostile server', () => {
  it('survives a keep-alive hint of four hundred digits', async () => {
    const url = await rawServer((socket) => {
      const hint = `Keep-Alive: timeout=${'9'.repeat(400)}`
      socket.write(`HTTP/1.1 404 Not Found\r\n${hint}\r\nContent-Length: 0\r\n\r\n`)
    })
    await expect(connect(url, { revision: modern })).rejects.toThrow()
    await new Promise((resolve) => setImmediate(resolve))
  })

  it('rejects a request that is answered with 101 Switching Protocols', async () => {
    const url = await rawServer((socket) => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n')
    })
    await expect(connect(url, { revision: modern })).rejects.toBeInstanceOf(McpError)
  })

  it('does not read an endless response to a notification', async () => {
    let sent = 0
    const port = await listen((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        const message = chunks.length > 0 ? JSON.parse(Buffer.concat(chunks).toString()) : {}
        const result = { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 's', version: '1' } }
        if (message.method === 'notifications/initialized') {
          response.writeHead(202)
          const piece = 'x'.repeat(65_536)
          const drip = setInterval(() => {
            sent += piece.length
            response.write(piece)
          }, 1)
          response.on('close', () => clearInterval(drip))
        } else if (message.id === undefined) response.writeHead(405).end()
        else {
          response.writeHead(200, { 'content-type': 'application/json' })
          const answer = message.method === 'initialize' ? { result } : { result: {} }
          response.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, ...answer }))
        }
      })
    })
    const client = await connect(`http://127.0.0.1:${port}/mcp`, { revision: '2025-11-25' })
    await client.ping()
    const before = sent
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect(sent - before).toBeLessThan(20 * 65_536)
    await client.close()
  })
})

import { createServer as createHttpServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createMcpHandler, type HttpOptions } from 'tenon/server'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { eventually } from '../../../kit/eventually.ts'
import { RawConnection, toBytes } from '../../../kit/raw-http.ts'
import { httpRevisions, modern } from '../../../kit/revisions.ts'
import { createServer, RawClient, serve } from './support.ts'

const megabyte = 1024 * 1024

afterEach(() => {
  vi.useRealTimers()
})

/** Fakes only the interval checks of the server; sockets keep working. */
const fakeTime = () => vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'Date'] })

function createBig() {
  const server = createServer()
  server.registerTool('big', {}, () => 'x'.repeat(8 * megabyte))
  return server
}

/** Sends calls and does not read the responses. */
async function callUnread(client: RawClient, name: string, times = 1): Promise<RawConnection> {
  const connection = await RawConnection.open(client.port)
  onTestFinished(() => connection.destroy())
  connection.socket.pause()
  for (let id = 1; id <= times; id++) {
    const body = client.call(id, name)
    const headers = client.headers('tools/call', name, { 'Content-Length': String(body.length) })
    connection.write(toBytes('POST', '/mcp', headers, body))
  }
  return connection
}

describe.each(httpRevisions)('a response that its client does not read (%s)', (revision) => {
  it('is aborted after writeTimeoutMs without progress', async () => {
    const http = await serve(createBig())
    const client = await RawClient.open(http.port, revision)
    fakeTime()
    const connection = await callUnread(client, 'big')
    await eventually(() => http.metrics.unsentBytes > megabyte)
    vi.advanceTimersByTime(29_000)
    expect(http.metrics.unsentBytes).toBeGreaterThan(megabyte)
    vi.advanceTimersByTime(5_000)
    await eventually(() => http.metrics.unsentBytes === 0)
    connection.socket.resume()
    await connection.closed()
    expect(connection.waiting.length).toBeLessThan(8 * megabyte)
    await client.stillServes()
  })
})

describe('a response that its client reads slowly', () => {
  it('is sent completely', async () => {
    const http = await serve(createBig())
    const client = new RawClient(http.port, modern)
    fakeTime()
    const connection = await callUnread(client, 'big')
    await eventually(() => http.metrics.unsentBytes > megabyte)
    let received = 0
    connection.socket.on('data', (chunk: Buffer) => {
      received += chunk.length
    })
    // More than a minute in total. The server may see what was read one step later, and 24 seconds are still not 30.
    for (let step = 0; step < 6; step++) {
      vi.advanceTimersByTime(12_000)
      const before = received
      connection.socket.resume()
      await eventually(() => connection.ended || received > before + 3 * megabyte || received > 8 * megabyte)
      expect(connection.ended).toBe(false)
      connection.socket.pause()
    }
    connection.socket.resume()
    await eventually(() => received > 8 * megabyte)
    expect(connection.ended).toBe(false)
  })
})

describe('many unread responses', () => {
  it('use at most maxUnsentBytes: the connections that waited longest are closed', async () => {
    const maxUnsentBytes = 30 * megabyte
    const http = await serve(createBig(), { maxUnsentBytes })
    const client = new RawClient(http.port, modern)
    const connections: RawConnection[] = []
    for (let count = 0; count < 12; count++) {
      connections.push(await callUnread(client, 'big'))
      await eventually(() => http.metrics.calls === 0)
      await eventually(() => http.metrics.unsentBytes <= maxUnsentBytes)
    }
    // The first ones were closed, the last one still works.
    connections[0]!.socket.resume()
    await connections[0]!.closed()
    const last = connections.at(-1)!
    last.socket.resume()
    expect((await last.response()).body.length).toBeGreaterThan(8 * megabyte)
  })

  it('close their connection when pipelined responses exceed maxQueuedBytes', async () => {
    const http = await serve(createBig(), { maxQueuedBytes: 12 * megabyte })
    const client = new RawClient(http.port, modern)
    const connection = await callUnread(client, 'big', 10)
    await eventually(() => http.metrics.calls === 0)
    connection.socket.resume()
    await connection.closed()
    expect(connection.waiting.length).toBeLessThan(3 * 8 * megabyte)
    await eventually(() => http.metrics.unsentBytes === 0)
    await client.stillServes()
  })

  it('are all sent if pipelined responses do not exceed maxQueuedBytes', async () => {
    const http = await serve(createBig(), { maxQueuedBytes: 30 * megabyte })
    const connection = await callUnread(new RawClient(http.port, modern), 'big', 2)
    await eventually(() => http.metrics.calls === 0 && http.metrics.unsentBytes > megabyte)
    connection.socket.resume()
    for (let count = 0; count < 2; count++) {
      expect((await connection.response()).body.length).toBeGreaterThan(8 * megabyte)
    }
    expect(connection.ended).toBe(false)
  })

  it('do not include a single response, however large', async () => {
    const http = await serve(createBig(), { maxQueuedBytes: megabyte })
    const client = new RawClient(http.port, modern)
    const connection = await callUnread(client, 'big')
    await eventually(() => http.metrics.unsentBytes > megabyte)
    connection.socket.resume()
    expect((await connection.response()).body.length).toBeGreaterThan(8 * megabyte)
  })
})

function createGate() {
  let resolve!: (value: string) => void
  const promise = new Promise<string>((done) => {
    resolve = done
  })
  return { promise, resolve }
}

describe('pipelined requests behind one that is still running', () => {
  /** A server behind a body parser, with a tool that waits for `gate` and a tool with large results. */
  async function servePipelined(options: HttpOptions) {
    const server = createServer()
    const gate = createGate()
    let calls = 0
    server.registerTool('wait', {}, () => gate.promise)
    server.registerTool('large', {}, async () => {
      calls++
      return 'x'.repeat(megabyte / 4)
    })
    const handler = createMcpHandler(server, options)
    const responses: ServerResponse[] = []
    const http = createHttpServer((request, response) => {
      request.setEncoding('utf8').once('data', (text: string) => {
        responses.push(response)
        handler.node(request, response, JSON.parse(text))
      })
    })
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
    onTestFinished(async () => {
      gate.resolve('late')
      await handler.close()
      http.close()
    })
    const client = new RawClient((http.address() as AddressInfo).port, modern)
    const connection = await RawConnection.open(client.port)
    onTestFinished(() => connection.destroy())
    const request = (id: number, name: string) => {
      const body = client.call(id, name)
      return toBytes(
        'POST',
        '/mcp',
        client.headers('tools/call', name, { 'Content-Length': String(body.length) }),
        body,
      )
    }
    const unsentBytes = () => responses.reduce((sum, { writableLength }) => sum + writableLength, 0)
    return { handler, gate, connection, request, responses, unsentBytes, calls: () => calls }
  }

  it('leave no output behind when their responses exceed maxQueuedBytes', async () => {
    const { handler, connection, request, responses, unsentBytes } = await servePipelined({ maxQueuedBytes: megabyte })
    const requests = [request(0, 'wait'), ...Array.from({ length: 60 }, (_, index) => request(index + 1, 'large'))]
    connection.write(Buffer.concat(requests))
    await connection.closed()
    await eventually(() => handler.metrics.calls === 0)
    // Responses of one turn of the event loop are written at its end.
    await new Promise((resolve) => setImmediate(resolve))
    expect(responses.length).toBeGreaterThan(10)
    expect(unsentBytes()).toBe(0)
    expect(handler.metrics.unsentBytes).toBe(0)
  })

  it('leave no output behind when the client disconnects', async () => {
    const { handler, connection, request, unsentBytes } = await servePipelined({})
    connection.write(Buffer.concat([request(0, 'wait'), request(1, 'large'), request(2, 'large')]))
    await eventually(() => unsentBytes() > megabyte / 2)
    connection.destroy()
    await eventually(() => handler.metrics.calls === 0 && unsentBytes() === 0)
    expect(handler.metrics.unsentBytes).toBe(0)
  })

  it('are not started when the connection closed while their caller was being identified', async () => {
    const identified = createGate()
    const { connection, request, responses, calls, handler } = await servePipelined({
      principal: () => identified.promise,
    })
    connection.write(Buffer.concat([request(0, 'large'), request(1, 'large')]))
    await eventually(() => responses.length === 2)
    connection.destroy()
    await eventually(() => responses.every(({ req }) => req.socket.destroyed))
    identified.resolve('user')
    await new Promise((resolve) => setImmediate(resolve))
    expect(calls()).toBe(0)
    expect(handler.metrics.calls).toBe(0)
  })
})

describe('a stream that its client does not read', () => {
  it('is aborted after writeTimeoutMs although the server keeps sending comments', async () => {
    const server = createServer()
    const http = await serve(server, { maxQueuedBytes: 64 * megabyte })
    const client = await RawClient.open(http.port, '2025-11-25')
    fakeTime()
    const stream = await client.listen()
    stream.connection.socket.pause()
    const data = 'x'.repeat(megabyte)
    for (let count = 0; count < 12; count++) server.server.sendLoggingMessage({ level: 'info', data })
    expect(http.metrics.unsentBytes).toBeGreaterThan(megabyte)
    // Writes of one turn reach the socket at its end.
    await new Promise((resolve) => setImmediate(resolve))
    vi.advanceTimersByTime(60_000)
    await eventually(() => http.metrics.streams === 0 && http.metrics.unsentBytes === 0)
    await client.stillServes()
  })

  it('is aborted over fetch too', async () => {
    fakeTime()
    const server = createServer()
    const handler = createMcpHandler(server, { maxQueuedBytes: 64 * megabyte })
    const client = new RawClient(0, modern)
    const body = client.request(1, 'subscriptions/listen', { notifications: { toolsListChanged: true } })
    const headers = new Headers({
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': modern,
      'mcp-method': 'subscriptions/listen',
    })
    const response = await handler.fetch(new Request('http://localhost/mcp', { method: 'POST', headers, body }))
    expect(response.headers.get('content-type')).toBe('text/event-stream')
    // Every change is a small message, so many are needed to fill the queue.
    server.registerTool(`t${'x'.repeat(60)}`, {}, () => '')
    for (let count = 0; handler.metrics.unsentBytes === 0; count++) {
      expect(count).toBeLessThan(100_000)
      server.server.changes.emit({ list: 'tools' })
    }
    vi.advanceTimersByTime(60_000)
    expect(handler.metrics).toMatchObject({ streams: 0, calls: 0, unsentBytes: 0 })
    await expect(response.text()).rejects.toThrow('The connection was closed')
    await handler.close()
  })
})

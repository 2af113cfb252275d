import type { IncomingMessage, ServerResponse } from 'node:http'
import { describe, expect, it } from 'vitest'
import type { OutputLimits } from '../../../../src/transport/http/server/call.ts'
import { NodeCall } from '../../../../src/transport/http/server/node.ts'
import type { NodeRequest } from '../../../../src/transport/http/server/node-request.ts'
import { UnsentOutputs } from '../../../../src/transport/http/server/unsent-output.ts'
import { gate } from '../../../kit/gate.ts'
import { overHttp } from '../../../kit/http-client.ts'
import { RawConnection } from '../../../kit/raw-http.ts'
import { listenWith } from '../../../kit/serve-http.ts'

/** Sends a GET, and returns the call at the server with the connection of the client. */
async function open() {
  const arrived = gate<{ request: IncomingMessage; response: ServerResponse }>()
  const http = await listenWith((request, response) => arrived.open({ request, response }))
  const connection = await RawConnection.open(http.port)
  connection.write('GET /mcp?a=b HTTP/1.1\r\nhost: a.example\r\n\r\n')
  const { request, response } = await arrived.opened
  const close = async () => {
    connection.destroy()
    await http[Symbol.asyncDispose]()
  }
  return { call: new NodeCall(request, response), request, response, connection, [Symbol.asyncDispose]: close }
}

const turn = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)))

/** Waits until the server knows that the client is gone. */
async function gone({ request, connection }: { request: IncomingMessage; connection: RawConnection }): Promise<void> {
  const closed = new Promise<void>((resolve) => void request.socket.once('close', () => resolve()))
  connection.destroy()
  await closed
}

describe('NodeCall', () => {
  it('replies once', async () => {
    await using opened = await open()
    opened.call.reply(200, { 'content-type': 'text/plain' }, 'first')
    opened.call.reply(500, {}, 'second')
    const { status, text } = await opened.connection.response('GET')
    expect([status, text]).toEqual([200, 'first'])
    await opened.call.finished()
  })

  it('does not send a reply to a client that is gone at the end of the turn', async () => {
    await using opened = await open()
    opened.call.reply(200, {}, 'x')
    opened.request.socket.destroy()
    await turn()
    expect([opened.call.isGone, opened.response.writableEnded]).toEqual([true, false])
    opened.call.reply(200, {}, 'again')
    await opened.call.finished()
  })

  it('does nothing for a client that is gone: reads no body, replies with nothing', async () => {
    await using opened = await open()
    await gone(opened)
    let isRead = false
    const limits = { maxBodyBytes: 0, bodyTimeoutMs: 0, deadlines: undefined }
    new NodeCall(opened.request, opened.response, { parsed: true }).body(limits, () => {
      isRead = true
    })
    opened.call.reply(200, {}, 'x')
    await turn()
    expect([isRead, opened.response.headersSent]).toEqual([false, false])
  })

  it('tells a listener at once that the client is gone, or when it leaves, and once', async () => {
    await using opened = await open()
    const calls: string[] = []
    opened.call.onClose(() => void calls.push('later'))
    const finished = opened.call.finished()
    await gone(opened)
    await finished
    await turn()
    expect(calls).toEqual(['later'])
    opened.call.onClose(() => void calls.push('at once'))
    expect(calls).toEqual(['later', 'at once'])
    await opened.call.finished()
  })

  it('does not tell a listener about the end of a response that was sent', async () => {
    await using opened = await open()
    let calls = 0
    opened.call.onClose(() => void calls++)
    opened.call.reply(200, {}, 'x')
    await opened.connection.response('GET')
    await opened.call.finished()
    await gone(opened)
    await turn()
    expect(calls).toBe(0)
  })

  it('writes nothing to a stream that ended or whose client is gone', async () => {
    await using opened = await open()
    const errors: unknown[] = []
    opened.response.on('error', (error) => errors.push(error))
    const sink = opened.call.stream({ 'content-type': 'text/event-stream' })
    sink.write(':1\n\n')
    sink.end()
    sink.end()
    sink.write(':2\n\n')
    await turn()
    expect((await opened.connection.response('GET')).text).toBe(':1\n\n')
    await using second = await open()
    second.response.on('error', (error) => errors.push(error))
    const lost = second.call.stream({})
    await gone(second)
    lost.write(':3\n\n')
    await turn()
    expect(errors).toEqual([])
    expect(lost.drained()).toBeUndefined()
  })

  it('counts what a client does not read, resolves drained() when it leaves, and counts nothing afterwards', async () => {
    await using opened = await open()
    const limits: OutputLimits = { unsentOutputs: new UnsentOutputs({}), maxQueuedBytes: 1_000 }
    opened.call.limitOutput(limits)
    opened.connection.socket.pause()
    const sink = opened.call.stream({})
    expect(sink.drained()).toBeUndefined()
    // More than the buffers of the operating system hold.
    for (let each = 0; each < 64 && sink.waiting === 0; each++) sink.write('x'.repeat(1024 * 1024))
    expect(sink.waiting).toBeGreaterThan(0)
    expect(limits.unsentOutputs.unsentBytes).toBeGreaterThan(0)
    const drained = sink.drained()
    expect(drained).toBeInstanceOf(Promise)
    await gone(opened)
    await drained
    expect(limits.unsentOutputs.unsentBytes).toBe(0)
  })

  it('counts nothing more once the client has read everything', async () => {
    await using opened = await open()
    const limits: OutputLimits = { unsentOutputs: new UnsentOutputs({}), maxQueuedBytes: 1_000 }
    opened.call.limitOutput(limits)
    const length = 16 * 1024 * 1024
    opened.call.reply(200, {}, 'x'.repeat(length))
    await turn()
    expect(limits.unsentOutputs.unsentBytes).toBeGreaterThan(0)
    expect((await opened.connection.response('GET')).body).toHaveLength(length)
    await opened.call.finished()
    expect(limits.unsentOutputs.unsentBytes).toBe(0)
  })

  it('knows the whole URL: of the mounted path, with the host of the request, or as it was sent', async () => {
    await using opened = await open()
    const request = opened.request as NodeRequest
    const urlOf = () => new NodeCall(request, opened.response).request.url
    expect(urlOf()).toBe('http://a.example/mcp?a=b')
    request.originalUrl = '/mounted/mcp'
    expect(urlOf()).toBe('http://a.example/mounted/mcp')
    request.originalUrl = 'http://b.example/mcp'
    expect(urlOf()).toBe('http://b.example/mcp')
    delete request.headers.host
    request.originalUrl = '/mcp'
    expect(urlOf()).toBe('http://localhost/mcp')
  })

  it('reads headers in any case, and one that was sent twice as invalid', async () => {
    const seen = gate<(string | undefined)[]>()
    await using http = await listenWith((request, response) => {
      const facts = new NodeCall(request, response).request
      const names = ['x-a', 'X-A', 'x-b', 'content-type', 'x-missing', 'X-Missing']
      seen.open([...names.map((name) => facts.header(name)), facts.headers['x-b'], String(facts.truncated)])
      response.end()
    })
    using connection = await RawConnection.open(http.port)
    const twice = 'content-type: text/plain\r\ncontent-type: application/json\r\n'
    connection.write(`GET / HTTP/1.1\r\nhost: a\r\nx-a: 1\r\nx-b: 2\r\nx-b: 3\r\n${twice}\r\n`)
    expect(await seen.opened).toEqual(['1', '1', '2, 3', ', ', undefined, undefined, '2, 3', 'false'])
  })

  it('has the address of the connection, unless it is set', async () => {
    await using opened = await open()
    expect(opened.call.request.peer).toBe('127.0.0.1')
    opened.call.request.peer = '192.0.2.1'
    expect(opened.call.request.peer).toBe('192.0.2.1')
  })

  it('refuses a body whose length is above the limit, or that grows above it, and takes one at the limit', async () => {
    await using http = await listenWith((request, response) => {
      const call = new NodeCall(request, response)
      const limits = { maxBodyBytes: 4, bodyTimeoutMs: 0, deadlines: undefined }
      call.body(limits, (body) => call.reply(typeof body === 'string' ? 200 : 413, {}, JSON.stringify(body)))
    })
    const send = overHttp(http.url)
    expect((await send({ body: 'abcd' })).status).toBe(200)
    expect((await send({ body: 'abcde' })).status).toBe(413)
    expect((await send({ body: 'abcde', headers: { 'transfer-encoding': 'chunked' } })).status).toBe(413)
  })
})

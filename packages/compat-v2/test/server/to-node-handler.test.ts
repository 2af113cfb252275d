import { createServer, type RequestListener, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { type ToNodeHandlerOptions, toNodeHandler, toWebRequest } from '../../src/node/index.ts'
import {
  createMcpHandler,
  type McpHttpHandler,
  type McpRequestContext,
  McpServer,
  type ServerContext,
} from '../../src/server/index.ts'
import { envelope } from './kit.ts'

/** Serves a handler that answers with the length of the body. */
function listen(options?: ToNodeHandlerOptions) {
  const handler = toNodeHandler({ fetch: async (req) => new Response(String((await req.text()).length)) }, options)
  return serve((req, res) => void handler(req, res))
}

async function serve(listener: RequestListener) {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

describe('toNodeHandler', () => {
  it('stops reading a body without a length when it is too long', async () => {
    await using http = await listen({ maxRequestBodySize: 1000 })
    const chunk = Buffer.alloc(600, 'a')
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const req = request({ port: http.port, host: '127.0.0.1', method: 'POST' }, (res) => resolve(res.statusCode))
      req.on('error', reject)
      // The body never ends.
      req.write(chunk)
      req.write(chunk)
    })
    expect(status).toBe(413)
  })

  it('refuses a body by its length, and takes others', async () => {
    await using http = await listen()
    const url = `http://127.0.0.1:${http.port}/`
    const long = await fetch(url, { method: 'POST', body: 'a'.repeat(4 * 1024 * 1024 + 1) })
    expect(long.status).toBe(413)
    expect(await long.json()).toMatchObject({
      error: { code: -32000, message: 'Payload Too Large: Request body must not exceed 4194304 bytes' },
    })
    const short = await fetch(url, { method: 'POST', body: 'a'.repeat(100) })
    expect(await short.text()).toBe('100')
  })

  it('reports a response that the program has sent already, and cancels the body of its own', async () => {
    const cancelled = vi.fn()
    const errors: Error[] = []
    const body = new ReadableStream({ cancel: cancelled })
    const handler = toNodeHandler({ fetch: async () => new Response(body) }, { onerror: (error) => errors.push(error) })
    const handled: Promise<void>[] = []
    await using http = await serve((req, res) => {
      res.writeHead(503).end('timeout')
      handled.push(handler(req, res))
    })
    const answer = await fetch(`http://127.0.0.1:${http.port}/`, { method: 'POST', body: 'a' })
    expect([answer.status, await answer.text()]).toEqual([503, 'timeout'])
    await expect(Promise.all(handled)).resolves.toEqual([undefined])
    expect(errors.map(({ message }) => message)).toEqual([
      'The response was sent before the handler finished. Its result is discarded.',
    ])
    expect(cancelled).toHaveBeenCalledOnce()
  })

  it('stops copying a body when the program ends the response', async () => {
    let push!: (text: string) => void
    const stopped = vi.fn()
    const body = new ReadableStream({
      start: (controller) => {
        push = (text) => controller.enqueue(new TextEncoder().encode(text))
      },
      cancel: stopped,
    })
    const handler = toNodeHandler({ fetch: async () => new Response(body) })
    const handled: Promise<void>[] = []
    const failed = vi.fn()
    await using http = await serve((req, res) => {
      res.on('error', failed)
      handled.push(handler(req, res))
      const { write } = res
      res.write = (...args: unknown[]) => {
        const isRoom = Reflect.apply(write, res, args)
        res.end('over')
        push('late')
        return isRoom
      }
    })
    push('first ')
    const answer = await fetch(`http://127.0.0.1:${http.port}/`, { method: 'POST', body: 'a' })
    expect(await answer.text()).toBe('first over')
    await Promise.all(handled)
    expect([stopped.mock.calls.length, failed.mock.calls]).toEqual([1, []])
  })

  it('answers 500 if the response of the handler cannot be sent', async () => {
    const errors: Error[] = []
    const handler = toNodeHandler({ fetch: async () => Response.error() }, { onerror: (error) => errors.push(error) })
    await using http = await serve((req, res) => void handler(req, res))
    const answer = await fetch(`http://127.0.0.1:${http.port}/`, { method: 'POST', body: 'a' })
    expect([answer.status, await answer.json()]).toMatchObject([500, { error: { code: -32603 } }])
    expect(errors.map(({ name }) => name)).toEqual(['RangeError'])
  })

  it('refuses a limit that is not a positive number', () => {
    expect(() => toNodeHandler({ fetch: async () => new Response() }, { maxRequestBodySize: 0 })).toThrow(RangeError)
  })
})

it('toWebRequest rejects a body that is too long', async () => {
  const req = Object.assign(Readable.from([Buffer.alloc(11)]), { method: 'POST', headers: {} })
  await expect(toWebRequest(req, undefined, { maxRequestBodySize: 10 })).rejects.toMatchObject({
    name: 'RequestBodyTooLargeError',
    status: 413,
  })
})

const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'hi', _meta: envelope } }

const headers = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
  'mcp-protocol-version': '2026-07-28',
  'mcp-method': 'tools/call',
  'mcp-name': 'hi',
}

function createHandler(tool: (ctx: ServerContext) => unknown, onBuilt?: (ctx: McpRequestContext) => void) {
  return createMcpHandler((ctx) => {
    onBuilt?.(ctx)
    const server = new McpServer({ name: 'demo', version: '1.0.0' })
    server.registerTool('hi', {}, async (toolCtx) => {
      await tool(toolCtx)
      return { content: [{ type: 'text', text: 'hällo' }] }
    })
    return server
  })
}

/** Sends the call to a server of `node:http`. */
async function send(http: { port: number }, sent: Record<string, string> = headers) {
  const body = JSON.stringify(call)
  return new Promise<{ status: number | undefined; length: string | undefined; text: string }>((resolve, reject) => {
    const options = { port: http.port, host: '127.0.0.1', path: '/mcp?a=1', method: 'POST', headers: sent }
    const req = request(options, async (res) => {
      let text = ''
      for await (const chunk of res.setEncoding('utf8')) text += chunk
      resolve({ status: res.statusCode, length: res.headers['content-length'], text })
    })
    req.on('error', reject)
    req.end(body)
  })
}

/** Counts the requests and responses that are created from now on. */
function countWebObjects() {
  const created = { requests: 0, responses: 0 }
  class CountedRequest extends Request {
    constructor(...args: ConstructorParameters<typeof Request>) {
      super(...args)
      created.requests++
    }
  }
  class CountedResponse extends Response {
    constructor(...args: ConstructorParameters<typeof Response>) {
      super(...args)
      created.responses++
    }
  }
  vi.stubGlobal('Request', CountedRequest)
  vi.stubGlobal('Response', CountedResponse)
  onTestFinished(() => void vi.unstubAllGlobals())
  return created
}

describe('toNodeHandler with createMcpHandler', () => {
  it('answers in JSON without creating a Request or a Response', async () => {
    const handler = toNodeHandler(createHandler(() => {}))
    await using http = await serve((req, res) => void handler(req, res))
    const created = countWebObjects()
    const { status, length, text } = await send(http)
    expect(status).toBe(200)
    expect(Number(length)).toBe(Buffer.byteLength(text))
    expect(JSON.parse(text)).toMatchObject({ id: 1, result: { content: [{ text: 'hällo' }] } })
    expect(created).toEqual({ requests: 0, responses: 0 })
  })

  it('shows the factory and the handler one Request with the URL and the headers', async () => {
    const seen: (Request | undefined)[] = []
    const handler = toNodeHandler(
      createHandler(
        ({ http }) => seen.push(http?.req),
        ({ requestInfo }) => seen.push(requestInfo),
      ),
    )
    await using http = await serve((req, res) => void handler(req, res))
    expect((await send(http)).status).toBe(200)
    const [first, second] = seen
    expect(first).toBeInstanceOf(Request)
    expect(second).toBe(first)
    expect(first?.url).toBe(`http://127.0.0.1:${http.port}/mcp?a=1`)
    expect(first?.headers.get('mcp-name')).toBe('hi')
  })

  it('passes on what middleware left: the identity and the parsed body', async () => {
    const seen: unknown[] = []
    const handler = toNodeHandler(
      createHandler(async ({ http }) => seen.push(http?.authInfo?.clientId, await http?.req?.json())),
    )
    const auth = { token: 't', clientId: 'c', scopes: [] }
    await using http = await serve(async (req, res) => {
      let text = ''
      for await (const chunk of req) text += chunk
      await handler(Object.assign(req, { auth }), res, JSON.parse(text))
    })
    expect((await send(http)).status).toBe(200)
    expect(seen).toEqual(['c', call])
  })

  it('gives a Request to a function that the program put in front of the handler', async () => {
    const inner: McpHttpHandler = createHandler(() => {})
    const methods: (string | null)[] = []
    const handler = toNodeHandler({
      fetch: (req, options) => {
        methods.push(req.headers.get('mcp-method'))
        return inner.fetch(req, options)
      },
    })
    await using http = await serve((req, res) => void handler(req, res))
    expect((await send(http)).status).toBe(200)
    expect(methods).toEqual(['tools/call'])
  })

  it.each(['a b', 'user:secret@localhost', 'localhost:99999'])(
    'refuses the host "%s", which no URL has',
    async (host) => {
      const onerror = vi.fn()
      const handler = toNodeHandler(
        createHandler(() => {}),
        { onerror },
      )
      await using http = await serve((req, res) => void handler(req, res))
      expect((await send(http, { ...headers, host })).status).toBe(500)
      expect(onerror).toHaveBeenCalledOnce()
    },
  )

  it('refuses a body by the limit of either handler', async () => {
    const handler = createMcpHandler(() => new McpServer({ name: 'demo', version: '1.0.0' }), {
      maxRequestBodySize: 100,
    })
    const [own, outer] = [toNodeHandler(handler), toNodeHandler(handler, { maxRequestBodySize: 50 })]
    await using first = await serve((req, res) => void own(req, res))
    await using second = await serve((req, res) => void outer(req, res))
    expect(await send(first)).toMatchObject({ status: 413, text: expect.stringContaining('exceeds the limit') })
    expect(await send(second)).toMatchObject({ status: 413, text: expect.stringContaining('must not exceed 50 bytes') })
  })

  it('keeps the process running if the program answered a slow call itself', async () => {
    const errors: Error[] = []
    let finish!: () => void
    const isSlow = new Promise<void>((resolve) => {
      finish = resolve
    })
    const handler = toNodeHandler(
      createHandler(() => isSlow),
      { onerror: (error) => errors.push(error) },
    )
    const handled: Promise<void>[] = []
    await using http = await serve((req, res) => {
      handled.push(handler(req, res))
      req.on('end', () => res.writeHead(503).end('timeout'))
    })
    expect(await send(http)).toMatchObject({ status: 503, text: 'timeout' })
    finish()
    await expect(Promise.all(handled)).resolves.toEqual([undefined])
    expect(errors).toHaveLength(1)
  })

  it('cancels the call when the client disconnects', async () => {
    const signals: (AbortSignal | undefined)[] = []
    let started = () => {}
    const running = new Promise<void>((resolve) => {
      started = resolve
    })
    let ended = () => {}
    const cancelled = new Promise<void>((resolve) => {
      ended = resolve
    })
    const handler = toNodeHandler(
      createHandler(({ mcpReq, http }) => {
        signals.push(mcpReq.signal, http?.req?.signal)
        mcpReq.signal.addEventListener('abort', ended)
        started()
        return cancelled
      }),
    )
    await using http = await serve((req, res) => void handler(req, res))
    const req = request({ port: http.port, host: '127.0.0.1', method: 'POST', headers })
    req.on('error', () => {})
    req.end(JSON.stringify(call))
    await running
    req.destroy()
    await cancelled
    expect(signals.map((signal) => signal?.aborted)).toEqual([true, true])
  })
})

import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { connect } from 'tenon/client'
import { McpServer, type ServeHttpOptions, serveHttp } from 'tenon/server'
import { describe, expect, it, onTestFinished } from 'vitest'
import { RawConnection, stopsListening } from '../../../kit/raw-http.ts'
import { discovered } from '../client/support.ts'

async function serve(server: McpServer, options: ServeHttpOptions = {}) {
  const http = await serveHttp(server, { port: 0, exit: false, ...options })
  onTestFinished(() => http.close())
  return http
}

/** A server with a tool that counts its runs, and a tool that ends on demand. */
function countingServer() {
  const server = new McpServer({ name: 'counting', version: '1.0.0' })
  const state = { runs: 0, finish: () => {} }
  const began = new Promise<void>((resolve) => {
    server.registerTool('slow', {}, async () => {
      state.runs++
      resolve()
      await new Promise<void>((finish) => {
        state.finish = finish
      })
      return 'done'
    })
  })
  server.registerTool('act', {}, () => `run ${++state.runs}`)
  return { server, state, began }
}

function post(name: string): string {
  const params = {
    name,
    arguments: {},
    _meta: {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1.0.0' },
      'io.modelcontextprotocol/clientCapabilities': {},
    },
  }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
  const headers = [
    'POST /mcp HTTP/1.1',
    'host: 127.0.0.1',
    'accept: application/json, text/event-stream',
    'content-type: application/json',
    'mcp-protocol-version: 2026-07-28',
    'mcp-method: tools/call',
    `mcp-name: ${name}`,
    `content-length: ${body.length}`,
  ]
  return `${headers.join('\r\n')}\r\n\r\n${body}`
}

describe('a server that shuts down', () => {
  it('reports that it is not ready, keeps serving, then closes each connection after its response', async () => {
    const { server } = countingServer()
    const http = await serve(server, { healthPath: '/healthz', shutdownDelayMs: 500 })
    const probe = 'GET /healthz HTTP/1.1\r\nhost: probe\r\n\r\n'
    using prober = await RawConnection.open(http.port)
    expect((await prober.write(probe).response()).text).toBe('ready')
    using client = await RawConnection.open(http.port)
    const ask = async () => (await client.write(post('act')).response()).headers.get('connection')
    expect(await ask()).toBe('keep-alive')
    const closed = http.close()
    expect(http.ready).toBe(false)
    expect(await prober.write(probe).response()).toMatchObject({ status: 503, text: 'shutting down' })
    // Load balancers may open new connections until they notice.
    using late = await RawConnection.open(http.port)
    expect((await late.write(post('act')).response()).status).toBe(200)
    for (;;) if ((await ask()) === 'close') break
    await client.closed()
    await closed
  })

  it('closes a connection after the response to its pending call', async () => {
    const { server, state, began } = countingServer()
    const http = await serve(server)
    using client = await RawConnection.open(http.port)
    client.write(post('slow'))
    await began
    const closed = http.close()
    await stopsListening(http.port)
    state.finish()
    const { status, headers } = await client.response()
    expect([status, headers.get('connection')]).toEqual([200, 'close'])
    await closed
  })

  it('closes idle connections with a 408 and does not run requests that arrive after it', async () => {
    const { server, state } = countingServer()
    const http = await serve(server)
    using client = await RawConnection.open(http.port, true)
    await client.write(post('act')).response()
    const closed = http.close()
    await stopsListening(http.port)
    client.write(post('act'))
    const { status, headers } = await client.response()
    expect([status, headers.get('connection')]).toEqual([408, 'close'])
    await client.closed()
    client.socket.end()
    await closed
    expect(state.runs).toBe(1)
  })

  it('answers the first request on a new connection with a 503 and Retry-After', async () => {
    const { server, state, began } = countingServer()
    const http = await serve(server)
    using working = await RawConnection.open(http.port)
    working.write(post('slow'))
    await began
    using fresh = await RawConnection.open(http.port)
    const closed = http.close()
    await stopsListening(http.port)
    const { status, headers } = await fresh.write(post('act')).response()
    expect([status, headers.get('retry-after'), headers.get('connection')]).toEqual([503, '1', 'close'])
    state.finish()
    await closed
    expect(state.runs).toBe(1)
  })

  it('closes immediately without connections, whatever the delay', async () => {
    const { server } = countingServer()
    const http = await serve(server, { shutdownDelayMs: 3_600_000 })
    await http.close()
  })

  it('loses no call of a client with keep-alive connections and runs none twice', async () => {
    const { server, state } = countingServer()
    const first = await serve(server)
    const { port } = first
    await using client = await connect(first.url, {
      reconnect: { initialDelayMs: 5, maxDelayMs: 20, maxRetries: 1_000 },
    })
    let isOver = false
    let calls = 0
    const workers = Array.from({ length: 10 }, async () => {
      for (; !isOver; calls++) await client.callTool('act')
    })
    let http = first
    for (let restarts = 0; restarts < 10; restarts++) {
      const before = calls
      while (calls < before + 20) await new Promise((resolve) => setImmediate(resolve))
      await http.close()
      http = await serve(server, { port })
    }
    isOver = true
    await Promise.all(workers)
    expect(state.runs).toBe(calls)
  })
})

describe('a client whose request is answered with a 408', () => {
  it('repeats it if the connection was reused and closes, because the server did not read it', async () => {
    const { url, calls } = await answeringServer([discovery, result, timeout(), result])
    await using client = await connect(url)
    await client.callTool('act')
    expect((await client.callTool('act')).text).toBe('done')
    expect(calls()).toBe(3)
  })

  it('closes an idle connection that receives a 408, so that no request is sent there', async () => {
    const { url, calls, sockets } = await answeringServer([discovery, result, result])
    await using client = await connect(url)
    await client.callTool('act')
    // The connection is closed later than announced.
    const [socket] = sockets
    const closed = once(socket!, 'close')
    socket!.write(timeout())
    await closed
    expect((await client.callTool('act')).text).toBe('done')
    expect(calls()).toBe(2)
  })

  it.each([
    ['on a new connection', [discovery, `close ${timeout()}`]],
    ['and the connection stays open, because the server may have read it', [discovery, timeout('keep-alive')]],
  ])('does not repeat it %s', async (_, answers) => {
    const { url, calls } = await answeringServer(answers)
    await using client = await connect(url)
    await expect(client.callTool('act')).rejects.toMatchObject({ code: 'http', status: 408 })
    expect(calls()).toBe(1)
  })
})

const discovery = reply(200, JSON.stringify({ jsonrpc: '2.0', id: 1, result: discovered() }))
const result = 'result'

function timeout(connection = 'close'): string {
  return `HTTP/1.1 408 Request Timeout\r\nconnection: ${connection}\r\ncontent-length: 0\r\n\r\n`
}

function reply(status: number, body: string): string {
  return `HTTP/1.1 ${status} OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
}

/** Answers requests with these texts in turn. `close` closes the connection after the previous response. */
async function answeringServer(answers: readonly string[]) {
  let turn = 0
  let calls = 0
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk
      const id = /"id":(\d+)/.exec(text)?.[1]
      if (!text.endsWith('}') || id === undefined) return
      if (text.includes('tools/call')) calls++
      text = ''
      const next = answers[turn++] ?? timeout()
      const isNewWanted = answers[turn]?.startsWith('close ')
      const content = { content: [{ type: 'text', text: 'done' }], resultType: 'complete' }
      const own =
        next === result ? reply(200, JSON.stringify({ jsonrpc: '2.0', id: Number(id), result: content })) : next
      const sent = own.replace(/^close /, '').replace('"id":1,"result":{"supp', `"id":${id},"result":{"supp`)
      const isLast = isNewWanted || sent.includes('connection: close')
      socket.write(isNewWanted ? sent.replace('\r\n', '\r\nconnection: close\r\n') : sent)
      if (isLast) socket.end()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as { port: number }).port}/mcp`, calls: () => calls, sockets }
}

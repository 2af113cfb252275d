import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import {
  createMcpHandler,
  type EventStore,
  McpError,
  type McpServer,
  MemoryEventStore,
  type ServingHttp,
  StreamableHTTPServerTransport,
  serveHttp,
} from 'tenon/server'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { type FuzzCase, Fuzzer } from './fuzz.ts'
import { CuttingProxy } from './proxy.ts'
import {
  createServer,
  eventually,
  expectRefusal,
  fixture,
  type HttpRevision,
  httpRevisions,
  listen,
  type Message,
  modern,
  OldClient,
  RawClient,
  RawConnection,
  SseParser,
  seeded,
  serve,
  sessionRevisions,
  toBytes,
} from './support.ts'

/** What `fixtures/memory.js` saw, in a process of its own, where nothing else is on the heap. */
async function measure(what: string) {
  const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', fixture('memory.js'), what])
  return JSON.parse(stdout)
}

// They take a while and need nobody, so they run beside all other tests.
const abandoned = measure('abandon')
const flooded = abandoned.then(() => measure('flood'))
for (const measured of [abandoned, flooded]) measured.catch(() => {})

/** Says a little of a header every now and then, from the beginning of these tests to their end. */
let slow: { http: ServingHttp; connection: RawConnection }
beforeAll(async () => {
  const http = await serveHttp(createServer(), { port: 0, exit: false, graceMs: 0 })
  const connection = await RawConnection.open(http.port)
  connection.write(`POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:${http.port}\r\n`)
  const drip = setInterval(() => connection.write('X-Slow: 1\r\n'), 100)
  connection.socket.on('close', () => clearInterval(drip))
  slow = { http, connection }
})
afterAll(async () => {
  slow.connection.destroy()
  await slow.http.close()
})

describe('a connection that is cut in the middle of an event (2025-11-25)', () => {
  const count = 100
  const cuts = 20
  const inOrder = Array.from({ length: count }, (_, at) => at)
  const numberOf = ({ params }: Message) => (params!.data as { at: number }).at
  const filled = (at: number) => ({ level: 'info' as const, data: { at, filler: '€'.repeat(at % 40) } })

  /** Reads a stream that is cut again and again, coming back each time for what follows the last whole event. */
  class Reader {
    readonly seen: Message[] = []
    readonly #client: RawClient
    readonly #proxy: CuttingProxy
    readonly #random: (below: number) => number
    #lastEventId: string | undefined

    constructor(client: RawClient, proxy: CuttingProxy, seed: number) {
      this.#client = client
      this.#proxy = proxy
      this.#random = seeded(seed)
    }

    async read(first: Buffer, isOver: (seen: Message[]) => boolean): Promise<void> {
      while (!isOver(this.seen)) {
        this.#aim()
        using connection = await RawConnection.open(this.#proxy.port)
        const again = () => toBytes('GET', '/mcp', this.#client.getHeaders({ 'Last-Event-ID': this.#lastEventId }))
        connection.write(this.#lastEventId === undefined ? first : again())
        await this.#readOne(connection, isOver)
      }
    }

    /** The first time late enough for the event that opens the stream: without an id nobody can come back. */
    #aim(): void {
      const { cuts: made } = this.#proxy
      const least = this.#lastEventId === undefined ? 500 : 0
      this.#proxy.cutAfter = made < cuts ? least + 1 + this.#random(1_500) : undefined
      this.#proxy.silently = made % 3 === 2
    }

    async #readOne(connection: RawConnection, isOver: (seen: Message[]) => boolean): Promise<void> {
      const parser = new SseParser()
      try {
        expect((await connection.head()).status).toBe(200)
        while (!isOver(this.seen)) {
          const chunk = await connection.chunk()
          if (!chunk) return
          this.#take(parser, chunk)
        }
      } catch (error) {
        if (!connection.ended) throw error
        this.#take(parser, connection.waiting)
      }
    }

    #take(parser: SseParser, bytes: Buffer): void {
      for (const { id, data } of parser.push(bytes)) {
        if (id !== undefined) this.#lastEventId = id
        if (data) this.seen.push(JSON.parse(data))
      }
    }
  }

  /** Takes its time, as a database does. */
  class SlowStore implements EventStore {
    readonly #memory = new MemoryEventStore()
    async storeEvent(streamId: string, message: unknown) {
      await sleep(1)
      return this.#memory.storeEvent(streamId, message)
    }
    async replayEventsAfter(lastEventId: string, to: Parameters<EventStore['replayEventsAfter']>[1]) {
      await sleep(1)
      const kept: [string, unknown][] = []
      const streamId = await this.#memory.replayEventsAfter(lastEventId, {
        send: (id, text) => void kept.push([id, text]),
      })
      for (const [id, text] of kept) {
        if (kept.length < 10) await sleep(1)
        await to.send(id, text)
      }
      return streamId
    }
  }

  describe.each([
    ['memory', () => undefined],
    ['a slow store', () => new SlowStore()],
  ])('with %s', (_store, createStore) => {
    it('loses nothing and brings nothing twice on the stream of a POST [SSE-016, SSE-018]', async () => {
      const server = createServer()
      server.registerTool('count', {}, async (_args, ctx) => {
        for (const at of inOrder) {
          ctx.notify('notifications/message', filled(at))
          if (at % 4 === 3) await sleep(5)
        }
        return 'counted'
      })
      const http = await serve(server, { eventStore: createStore() })
      const proxy = await CuttingProxy.open(http.port)
      const client = await RawClient.open(http.port, '2025-11-25')
      const reader = new Reader(client, proxy, 1)
      const body = client.call('count', 'count')
      const headers = client.headers('', '', { 'Content-Length': String(body.length) })
      await reader.read(toBytes('POST', '/mcp', headers, body), (seen) => seen.some(({ id }) => id === 'count'))
      expect(proxy.cuts).toBe(cuts)
      expect(reader.seen.slice(0, -1).map(numberOf)).toEqual(inOrder)
      expect(reader.seen.at(-1)?.result?.content?.[0]?.text).toBe('counted')
      await eventually(() => http.metrics.streams === 0)
    }, 6_000)

    it('loses nothing and brings nothing twice on the stream of a GET [SSE-016]', async () => {
      const server = createServer()
      const http = await serve(server, { eventStore: createStore() })
      const proxy = await CuttingProxy.open(http.port)
      const client = await RawClient.open(http.port, '2025-11-25')
      const reader = new Reader(client, proxy, 1)
      const reading = reader.read(toBytes('GET', '/mcp', client.getHeaders()), (seen) => seen.length >= count)
      await eventually(() => http.metrics.streams === 1)
      for (const at of inOrder) {
        server.server.sendLoggingMessage(filled(at))
        if (at % 4 === 3) await sleep(5)
      }
      await reading
      expect(proxy.cuts).toBe(cuts)
      expect(reader.seen.map(numberOf)).toEqual(inOrder)
    }, 6_000)

    it('brings nothing twice when a stream is resumed twice at the same time', async () => {
      const server = createServer()
      const http = await serve(server, { eventStore: createStore() })
      const client = await RawClient.open(http.port, '2025-11-25')
      const lost = await client.listen()
      const { id } = (await lost.next())!
      for (const at of inOrder) server.server.sendLoggingMessage(filled(at))
      lost.connection.destroy()
      await eventually(() => http.metrics.streams === 0)
      const again = { 'Last-Event-ID': id }
      const streams = await Promise.all([client.listen(again), client.listen(again), client.listen(again)])
      server.server.sendLoggingMessage(filled(count))
      // One of them has the stream now; the others end. None of them brings an event twice, or out of order.
      const read = await Promise.all(
        streams.map(async (stream) => {
          const numbers: number[] = []
          while (numbers.at(-1) !== count) {
            const event = await stream.next(({ data }) => Boolean(data))
            if (!event) break
            numbers.push(numberOf(JSON.parse(event.data!)))
          }
          return numbers
        }),
      )
      for (const numbers of read) expect(numbers).toEqual([...inOrder, count].slice(0, numbers.length))
      expect(read.filter((numbers) => numbers.length === count + 1)).toHaveLength(1)
    })
  })
})

describe('a reader that takes nothing', () => {
  const maxQueuedBytes = 1024 * 1024
  const piece = 'x'.repeat(64 * 1024)
  /** Far more than what queues and the kernel may hold. */
  const pieces = 2_000

  /** Talks until somebody else is tired; gives how many pieces went out before the reader was cut off. */
  function createTalker() {
    const server = createServer()
    const seen = { sent: 0, aborted: false, most: 0, cutAt: 0 }
    let isCut = () => false
    server.registerTool('talk', {}, async (_args, ctx) => {
      ctx.signal.addEventListener('abort', () => {
        seen.aborted = true
      })
      const before = memory()
      for (seen.sent = 0; seen.sent < pieces && !seen.aborted; seen.sent++) {
        ctx.notify('notifications/message', { level: 'info', data: piece })
        await nextTurn()
        seen.most = Math.max(seen.most, memory() - before)
        if (seen.cutAt === 0 && isCut()) seen.cutAt = seen.sent
      }
      return 'said it all'
    })
    const watch = (look: () => boolean) => {
      isCut = look
    }
    return { server, seen, watch }
  }

  /** What queues are made of: texts and buffers. */
  function memory(): number {
    const { heapUsed, external } = process.memoryUsage()
    return heapUsed + external
  }

  it.each([...httpRevisions])(
    'is cut off at maxQueuedBytes, costs no memory beyond that, and holds up nobody (%s)',
    async (revision) => {
      const { server, seen, watch } = createTalker()
      const http = await serve(server, { maxQueuedBytes, eventStore: false })
      const [client, other] = [await RawClient.open(http.port, revision), await RawClient.open(http.port, revision)]
      using connection = await RawConnection.open(http.port)
      connection.socket.pause()
      const body = client.call('talk', 'talk')
      const headers = client.headers('tools/call', 'talk', { 'Content-Length': String(body.length) })
      let hasOpened = false
      watch(() => {
        hasOpened ||= http.metrics.streams > 0
        return hasOpened && http.metrics.streams === 0
      })
      connection.write(toBytes('POST', '/mcp', headers, body))
      await eventually(() => seen.sent > 10)
      await other.stillServes()
      await eventually(() => seen.cutAt > 0)
      await other.stillServes()
      expect(seen.cutAt).toBeLessThan(pieces / 2)
      expect(seen.most).toBeLessThan(64 * 1024 * 1024)
      if (revision === modern) {
        expect(seen.aborted).toBe(true)
        expect(http.metrics.calls).toBe(0)
      } else {
        // 2025-11-25 transports: a connection that is gone is no cancellation.
        await eventually(() => seen.sent === pieces)
        expect(seen.aborted).toBe(false)
      }
      await client.stillServes()
    },
  )

  /** Sends to the one stream there is until its reader is cut off; gives how many messages that took. */
  async function sendUntilCut(server: McpServer, http: ServingHttp): Promise<number> {
    for (let sent = 0; sent < 190; sent++) {
      if (http.metrics.streams === 0) return sent
      server.server.sendLoggingMessage({ level: 'info', data: { at: sent, filler: 'x'.repeat(200_000) } })
      await nextTurn()
    }
    throw new Error('The reader was not cut off')
  }

  it('is cut off on the stream of a GET as well (2025-11-25)', async () => {
    const server = createServer()
    const http = await serve(server, { maxQueuedBytes })
    const client = await RawClient.open(http.port, '2025-11-25')
    const stream = await client.listen()
    stream.connection.socket.pause()
    await sendUntilCut(server, http)
    await client.stillServes()
  })

  it('gets all that it missed when it comes back and reads, however much that is (2025-11-25) [SSE-016]', async () => {
    const server = createServer()
    const eventStore = new MemoryEventStore({ maxBytes: 1024 ** 3 })
    const http = await serve(server, { maxQueuedBytes, eventStore })
    const client = await RawClient.open(http.port, '2025-11-25')
    const stream = await client.listen()
    const { id } = (await stream.next())!
    stream.connection.socket.pause()
    const sent = await sendUntilCut(server, http)
    const again = await client.listen({ 'Last-Event-ID': id })
    for (let at = 0; at < sent; at++) {
      const { params } = await again.message()
      expect((params!.data as { at: number }).at).toBe(at)
    }
    await client.stillServes()
  })

  it('costs no more when it comes back again and again for a stream that is over (2025-11-25)', async () => {
    const { server } = createTalker()
    server.registerTool('say-it-all', {}, (_args, ctx) => {
      for (let at = 0; at < 100; at++) ctx.notify('notifications/message', { level: 'info', data: piece })
      return 'said it all'
    })
    const http = await serve(server, { maxQueuedBytes: 64 * 1024 * 1024, maxStreamsPerSession: 4 })
    const client = await RawClient.open(http.port, '2025-11-25')
    const stream = await client.stream(client.call('all', 'say-it-all'))
    const { id } = (await stream.next())!
    expect(await stream.rest()).toHaveLength(101)
    const before = memory()
    for (let at = 0; at < 40; at++) {
      const connection = await RawConnection.open(http.port)
      onTestFinished(() => connection.destroy())
      connection.socket.pause()
      connection.write(toBytes('GET', '/mcp', client.getHeaders({ 'Last-Event-ID': id })))
    }
    for (let times = 0; times < 10; times++) await client.stillServes()
    // Six megabytes for each of the four that may be there at a time, not for each of the forty.
    expect(memory() - before).toBeLessThan(64 * 1024 * 1024)
  })

  it('is cut off on the old transport (2024-11-05)', async () => {
    const { server, seen } = createTalker()
    const http = await serve(server, { maxQueuedBytes, sse: true })
    const client = await OldClient.open(http.port)
    client.stream.connection.socket.pause()
    await client.post(JSON.stringify({ jsonrpc: '2.0', id: 'talk', method: 'tools/call', params: { name: 'talk' } }))
    await eventually(() => http.metrics.streams === 0)
    // The stream is all there is of a session here, so nobody waits for the answer any more.
    await eventually(() => seen.aborted)
    expect(seen.most).toBeLessThan(64 * 1024 * 1024)
    await (await OldClient.open(http.port)).stillServes()
  })

  it('is cut off where fetch serves (2026-07-28)', async () => {
    const { server, seen } = createTalker()
    const handler = createMcpHandler(server, { maxQueuedBytes })
    const client = new RawClient(80, modern)
    const asked = new Request('http://127.0.0.1/mcp', {
      method: 'POST',
      headers: client.headers('tools/call', 'talk', { Host: '127.0.0.1' }) as Record<string, string>,
      body: client.call('talk', 'talk'),
    })
    const response = await handler.fetch(asked)
    expect(response.status).toBe(200)
    await eventually(() => seen.aborted)
    expect(seen.most).toBeLessThan(64 * 1024 * 1024)
    await expect(response.text()).rejects.toThrow()
    expect(handler.metrics).toMatchObject({ streams: 0, calls: 0 })
    await handler.close()
  })
})

describe('a client that leaves while its call is being worked on', () => {
  function createWorker() {
    const server = createServer()
    const seen = { begun: 0, aborted: 0, finished: 0 }
    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    const work = async (signal: AbortSignal) => {
      signal.addEventListener('abort', () => seen.aborted++)
      seen.begun++
      await Promise.race([held, once(signal, 'abort')])
      seen.finished++
      return 'worked'
    }
    server.registerTool('work', {}, (_args, ctx) => work(ctx.signal))
    server.registerTool('work-and-tell', {}, (_args, ctx) => {
      ctx.notify('notifications/message', { level: 'info', data: 'begun' })
      return work(ctx.signal)
    })
    return { server, seen, release: () => release() }
  }

  /** Sends a call and leaves once it has begun; by FIN or by RST. */
  async function leave(client: RawClient, tool: string, seen: { begun: number }, rudely: boolean) {
    const begun = seen.begun
    const body = client.call(`${tool} ${begun}`, tool)
    const connection = await RawConnection.open(client.port)
    const headers = client.headers('tools/call', tool, { 'Content-Length': String(body.length) })
    connection.write(toBytes('POST', '/mcp', headers, body))
    await eventually(() => seen.begun === begun + 1)
    if (rudely) connection.socket.resetAndDestroy()
    else connection.destroy()
  }

  it('cancels it on 2026-07-28, and nothing is left of it [HTTP-054, HTTP-055, HTTP-056]', async () => {
    const { server, seen } = createWorker()
    const http = await serve(server)
    const client = new RawClient(http.port, modern)
    for (const rudely of [false, true]) {
      await leave(client, 'work', seen, rudely)
      await leave(client, 'work-and-tell', seen, rudely)
    }
    await eventually(() => seen.aborted === 4)
    await eventually(() => http.metrics.calls === 0)
    expect(http.metrics).toMatchObject({ streams: 0, calls: 0, sessions: { open: 0 } })
    await client.stillServes()
  })

  it('ends a subscription on 2026-07-28, and nothing is left of it [HTTP-054]', async () => {
    const { server } = createWorker()
    const http = await serve(server)
    const client = new RawClient(http.port, modern)
    const streams = []
    for (let at = 0; at < 10; at++) {
      const stream = await client.stream(
        client.request(at, 'subscriptions/listen', { notifications: { toolsListChanged: true } }),
      )
      await stream.message()
      streams.push(stream)
    }
    expect(http.metrics).toMatchObject({ streams: 10, calls: 10 })
    for (const stream of streams) stream.connection.socket.resetAndDestroy()
    await eventually(() => http.metrics.calls === 0)
    expect(http.metrics.streams).toBe(0)
    server.server.sendToolListChanged()
    await client.stillServes()
  })

  it.each([...sessionRevisions])(
    'lets it go on before 2026-07-28, and nothing is left of it at the end (%s) [HTTP-025]',
    async (revision) => {
      const { server, seen, release } = createWorker()
      for (const stateless of [false, true]) {
        const http = await serve(server, { stateless })
        const client = stateless ? new RawClient(http.port, revision) : await RawClient.open(http.port, revision)
        const { begun, finished } = seen
        for (const rudely of [false, true]) {
          await leave(client, 'work', seen, rudely)
          await leave(client, 'work-and-tell', seen, rudely)
        }
        expect(seen.begun - begun).toBe(4)
        await eventually(() => http.metrics.streams === 0)
        expect(seen.aborted).toBe(0)
        if (!stateless) await client.stillServes()
        release()
        await eventually(() => seen.finished === finished + 4)
        await eventually(() => http.metrics.calls === 0)
        expect(http.metrics.streams).toBe(0)
      }
      expect(seen.aborted).toBe(0)
    },
  )
})

describe('CVE-2026-25536: many clients that use the same request ids', () => {
  const clients = 100
  const calls = 5

  function createEcho() {
    const server = createServer()
    server.registerTool('late', { inputSchema: { type: 'object', additionalProperties: true } }, async (args, ctx) => {
      // Answers overtake each other, and half of them come as streams.
      const { client } = args as { client: number }
      if (client % 2 === 0) ctx.notify('notifications/message', { level: 'info', data: args })
      await sleep((client * 7) % 20)
      return JSON.stringify(args)
    })
    return server
  }

  /** Everyone asks at once, with the ids that everyone has; each answer must be to one's own question. */
  async function askAll(open: (index: number) => Promise<RawClient>) {
    const all = await Promise.all(Array.from({ length: clients }, (_, index) => open(index)))
    let answered = 0
    for (let id = 0; id < calls; id++) {
      await Promise.all(
        all.map(async (client, index) => {
          const args = { client: index, secret: `${index}/${id}` }
          const response = await client.post(client.call(id, 'late', args))
          const isStream = response.headers.get('content-type') === 'text/event-stream'
          const messages: Message[] = isStream ? eventsIn(response.body) : [response.json]
          expect(messages.at(-1)?.id).toBe(id)
          expect(messages.at(-1)?.result?.content?.[0]?.text).toBe(JSON.stringify(args))
          for (const { params } of messages.slice(0, -1)) expect(params?.data).toEqual(args)
          answered++
        }),
      )
    }
    expect(answered).toBe(clients * calls)
  }

  function eventsIn(body: Buffer): Message[] {
    return new SseParser().push(body).flatMap(({ data }) => (data ? [JSON.parse(data)] : []))
  }

  it('no answer crosses over: one server object, a transport for each request', async () => {
    const server = createEcho()
    const port = await listen(async (request, response) => {
      const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined })
      response.on('close', () => void transport.close())
      await server.connect(transport)
      await transport.handleRequest(request, response)
    })
    await askAll(async () => new RawClient(port, '2025-11-25'))
  })

  it('no answer crosses over: one server object and one transport without sessions for everybody', async () => {
    const server = createEcho()
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined })
    await server.connect(transport)
    const port = await listen((request, response) => transport.handleRequest(request, response))
    await askAll(async () => new RawClient(port, '2025-11-25'))
    await transport.close()
  })

  it('no answer crosses over: one server object, a transport for each session', async () => {
    const server = createEcho()
    const transports = new Map<string, StreamableHTTPServerTransport>()
    const port = await listen(async (request, response) => {
      const known = transports.get(String(request.headers['mcp-session-id']))
      if (known) return known.handleRequest(request, response)
      const transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: () => crypto.randomUUID(),
        onsessioninitialized: (id) => void transports.set(id, transport),
      })
      await server.connect(transport)
      await transport.handleRequest(request, response)
    })
    await askAll(() => RawClient.open(port, '2025-11-25'))
    expect(transports.size).toBe(clients)
    await server.close()
  })

  it.each([...sessionRevisions])('no answer crosses over: sessions (%s)', async (revision) => {
    const http = await serve(createEcho())
    await askAll(() => RawClient.open(http.port, revision))
    expect(http.metrics.sessions.open).toBe(clients)
  })

  it.each([...sessionRevisions])('no answer crosses over: createMcpHandler without sessions (%s)', async (revision) => {
    const handler = createMcpHandler(createEcho(), { stateless: true })
    const port = await listen((request, response) => handler.node(request, response))
    await askAll(async () => new RawClient(port, revision))
    expect(handler.metrics).toMatchObject({ calls: 0, streams: 0 })
    await handler.close()
  })

  it('no answer crosses over: 2026-07-28', async () => {
    const http = await serve(createEcho())
    await askAll(async () => new RawClient(http.port, modern))
    expect(http.metrics).toMatchObject({ calls: 0, streams: 0, sessions: { open: 0 } })
  })

  it('no answer crosses over: every revision at once on one URL', async () => {
    const http = await serve(createEcho())
    await askAll((index) => RawClient.open(http.port, httpRevisions[index % httpRevisions.length]!))
  })
})

describe('a server that is asked to end', () => {
  function createWorker() {
    const server = createServer()
    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    server.registerTool('work', {}, async () => {
      await held
      return 'worked'
    })
    server.registerTool('work-and-tell', {}, async (_args, ctx) => {
      ctx.notify('notifications/message', { level: 'info', data: 'begun' })
      await held
      return 'worked'
    })
    return { server, release: () => release() }
  }

  const listenTo = (client: RawClient) =>
    client.request('listen', 'subscriptions/listen', { notifications: { toolsListChanged: true } })

  /** A call that is under way, answered plainly or as a stream. */
  async function begin(client: RawClient, tool: string) {
    const connection = await RawConnection.open(client.port)
    onTestFinished(() => connection.destroy())
    const body = client.call('call', tool)
    const headers = client.headers('tools/call', tool, { 'Content-Length': String(body.length) })
    return connection.write(toBytes('POST', '/mcp', headers, body))
  }

  it.each([...httpRevisions])(
    'answers what is under way, ends its streams and refuses what is new (%s)',
    async (revision) => {
      const { server, release } = createWorker()
      const http = await serve(server, { graceMs: 10_000 })
      const client = await RawClient.open(http.port, revision)
      const plain = await begin(client, 'work')
      const idle = await RawConnection.open(http.port)
      const told = await client.stream(client.call('told', 'work-and-tell'))
      await told.message()
      const open = revision === modern ? await client.stream(listenTo(client)) : await client.listen()
      const closing = http.close()
      await expect(RawConnection.open(http.port)).rejects.toThrow('ECONNREFUSED')
      release()
      const answer = await plain.response()
      expect(answer.json.result?.content?.[0]?.text).toBe('worked')
      expect((await told.message(({ id }) => id === 'told')).result?.content?.[0]?.text).toBe('worked')
      expect(await told.rest()).toEqual([])
      const last = await open.rest()
      if (revision === modern) expect(last.at(-1)).toMatchObject({ id: 'listen', result: { resultType: 'complete' } })
      else expect(last).toEqual([])
      await closing
      await idle.closed()
      expect(http.metrics).toMatchObject({ sessions: { open: 0 }, streams: 0, calls: 0 })
    },
  )

  it.each([...httpRevisions])('refuses with 503 what comes while it ends (%s)', async (revision) => {
    const { server, release } = createWorker()
    const handler = createMcpHandler(server)
    const port = await listen((request, response) => handler.node(request, response))
    const client = await RawClient.open(port, revision)
    const under = await begin(client, 'work')
    await eventually(() => handler.metrics.calls === 1 || revision !== modern)
    await client.stillServes()
    const closing = handler.close(10_000)
    for (const response of [
      await client.post(client.call(1, 'echo')),
      await client.post(client.initialize()),
      await client.get(),
      await client.delete(),
    ]) {
      expectRefusal(response, 503, -32000)
      expect(response.headers.get('retry-after')).toBeDefined()
      expect(response.headers.get('connection')).toBe('close')
    }
    release()
    expect((await under.response()).json.result?.content?.[0]?.text).toBe('worked')
    await closing
    expectRefusal(await client.post(client.call(1, 'echo')), 503, -32000)
    expect(handler.metrics).toMatchObject({ sessions: { open: 0 }, streams: 0, calls: 0 })
  })

  it.each([...httpRevisions])('waits for nobody longer than the grace that was given (%s)', async (revision) => {
    const { server } = createWorker()
    const http = await serve(server, { graceMs: 50 })
    const client = await RawClient.open(http.port, revision)
    const plain = await begin(client, 'work')
    const told = await client.stream(client.call('told', 'work-and-tell'))
    await told.message()
    const stuck = await RawConnection.open(http.port)
    stuck.write('POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n')
    await http.close()
    await Promise.all([plain.closed(), told.connection.closed(), stuck.closed()])
    expect(http.metrics).toMatchObject({ sessions: { open: 0 }, streams: 0, calls: 0 })
  })

  it.each([...httpRevisions])(
    'does not begin with a call whose body ends after it has ended itself (%s)',
    async (revision) => {
      const { server } = createWorker()
      const handler = createMcpHandler(server)
      const port = await listen((request, response) => handler.node(request, response))
      const client = await RawClient.open(port, revision)
      const bodies = revision === modern ? [client.call(1, 'echo')] : [client.call(1, 'echo'), client.initialize()]
      const late = []
      for (const body of bodies) {
        const connection = await RawConnection.open(port)
        onTestFinished(() => connection.destroy())
        const headers = client.headers('tools/call', 'echo', { 'Content-Length': String(body.length) })
        if (body.includes('initialize')) headers['Mcp-Session-Id'] = undefined
        connection.write(toBytes('POST', '/mcp', headers, body.slice(0, 20)))
        late.push({ connection, rest: body.slice(20) })
      }
      await client.stillServes()
      await handler.close()
      for (const { connection, rest } of late) expectRefusal(await connection.write(rest).response(), 503, -32000)
      expect(handler.metrics.sessions.open).toBe(0)
    },
  )

  it.each(['SIGTERM', 'SIGINT'] as const)(
    'a process ends with 0 on %s, and everyone has had their answer',
    async (signal) => {
      const child = spawn(process.execPath, [fixture('server.js')], { stdio: 'pipe' })
      onTestFinished(() => void child.kill('SIGKILL'))
      const exited = once(child, 'exit')
      let said = ''
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        said += text
      })
      child.stderr.setEncoding('utf8').on('data', (text: string) => {
        said += text
      })
      await eventually(() => /port \d+/.test(said))
      const port = Number(/port (\d+)/.exec(said)![1])
      const client = new RawClient(port, modern)
      const session = await RawClient.open(port, '2025-11-25')
      const plain = await begin(client, 'work')
      const told = await session.stream(session.call('told', 'work-and-tell'))
      await told.message()
      const heard = await client.stream(listenTo(client))
      await heard.message()
      await eventually(() => said.includes('work begins'))
      child.kill(signal)
      expect((await plain.response()).json.result?.content?.[0]?.text).toBe('worked')
      expect((await told.message(({ id }) => id === 'told')).result?.content?.[0]?.text).toBe('worked')
      expect((await heard.rest()).at(-1)).toMatchObject({ id: 'listen', result: {} })
      expect(await exited).toEqual([0, null])
      expect(said.replace(/port \d+\n|work begins\n/g, '')).toBe('')
    },
  )

  it('a process ends with 0 on SIGTERM, also if some work never ends', async () => {
    const child = spawn(process.execPath, [fixture('server.js'), '100'], { stdio: ['pipe', 'pipe', 'inherit'] })
    onTestFinished(() => void child.kill('SIGKILL'))
    const exited = once(child, 'exit')
    let said = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      said += text
    })
    await eventually(() => /port \d+/.test(said))
    const client = new RawClient(Number(/port (\d+)/.exec(said)![1]), modern)
    await begin(client, 'never')
    await eventually(() => said.includes('never begins'))
    child.kill('SIGTERM')
    expect(await exited).toEqual([0, null])
  })
})

describe('what the surroundings of a server do wrong', () => {
  const failing = (how: 'throws' | 'rejects'): EventStore => {
    const fail = () => {
      const error = new Error('The store is down')
      if (how === 'rejects') return Promise.reject(error)
      throw error
    }
    return { storeEvent: fail, replayEventsAfter: fail }
  }

  it.each(['throws', 'rejects'] as const)(
    'a store of events that %s costs nobody an answer, and leaves no session in use',
    async (how) => {
      const errors: unknown[] = []
      const server = createServer({ onError: (error) => errors.push(error) })
      server.registerTool('tell', {}, (_args, ctx) => {
        ctx.notify('notifications/message', { level: 'info', data: 'told' })
        return 'done'
      })
      const http = await serve(server, { eventStore: failing(how), sessionIdleMs: 100 })
      const client = await RawClient.open(http.port, '2025-11-25')
      const stream = await client.stream(client.call(1, 'tell'))
      expect((await stream.message(({ id }) => id === 1)).result?.content?.[0]?.text).toBe('done')
      expect(errors.length).toBeGreaterThan(0)
      await client.stillServes()
      await eventually(() => http.metrics.sessions.open === 0)
    },
    2_000,
  )

  it('a principal that cannot be found out is an error of ours, and no permission', async () => {
    const errors: unknown[] = []
    const server = createServer({ onError: (error) => errors.push(error) })
    const http = await serve(server, {
      principal: (request) => {
        if (request.header('x-user') === 'broken') throw new Error('A secret of the inside')
        return request.header('x-user')
      },
    })
    const client = await RawClient.open(http.port, '2025-11-25', { 'X-User': 'alice' })
    const response = await client.post(client.call(1, 'echo'), { 'X-User': 'broken' })
    expectRefusal(response, 500, -32603)
    expect(response.text).not.toContain('secret')
    expect(errors).toHaveLength(1)
    await client.stillServes()
  })

  const refused = { opened: 400, called: 404, deleted: 404, again: 400 }
  it.each([
    ['forget', { opened: 200, called: 200, deleted: 200, again: 200 }],
    ['onSession', refused],
    ['onsessioninitialized', refused],
    ['onsessionclosed', { opened: 200, called: 200, deleted: 500, again: 200 }],
  ])('a process does not end because %s fails', async (what, statuses) => {
    const { stdout } = await promisify(execFile)(process.execPath, [fixture('failing-callbacks.js'), what])
    expect(JSON.parse(stdout)).toEqual(statuses)
  })
})

describe('20,000 requests that are almost right', () => {
  it('are all answered, none by an error of ours, and the server still serves [RPC-024, RPC-025]', async () => {
    const errors: unknown[] = []
    const server = createServer({ onError: (error) => errors.push(error) })
    server.registerTool('tell', {}, (_args, ctx) => {
      ctx.notify('notifications/message', { level: 'info', data: 'told' })
      return 'done'
    })
    server.registerResource('a', 'x://a', {}, () => 'a')
    server.registerPrompt('greet', {}, () => 'hello')
    const http = await serve(server, { bodyTimeoutMs: 50, maxSessions: 50, sse: true })
    const clients = await Promise.all(httpRevisions.map((revision) => RawClient.open(http.port, revision)))
    const fuzzer = new Fuzzer(
      seeded(20_260_728),
      new Map(clients.map((client) => [client.revision as HttpRevision, client])),
    )
    const statuses = new Map<string, number>()
    let left = 20_000
    const work = async () => {
      let connection: RawConnection | undefined
      while (left-- > 0) {
        const fuzz = fuzzer.next()
        connection ??= await RawConnection.open(http.port, true)
        const outcome = await withDeadline(fuzz, answerTo(fuzz, connection))
        statuses.set(outcome.status, (statuses.get(outcome.status) ?? 0) + 1)
        if (outcome.isUsable) continue
        connection.destroy()
        connection = undefined
      }
      connection?.destroy()
    }
    await Promise.all(Array.from({ length: 8 }, work))
    console.log('Answers to fuzzed requests:', Object.fromEntries([...statuses].sort()))
    // What a peer got wrong in an answer is told to the owner of the server; all else would be a fault of ours.
    const faults = errors.filter((error) => !(error instanceof McpError && error.code === 'invalid-response'))
    expect(faults).toEqual([])
    expect([...statuses.keys()].filter((status) => /^5/.test(status) && status !== '503')).toEqual([])
    await eventually(() => http.metrics.streams === 0 && http.metrics.calls === 0)
    for (const client of clients) await client.stillServes()
  }, 60_000)

  /** What came back, and whether the connection can go on. */
  async function answerTo({ bytes, unclear }: FuzzCase, connection: RawConnection) {
    connection.write(bytes)
    // Half a request stays half until the sender says that this was all.
    const giveUp = unclear ? setTimeout(() => connection.socket.end(), 30) : undefined
    try {
      const { status, headers } = await connection.head()
      const length = Number(headers.get('content-length') ?? Number.NaN)
      const isPlain = Number.isFinite(length) && !unclear && headers.get('connection') !== 'close'
      if (!isPlain || bytes.subarray(0, 4).toString() === 'HEAD') return { status: String(status), isUsable: false }
      await connection.until((received) => (received.length >= length ? true : undefined))
      const text = connection.take(length).toString()
      if (length > 0) JSON.parse(text)
      // One answer for one question.
      expect(connection.waiting.length).toBe(0)
      return { status: String(status), isUsable: true }
    } catch (error) {
      if (unclear && connection.ended) return { status: 'closed', isUsable: false }
      throw new Error(`No sound answer to ${JSON.stringify(bytes.toString('latin1').slice(0, 2_000))}`, {
        cause: error,
      })
    } finally {
      clearTimeout(giveUp)
    }
  }

  async function withDeadline<T>({ bytes }: FuzzCase, work: Promise<T>): Promise<T> {
    const deadline = new AbortController()
    const late = sleep(15_000, undefined, { signal: deadline.signal }).then(() => {
      throw new Error(`No answer to ${JSON.stringify(bytes.toString('latin1').slice(0, 2_000))}`)
    })
    late.catch(() => {})
    try {
      return await Promise.race([work, late])
    } finally {
      deadline.abort()
    }
  }
})

describe('memory', () => {
  it('CVE-2026-67430, mcp-go #723: 2,000 sessions that were left without a word are gone after a while, with all they had', async () => {
    const seen = await abandoned
    console.log(`Heap after 2,000 abandoned sessions: ${seen.ratio.toFixed(3)} of before; ${seen.peak} open at once.`)
    const sessions = { open: 0, opened: 6_000, expired: 6_000, refused: 0 }
    expect(seen.metrics).toEqual({ sessions, streams: 0, calls: 0, unsentBytes: 0 })
    expect(seen.ratio).toBeLessThan(1.05)
  }, 60_000)

  it('GHSA-9pj6-vhgr-3mwh: 10,000 initializes fill no table: most are told to come back, and who is in is served', async () => {
    const seen = await flooded
    console.log(`Heap after a flood of 10,000 initializes: ${seen.ratio.toFixed(3)} of before.`)
    expect(seen.statuses).toEqual({ 200: 100, '503, try again': 9_900 })
    expect(seen.metrics.sessions.open).toBe(500)
    expect(seen.ratio).toBeLessThan(1.05)
  }, 60_000)

  it('a principal gets no more sessions than its share, and the others get theirs', async () => {
    const http = await serve(createServer(), {
      maxSessionsPerPrincipal: 3,
      principal: (request) => request.header('x-user'),
    })
    const greedy = { 'X-User': 'greedy' }
    const clients = await Promise.all([1, 2, 3].map(() => RawClient.open(http.port, '2025-11-25', greedy)))
    const refused = await clients[0]!.post(clients[0]!.initialize(), { ...greedy, 'Mcp-Session-Id': undefined })
    expectRefusal(refused, 429, -32000)
    expect(refused.headers.get('retry-after')).toBeDefined()
    await (await RawClient.open(http.port, '2025-11-25', { 'X-User': 'modest' })).stillServes()
    await clients[0]!.delete()
    await RawClient.open(http.port, '2025-11-25', greedy)
  })
})

describe('a sender of headers that never end', () => {
  it('is told that it took too long, and hinders nobody meanwhile', async () => {
    const { http, connection } = slow
    const client = new RawClient(http.port, modern)
    await client.stillServes()
    expectRefusal(await connection.response(), 408, -32000)
    await connection.closed()
    await client.stillServes()
  }, 50_000)
})

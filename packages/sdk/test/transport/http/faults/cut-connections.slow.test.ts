import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { type EventStore, MemoryEventStore } from 'tenon/server'
import { describe, expect, it } from 'vitest'
import { eventually } from '../../../kit/eventually.ts'
import type { Message } from '../../../kit/message.ts'
import { RawConnection, toBytes } from '../../../kit/raw-http.ts'
import { modern, sessionRevisions } from '../../../kit/revisions.ts'
import { SseReader } from '../../../kit/sse-reader.ts'
import { CuttingProxy } from './proxy.ts'
import { createServer, RawClient, seeded, serve } from './support.ts'

describe('a connection that is cut in the middle of an event (2025-11-25)', () => {
  const count = 100
  const cuts = 20
  const inOrder = Array.from({ length: count }, (_, at) => at)
  const numberOf = ({ params }: Message) => (params!.data as { at: number }).at
  const filled = (at: number) => ({ level: 'info' as const, data: { at, filler: '€'.repeat(at % 40) } })

  /** Reads a stream that is cut repeatedly, and resumes it each time after the last complete event. */
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

    /** The first cut comes after the event that opens the stream: without an event id the stream cannot be resumed. */
    #aim(): void {
      const { cuts: made } = this.#proxy
      const least = this.#lastEventId === undefined ? 500 : 0
      this.#proxy.cutAfter = made < cuts ? least + 1 + this.#random(1_500) : undefined
      this.#proxy.silently = made % 3 === 2
    }

    async #readOne(connection: RawConnection, isOver: (seen: Message[]) => boolean): Promise<void> {
      const reader = new SseReader()
      try {
        expect((await connection.head()).status).toBe(200)
        while (!isOver(this.seen)) {
          const chunk = await connection.chunk()
          if (!chunk) return
          this.#take(reader, chunk)
        }
      } catch (error) {
        if (!connection.ended) throw error
        this.#take(reader, connection.waiting)
      }
    }

    #take(reader: SseReader, bytes: Buffer): void {
      for (const { id, data } of reader.push(bytes)) {
        if (id !== undefined) this.#lastEventId = id
        if (data) this.seen.push(JSON.parse(data))
      }
    }
  }

  /** As slow as a database. */
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
    it('loses and duplicates nothing on the stream of a POST [SSE-016, SSE-018]', async () => {
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

    it('loses and duplicates nothing on the GET stream [SSE-016]', async () => {
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

    it('duplicates nothing when a stream is resumed several times at once', async () => {
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
      // One of them gets the stream and the others end. None receives an event twice or out of order.
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

describe('a client that disconnects during a call', () => {
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

  /** Sends a call and disconnects once it has started, with FIN or RST. */
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

  it('cancels the call on 2026-07-28 and leaves nothing behind [HTTP-054, HTTP-055, HTTP-056]', async () => {
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

  it('ends a subscription on 2026-07-28 and leaves nothing behind [HTTP-054]', async () => {
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
    'lets the call continue before 2026-07-28 and leaves nothing behind at the end (%s) [HTTP-025]',
    async (revision) => {
      const { server, seen, release } = createWorker()
      for (const sessions of [true, false]) {
        const http = await serve(server, { sessions })
        const client = sessions ? await RawClient.open(http.port, revision) : new RawClient(http.port, revision)
        const { begun, finished } = seen
        for (const rudely of [false, true]) {
          await leave(client, 'work', seen, rudely)
          await leave(client, 'work-and-tell', seen, rudely)
        }
        expect(seen.begun - begun).toBe(4)
        await eventually(() => http.metrics.streams === 0)
        expect(seen.aborted).toBe(0)
        if (sessions) await client.stillServes()
        release()
        await eventually(() => seen.finished === finished + 4)
        await eventually(() => http.metrics.calls === 0)
        expect(http.metrics.streams).toBe(0)
      }
      expect(seen.aborted).toBe(0)
    },
  )
})

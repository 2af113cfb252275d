import { setImmediate as nextTurn } from 'node:timers/promises'
import { createMcpHandler, type McpServer, MemoryEventStore, type ServingHttp } from 'tenon/server'
import { describe, expect, it, onTestFinished } from 'vitest'
import { eventually } from '../../../kit/eventually.ts'
import { RawConnection, toBytes } from '../../../kit/raw-http.ts'
import { httpRevisions, modern } from '../../../kit/revisions.ts'
import { createServer, OldClient, RawClient, serve } from './support.ts'

describe('a client that does not read', () => {
  const maxQueuedBytes = 1024 * 1024
  const piece = 'x'.repeat(64 * 1024)
  /** Far more than the queues and the kernel can buffer. */
  const pieces = 2_000

  /** A server whose tool sends until the client is disconnected, and records how many messages that took. */
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

  /** Memory used by strings and buffers, which the queues consist of. */
  function memory(): number {
    const { heapUsed, external } = process.memoryUsage()
    return heapUsed + external
  }

  it.each([...httpRevisions])(
    'is disconnected at maxQueuedBytes, uses no memory beyond that and does not affect others (%s)',
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
        // Before 2026-07-28, a lost connection does not cancel the call.
        await eventually(() => seen.sent === pieces)
        expect(seen.aborted).toBe(false)
      }
      await client.stillServes()
    },
  )

  /** Sends on the only stream until its client is disconnected, and returns how many messages that took. */
  async function sendUntilCut(server: McpServer, http: ServingHttp): Promise<number> {
    for (let sent = 0; sent < 190; sent++) {
      if (http.metrics.streams === 0) return sent
      server.server.sendLoggingMessage({ level: 'info', data: { at: sent, filler: 'x'.repeat(200_000) } })
      await nextTurn()
    }
    throw new Error('The reader was not cut off')
  }

  it('is disconnected on the GET stream too (2025-11-25)', async () => {
    const server = createServer()
    const http = await serve(server, { maxQueuedBytes })
    const client = await RawClient.open(http.port, '2025-11-25')
    const stream = await client.listen()
    stream.connection.socket.pause()
    await sendUntilCut(server, http)
    await client.stillServes()
  })

  it('gets everything that it missed when it resumes and reads (2025-11-25) [SSE-016]', async () => {
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

  it('uses no more memory when it resumes a finished stream again and again (2025-11-25)', async () => {
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
    // 6 MB for each of the four streams allowed at a time, not for each of the 40.
    expect(memory() - before).toBeLessThan(64 * 1024 * 1024)
  })

  it('is disconnected on HTTP+SSE (2024-11-05)', async () => {
    const { server, seen } = createTalker()
    const http = await serve(server, { maxQueuedBytes, sse: true })
    const client = await OldClient.open(http.port)
    client.stream.connection.socket.pause()
    await client.post(JSON.stringify({ jsonrpc: '2.0', id: 'talk', method: 'tools/call', params: { name: 'talk' } }))
    await eventually(() => http.metrics.streams === 0)
    // On HTTP+SSE the session ends with its stream, so the call is cancelled.
    await eventually(() => seen.aborted)
    expect(seen.most).toBeLessThan(64 * 1024 * 1024)
    await (await OldClient.open(http.port)).stillServes()
  })

  it('is disconnected over fetch (2026-07-28)', async () => {
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

import { createMcpHandler, type HttpOptions, type McpServer } from 'tenon/server'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { eventually } from '../../../kit/eventually.ts'
import { gate } from '../../../kit/gate.ts'
import { overFetch, overHttp, type SendHttp } from '../../../kit/http-client.ts'
import { Peer } from '../../../kit/http-peer.ts'
import { eachRevision, httpRevisions, modern, sessionRevisions } from '../../../kit/revisions.ts'
import { listenWith, serve } from '../../../kit/serve-http.ts'
import { withProgress, workshop } from '../../../kit/workshop.ts'

/** A tool that sends nothing before its result. */
function registerSilent(server: McpServer) {
  const finish = gate<string>()
  let began = 0
  server.registerTool('silent', {}, () => {
    began++
    return finish.opened
  })
  return { finish: finish.open, began: () => began }
}

/** The same server over a socket and over a function call. */
const rims: Record<
  string,
  (server: McpServer, options: HttpOptions) => Promise<{ way: SendHttp; close(): Promise<void> }>
> = {
  'node:http': async (server, options) => {
    const http = await serve(server, options)
    return { way: overHttp(http.url), close: http.close }
  },
  fetch: async (server, options) => {
    const handler = createMcpHandler(server, options)
    return { way: overFetch(handler), close: () => handler.close(100) }
  },
}

afterEach(() => {
  vi.useRealTimers()
})

describe.each(Object.entries(rims))('a long call over %s', (_name, open) => {
  eachRevision(
    httpRevisions,
    'gets its response headers before the result, and the result as an event',
    async (revision) => {
      const server = workshop()
      const silent = registerSilent(server)
      const { way, close } = await open(server, { streamAfterMs: 20 })
      await using peer = await Peer.open(way, revision)
      const answer = await peer.call('silent', {}, { id: 'slow' })
      expect([answer.status, answer.type]).toEqual([200, 'text/event-stream'])
      silent.finish('at last')
      expect(await answer.response()).toMatchObject({ id: 'slow', result: { content: [{ text: 'at last' }] } })
      expect(await answer.ended).toBe('ended')
      await close()
    },
  )

  eachRevision(httpRevisions, 'gets comments that keep its connection open', async (revision) => {
    const server = workshop()
    const silent = registerSilent(server)
    const { way, close } = await open(server, { streamAfterMs: 20, keepAliveMs: 10 })
    await using peer = await Peer.open(way, revision)
    const answer = await peer.call('silent')
    await answer.until(() => answer.comments.length >= 3)
    silent.finish('at last')
    await answer.response()
    await close()
  })

  it('2025-11-25: gets a priming event first, from which it can be resumed [SSE-019]', async () => {
    const server = workshop()
    const silent = registerSilent(server)
    const { way, close } = await open(server, { streamAfterMs: 20 })
    await using peer = await Peer.open(way, '2025-11-25')
    const answer = await peer.call('silent', {}, { id: 7 })
    const priming = await answer.until(() => answer.events[0])
    expect(priming).toEqual({ id: expect.any(String), data: '' })
    answer.close()
    await answer.ended
    silent.finish('kept')
    const resumed = await peer.resume(priming.id!)
    expect(await resumed.response()).toMatchObject({ id: 7, result: { content: [{ text: 'kept' }] } })
    await close()
  })

  it(`${modern}: gets events without ids [HTTP-060]`, async () => {
    const server = workshop()
    const silent = registerSilent(server)
    const { way, close } = await open(server, { streamAfterMs: 20 })
    await using peer = new Peer(way, modern)
    const answer = await peer.call('silent')
    silent.finish('at last')
    await answer.ended
    expect([answer.ids, answer.events.length]).toEqual([[], 1])
    await close()
  })

  it(`${modern}: is cancelled when its stream is closed [HTTP-054]`, async () => {
    const server = workshop()
    const aborted = gate()
    server.registerTool('silent', {}, (_, ctx) => {
      ctx.signal.addEventListener('abort', () => aborted.open())
      return new Promise<string>(() => {})
    })
    const { way, close } = await open(server, { streamAfterMs: 20 })
    await using peer = new Peer(way, modern)
    const answer = await peer.call('silent')
    answer.close()
    await aborted.opened
    await close()
  })

  eachRevision(httpRevisions, 'can still report progress on its stream [HTTP-020]', async (revision) => {
    const server = workshop()
    const finish = gate()
    server.registerTool('late', {}, async (_, ctx) => {
      await finish.opened
      ctx.progress(1)
      return 'done'
    })
    const { way, close } = await open(server, { streamAfterMs: 20 })
    await using peer = await Peer.open(way, revision)
    const answer = await peer.call('late', {}, withProgress)
    finish.open()
    await answer.ended
    expect(answer.methods).toEqual(['notifications/progress', undefined])
    await close()
  })
})

describe('the delay before a response becomes a stream', () => {
  /** Fakes only the timer that all responses share; sockets keep working. */
  const fakeInterval = () => vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })

  it('is about a second by default', async () => {
    fakeInterval()
    const server = workshop()
    const silent = registerSilent(server)
    await using http = await serve(server)
    await using peer = await Peer.open(http.url, '2025-11-25')
    const answer = peer.call('silent')
    await eventually(() => silent.began() === 1)
    vi.advanceTimersByTime(999)
    expect(http.metrics.streams).toBe(0)
    vi.advanceTimersByTime(500)
    expect(http.metrics.streams).toBe(1)
    silent.finish('at last')
    expect((await answer).isStream).toBe(true)
  })

  const withoutSwitch: [string, HttpOptions][] = [
    ['enableJsonResponse is set [SDK-004]', { enableJsonResponse: true }],
    ['streamAfterMs is Infinity', { streamAfterMs: Number.POSITIVE_INFINITY }],
  ]
  for (const [why, options] of withoutSwitch) {
    eachRevision(httpRevisions, `never ends if ${why}`, async (revision) => {
      fakeInterval()
      const server = workshop()
      const silent = registerSilent(server)
      await using http = await serve(server, options)
      await using peer = await Peer.open(http.url, revision)
      const answer = peer.call('silent')
      await eventually(() => silent.began() === 1)
      vi.advanceTimersByTime(60_000)
      silent.finish('plain')
      expect((await answer).type).toBe('application/json')
    })
  }

  it('does not apply to initialize, whose headers wait for the session', async () => {
    fakeInterval()
    const begun = gate()
    const finish = gate()
    const onSession = async () => {
      begun.open()
      await finish.opened
    }
    await using http = await serve(workshop(), { onSession })
    await using peer = new Peer(http.url, '2025-11-25')
    const opening = peer.request('initialize', peer.greeting())
    await begun.opened
    vi.advanceTimersByTime(60_000)
    finish.open()
    expect((await opening).type).toBe('application/json')
  })

  it('uses no timer once every call is answered', async () => {
    fakeInterval()
    const server = workshop()
    const silent = registerSilent(server)
    const handler = createMcpHandler(server)
    await using peer = new Peer(overFetch(handler), modern)
    const answer = peer.call('silent')
    await eventually(() => silent.began() === 1)
    expect(vi.getTimerCount()).toBeGreaterThan(0)
    silent.finish('soon')
    expect((await answer).type).toBe('application/json')
    vi.advanceTimersByTime(10_000)
    expect(vi.getTimerCount()).toBe(0)
    await handler.close()
  })

  it('rejects a value that is not above 0', () => {
    expect(() => createMcpHandler(workshop(), { streamAfterMs: 0 })).toThrow(/streamAfterMs must be a number above 0/)
  })
})

describe('streams that are opened after the delay', () => {
  eachRevision(sessionRevisions, 'leave half of the stream limit to others', async (revision) => {
    const server = workshop()
    const silent = registerSilent(server)
    const handler = createMcpHandler(server, { streamAfterMs: 20, maxStreamsPerSession: 4 })
    await using peer = await Peer.open(overFetch(handler), revision)
    const calls = Array.from({ length: 4 }, () => peer.call('silent'))
    await eventually(() => handler.metrics.streams === 2)
    const steps = await peer.call('steps', {}, withProgress)
    expect(steps.isStream).toBe(true)
    silent.finish('all')
    const types = (await Promise.all(calls)).map(({ type }) => type)
    expect(types.toSorted()).toEqual([...Array(2).fill('application/json'), ...Array(2).fill('text/event-stream')])
    await handler.close()
  })
})

describe('a framework that answers before the handler', () => {
  it('does not crash the process when the delay ends', async () => {
    const errors: unknown[] = []
    const server = workshop({ onError: (error) => errors.push(error) })
    registerSilent(server)
    const handler = createMcpHandler(server, { streamAfterMs: 20 })
    await using http = await listenWith((request, response) => {
      handler.node(request, response)
      // Headers only, so that the response is still open when the delay ends.
      setImmediate(() => response.writeHead(504).write('Gateway timeout'))
    })
    await using peer = new Peer(http.url, modern)
    const answer = await peer.call('silent')
    expect(answer.status).toBe(504)
    await eventually(() => errors.length === 1)
    expect(errors[0]).toMatchObject({ code: 'ERR_HTTP_HEADERS_SENT' })
    await handler.close(0)
  })
})

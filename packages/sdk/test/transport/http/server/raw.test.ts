import { type McpServer, type RawEventStore, type RawHttpOptions, RawHttpTransport } from 'tenon/server'
import { describe, expect, it } from 'vitest'
import { gate } from '../../../kit/gate.ts'
import { Peer } from '../../../kit/http-peer.ts'
import type { Message } from '../../../kit/message.ts'
import { eachRevision, modern, sessionRevisions } from '../../../kit/revisions.ts'
import { listenWith } from '../../../kit/serve-http.ts'
import { registerSlow, withProgress, workshop } from '../../../kit/workshop.ts'

const newest = '2025-11-25'
const withSession: RawHttpOptions = { sessionIdGenerator: () => crypto.randomUUID() }

/** One transport behind one URL. */
async function one(options: RawHttpOptions = withSession, server: McpServer | null = workshop()) {
  const transport = new RawHttpTransport(options)
  await server?.connect(transport)
  const http = await listenWith((request, response) => void transport.handleRequest(request, response))
  return { ...http, transport }
}

/** Event store as programs write it: messages are objects. */
function memoryStore() {
  const events: { id: string; streamId: string; message: object }[] = []
  const store: RawEventStore = {
    async storeEvent(streamId, message) {
      const id = `event-${events.length}`
      events.push({ id, streamId, message })
      return id
    },
    async replayEventsAfter(lastEventId, { send }) {
      const { streamId } = events.find(({ id }) => id === lastEventId)!
      const index = events.findIndex(({ id }) => id === lastEventId)
      for (const event of events.slice(index + 1).filter((each) => each.streamId === streamId)) {
        await send(event.id, event.message)
      }
      return streamId
    },
  }
  return { events, store }
}

describe('RawHttpTransport with a server', () => {
  eachRevision(sessionRevisions, 'answers every request of a session with an event stream', async (revision) => {
    await using http = await one()
    await using peer = await Peer.open(http.url, revision)
    expect(peer.opening?.isStream).toBe(true)
    expect(http.transport.sessionId).toBe(peer.sessionId)
    const answer = await peer.call('echo', { text: 'hello' })
    expect((await answer.response()).result?.content).toEqual([{ type: 'text', text: 'hello' }])
    expect(answer.isStream).toBe(true)
    expect(answer.headers['mcp-session-id']).toBe(peer.sessionId)
    await http.transport.close()
  })

  it('answers requests that have no stream yet with 404 when it closes, and ends the streams of the others', async () => {
    const server = workshop()
    const [silent, loud] = [registerSlow(server, 'silent'), registerSlow(server, 'loud')]
    await using http = await one(withSession, server)
    await using peer = await Peer.open(http.url, newest)
    const stream = await peer.call('loud', {}, withProgress)
    await loud.began
    const call = peer.call('silent')
    await silent.began
    await http.transport.close()
    expect((await call).status).toBe(404)
    expect(await stream.ended).toBe('ended')
    expect(stream.methods).toEqual(['notifications/progress'])
  })

  it('refuses requests of 2026-07-28 if stateless is false', async () => {
    await using http = await one({ ...withSession, stateless: false })
    await using peer = await Peer.open(http.url, modern)
    expect((await peer.call('echo', { text: 'hello' })).status).toBe(400)
  })

  it('takes several requests without a session if reusable is set', async () => {
    const transport = new RawHttpTransport({ reusable: true })
    transport.onmessage = (message) => {
      const { id } = message as { id: number }
      void transport.send({ jsonrpc: '2.0', id, result: {} })
    }
    await transport.start()
    const ping = (id: number) =>
      transport.handleFetch(
        new Request('http://localhost/', {
          method: 'POST',
          headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
          body: JSON.stringify({ jsonrpc: '2.0', id, method: 'ping' }),
        }),
      )
    for (const id of [1, 2]) expect(await (await ping(id)).text()).toContain(`"id":${id}`)
  })

  it('answers with plain JSON if enableJsonResponse is set', async () => {
    await using http = await one({ ...withSession, enableJsonResponse: true })
    await using peer = await Peer.open(http.url, newest)
    const answer = await peer.call('steps', {}, withProgress)
    expect(answer.type).toBe('application/json')
    expect((await answer.json()).result?.content).toEqual([{ type: 'text', text: 'three steps' }])
  })

  it('sends the headers of a slow response before the handler returns', async () => {
    const server = workshop()
    const slow = registerSlow(server)
    await using http = await one(withSession, server)
    await using peer = await Peer.open(http.url, newest)
    const answer = await peer.call('slow')
    expect(answer.isStream).toBe(true)
    slow.finish('done')
    expect((await answer.response()).result?.content).toEqual([{ type: 'text', text: 'done' }])
    expect(await answer.ended).toBe('ended')
  })

  it('answers, and reports the error, if the program fails before it gets the message', async () => {
    const failing = () => {
      throw new Error('no ids left')
    }
    await using http = await one({ sessionIdGenerator: failing })
    const errors: string[] = []
    http.transport.onerror = ({ message }) => void errors.push(message)
    const peer = new Peer(http.url, newest)
    const answer = await peer.request('initialize', peer.greeting())
    expect(answer.status).toBe(400)
    expect((await answer.json()).error).toMatchObject({ code: -32700, data: 'Error: no ids left' })
    expect(errors).toEqual(['no ids left'])
  })

  it.each([
    ['JSON', true],
    ['an event stream', false],
  ])('answers the rest of a batch with %s if one of its requests is cancelled', async (_, enableJsonResponse) => {
    const server = workshop()
    const [slow, cancelled] = [registerSlow(server), registerSlow(server, 'cancelled')]
    await using http = await one({ ...withSession, enableJsonResponse }, server)
    await using peer = await Peer.open(http.url, '2025-03-26')
    const posted = peer.post([
      peer.message('tools/call', { name: 'slow', arguments: {} }, 'a'),
      peer.message('tools/call', { name: 'cancelled', arguments: {} }, 'b'),
      peer.message('tools/call', { name: 'echo', arguments: { text: 'c' } }, 'c'),
    ])
    await Promise.all([slow.began, cancelled.began])
    await peer.notify('notifications/cancelled', { requestId: 'b' })
    slow.finish('done')
    const answer = await posted
    await answer.ended
    expect(answer.status).toBe(200)
    const messages = enableJsonResponse ? ((await answer.json()) as unknown as Message[]) : answer.messages
    expect(messages.flatMap(({ id }) => id ?? []).sort()).toEqual(['a', 'c'])
  })

  it('ends the response to a batch if its last open request is cancelled', async () => {
    const server = workshop()
    const slow = registerSlow(server)
    await using http = await one({ ...withSession, enableJsonResponse: true }, server)
    await using peer = await Peer.open(http.url, '2025-03-26')
    const posted = peer.post([
      peer.message('tools/call', { name: 'echo', arguments: { text: 'a' } }, 'a'),
      peer.message('tools/call', { name: 'slow', arguments: {} }, 'b'),
    ])
    await slow.began
    await peer.notify('notifications/cancelled', { requestId: 'b' })
    expect(((await (await posted).json()) as unknown as Message[]).map(({ id }) => id)).toEqual(['a'])
  })

  it('ends the response to a cancelled request without a message', async () => {
    const server = workshop()
    const slow = registerSlow(server)
    await using http = await one({ ...withSession, enableJsonResponse: true }, server)
    await using peer = await Peer.open(http.url, newest)
    const posted = peer.call('slow', {}, { id: 'b' })
    await slow.began
    await peer.notify('notifications/cancelled', { requestId: 'b' })
    const answer = await posted
    expect([answer.status, answer.isStream]).toEqual([200, true])
    expect(await answer.ended).toBe('ended')
    expect(answer.messages).toEqual([])
  })

  it('sends each response of a batch as an event of its own', async () => {
    await using http = await one()
    await using peer = await Peer.open(http.url, '2025-03-26')
    const answer = await peer.post([
      peer.message('tools/call', { name: 'echo', arguments: { text: 'a' } }, 'a'),
      peer.message('tools/call', { name: 'echo', arguments: { text: 'b' } }, 'b'),
    ])
    await answer.ended
    expect(answer.messages.map(({ id }) => id).sort()).toEqual(['a', 'b'])
  })

  it('answers requests of 2026-07-28 without a session, beside a session and before there is one', async () => {
    const opened: string[] = []
    await using http = await one({ ...withSession, onSessionOpened: (id) => opened.push(id) })
    await using stateless = new Peer(http.url, modern)
    expect(await stateless.textOf('revision')).toBe(modern)
    expect(http.transport.sessionId).toBeUndefined()
    await using peer = await Peer.open(http.url, newest)
    expect(await peer.textOf('revision')).toBe(newest)
    const both = await Promise.all([stateless.textOf('revision'), peer.textOf('session'), stateless.textOf('session')])
    expect(both).toEqual([modern, peer.sessionId, 'none'])
    expect(opened).toEqual([peer.sessionId])
  })

  it('answers equal request ids of several 2026-07-28 clients at once, also without sessions', async () => {
    const server = workshop()
    const slow = registerSlow(server)
    await using http = await one({}, server)
    await using one1 = new Peer(http.url, modern)
    await using two = new Peer(http.url, modern)
    const first = one1.call('slow', {}, { id: 1 })
    await slow.began
    const second = await two.call('echo', { text: 'second' }, { id: 1 })
    expect((await second.response()).result?.content).toEqual([{ type: 'text', text: 'second' }])
    slow.finish('first')
    expect((await (await first).response()).result?.content).toEqual([{ type: 'text', text: 'first' }])
  })

  it('refuses to be reused without sessions, because request ids of clients would collide', async () => {
    await using http = await one({})
    await using peer = new Peer(http.url, newest)
    expect((await (await peer.call('echo', { text: 'x' })).response()).result?.content).toBeDefined()
    expect((await peer.call('echo', { text: 'x' })).status).toBe(500)
  })

  it('refuses a second session, another session id, and requests after it was closed', async () => {
    await using http = await one()
    const errors: string[] = []
    await using peer = await Peer.open(http.url, newest)
    http.transport.onerror = (error) => errors.push(error.message)
    const again = await peer.request('initialize', peer.greeting())
    expect([again.status, (await again.json()).error?.code]).toEqual([400, -32600])
    const foreign = await peer.post(peer.message('tools/list'), { 'mcp-session-id': 'another' })
    expect([foreign.status, (await foreign.json()).error?.code]).toEqual([404, -32001])
    expect(errors).toEqual(['Invalid Request: Server already initialized', 'Session not found'])
    expect((await peer.delete()).status).toBe(200)
    expect((await peer.call('echo')).status).toBe(404)
  })

  it('keeps messages that belong to no request until the client opens a stream for them', async () => {
    await using http = await one()
    await using peer = await Peer.open(http.url, newest)
    await http.transport.send({ jsonrpc: '2.0', id: 1, method: 'roots/list' })
    const stream = await peer.get()
    expect((await stream.until(() => stream.messages[0])).method).toBe('roots/list')
    await http.transport.close()
  })

  it('continues a session that was opened elsewhere', async () => {
    await using http = await one()
    http.transport.resumeSession('from-another-process')
    await using peer = new Peer(http.url, newest)
    peer.sessionId = 'from-another-process'
    expect((await peer.get()).status).toBe(200)
    await http.transport.close()
  })
})

describe('RawHttpTransport and its event store', () => {
  it('stores objects, and lets a client resume the response of a request whose connection was closed', async () => {
    const server = workshop()
    const slow = registerSlow(server)
    const { events, store } = memoryStore()
    await using http = await one({ ...withSession, eventStore: store, retryMs: 250 }, server)
    await using peer = await Peer.open(http.url, newest)
    const answer = await peer.call('slow', {}, { id: 'slow' })
    await answer.until(() => answer.events.length > 0)
    expect(answer.events[0]).toEqual({ id: expect.any(String), data: '', retry: 250 })
    http.transport.closeStream('slow')
    expect(await answer.ended).toBe('ended')
    slow.finish('done')
    await expect
      .poll(() => events.some(({ message }) => 'result' in message && (message as Message).id === 'slow'))
      .toBe(true)
    const resumed = await peer.resume(answer.ids[0]!)
    expect((await resumed.response()).result?.content).toEqual([{ type: 'text', text: 'done' }])
    await http.transport.close()
  })

  it('replays what was sent on the stream of the GET while no client was connected', async () => {
    const { events, store } = memoryStore()
    await using http = await one({ ...withSession, eventStore: store })
    await using peer = await Peer.open(http.url, newest)
    const first = await peer.get()
    await http.transport.send({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 1 } })
    await first.until(() => first.ids.length > 0)
    expect((await peer.get()).status).toBe(409)
    http.transport.closeStandaloneStream()
    expect(await first.ended).toBe('ended')
    await http.transport.send({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 2 } })
    const resumed = await peer.resume(first.ids[0]!)
    const seen = await resumed.until(() => resumed.messages[0])
    expect(seen.params?.data).toBe(2)
    expect(new Set(events.filter(({ message }) => 'method' in message).map((event) => event.streamId))).toEqual(
      new Set(['_GET_stream']),
    )
    await http.transport.close()
  })
})

describe('RawHttpTransport and programs that watch messages', () => {
  eachRevision([newest, modern], 'passes every message through a wrapped send and onmessage', async (revision) => {
    await using http = await one()
    const { transport } = http
    const seen: string[] = []
    const { send, onmessage } = transport
    transport.send = (message, options) => {
      seen.push('method' in message ? message.method : 'response')
      return send.call(transport, message, options)
    }
    transport.onmessage = (message, extra, kind) => {
      seen.push((message as Message).method!)
      onmessage?.(message, extra, kind)
    }
    await using peer = await Peer.open(http.url, revision)
    seen.length = 0
    const answer = await peer.call('steps', {}, withProgress)
    expect((await answer.response()).result?.content).toEqual([{ type: 'text', text: 'three steps' }])
    expect(seen[0]).toBe('tools/call')
    expect(seen.at(-1)).toBe('response')
    expect(seen).toContain('notifications/progress')
  })

  it('passes messages through a send that a subclass overrides', async () => {
    const sent: object[] = []
    class Watching extends RawHttpTransport {
      override async send(...args: Parameters<RawHttpTransport['send']>): Promise<void> {
        sent.push(args[0])
        await super.send(...args)
      }
    }
    const transport = new Watching(withSession)
    await workshop().connect(transport)
    await using http = await listenWith((request, response) => void transport.handleRequest(request, response))
    await using peer = await Peer.open(http.url, newest)
    expect(await peer.textOf('echo', { text: 'x' })).toBe('x')
    expect(sent).toHaveLength(2)
  })

  it('works without a server: passes messages with their HTTP request, and sends responses to their streams', async () => {
    await using http = await one(withSession, null)
    const { transport } = http
    const seen = gate<unknown>()
    transport.onmessage = (message, extra) => {
      const { id, method, params } = message as Message
      if (id === undefined) return
      if (method === 'ping') seen.open(extra?.requestInfo?.headers['x-test'])
      const result = method === 'initialize' ? { ...params, serverInfo: { name: 'raw', version: '1' } } : {}
      void transport.send({ jsonrpc: '2.0', id: id as number, result })
    }
    await transport.start()
    await using peer = await Peer.open(http.url, newest, { headers: { 'x-test': 'yes' } })
    expect((await (await peer.request('ping')).response()).result).toEqual({})
    expect(await seen.opened).toBe('yes')
    await expect(transport.send({ jsonrpc: '2.0', id: 'unknown', result: {} })).rejects.toThrow('No connection')
    await expect(transport.start()).rejects.toThrow('already started')
  })
})

import { type RawEventStore, type RawHttpOptions, RawHttpTransport } from 'tenon/server'
import { describe, expect, it } from 'vitest'
import { Peer } from '../../../kit/http-peer.ts'
import { listenWith } from '../../../kit/serve-http.ts'
import { workshop } from '../../../kit/workshop.ts'

const newest = '2025-11-25'
const withSession: RawHttpOptions = { sessionIdGenerator: () => crypto.randomUUID() }

/** One transport behind one URL, with what it reports. */
async function one(options: RawHttpOptions = {}) {
  const transport = new RawHttpTransport({ ...withSession, ...options })
  await workshop().connect(transport)
  const reported: string[] = []
  transport.onerror = ({ message }) => void reported.push(message)
  const http = await listenWith((request, response) => void transport.handleRequest(request, response))
  return { ...http, transport, reported }
}

describe('RawHttpTransport refuses', () => {
  it('a GET or DELETE of another session, which stays open', async () => {
    await using http = await one()
    await using peer = await Peer.open(http.url, newest)
    for (const sessionId of ['another', undefined]) {
      const headers = { 'mcp-session-id': sessionId }
      const status = sessionId ? 404 : 400
      expect((await peer.get(headers)).status).toBe(status)
      expect((await peer.send('DELETE', headers)).status).toBe(status)
    }
    expect(await peer.textOf('echo', { text: 'still here' })).toBe('still here')
    expect(http.reported).toHaveLength(4)
  })

  it('a GET that does not accept events', async () => {
    await using http = await one()
    await using peer = await Peer.open(http.url, newest)
    const answer = await peer.get({ accept: 'application/json' })
    expect([answer.status, (await answer.json()).error?.message]).toEqual([
      406,
      'Not Acceptable: Client must accept text/event-stream',
    ])
  })

  it('hosts and origins that are not allowed', async () => {
    const allowedOrigins = ['https://app.example']
    await using http = await one({ allowedOrigins })
    await using peer = new Peer(http.url, newest)
    const statusFrom = async (headers: Record<string, string>) =>
      (await peer.request('initialize', peer.greeting(), { headers })).status
    expect(await statusFrom({ origin: 'https://evil.example' })).toBe(403)
    expect(await statusFrom({ origin: 'https://app.example' })).toBe(200)
    await using strict = await one({ allowedHosts: ['app.example'] })
    await using other = new Peer(strict.url, newest)
    const answer = await other.request('initialize', other.greeting())
    expect([answer.status, (await answer.json()).error?.message]).toEqual([403, expect.stringMatching(/^Invalid Host/)])
    await using open = await one({ allowedHosts: [], allowedOrigins: [] })
    await using any = new Peer(open.url, newest)
    const greeted = await any.request('initialize', any.greeting(), { headers: { origin: 'https://any.example' } })
    expect(greeted.status).toBe(200)
  })

  it('bodies that are too large, and says how large they may be', async () => {
    await using http = await one({ maxBodyBytes: 1_000 })
    await using peer = await Peer.open(http.url, newest)
    const answer = await peer.call('echo', { text: 'x'.repeat(1_000) })
    expect(answer.status).toBe(413)
    expect((await answer.json()).error).toMatchObject({ code: -32000, message: expect.stringContaining('1000 bytes') })
    expect(answer.headers.connection).toBe('close')
  })

  it('other methods, and names those that it knows', async () => {
    await using http = await one()
    await using peer = await Peer.open(http.url, newest)
    const answer = await peer.send('PUT', {}, '{}')
    expect([answer.status, answer.headers.allow]).toEqual([405, 'GET, POST, DELETE'])
  })

  it('a second handshake, two at once, and very long batches', async () => {
    await using http = await one()
    await using peer = await Peer.open(http.url, '2025-03-26')
    const hello = (id: number) => peer.message('initialize', peer.greeting(), id)
    const refusalOf = async (...messages: Parameters<Peer['post']>) => {
      const answer = await peer.post(...messages)
      return [answer.status, (await answer.json()).error?.message]
    }
    expect(await refusalOf(hello(7))).toEqual([400, 'Invalid Request: Server already initialized'])
    const pings = Array.from({ length: 101 }, (_, id) => peer.message('ping', {}, id))
    expect(await refusalOf(pings)).toEqual([400, 'Invalid Request: Batch must not exceed 100 messages'])
    expect((await peer.post(pings.slice(1))).status).toBe(200)
    await using fresh = await one()
    await using twice = new Peer(fresh.url, '2025-03-26')
    const both = await twice.post([hello(1), hello(2)])
    expect([both.status, (await both.json()).error?.message]).toEqual([
      400,
      'Invalid Request: Only one initialization request is allowed',
    ])
    expect(fresh.transport.sessionId).toBeUndefined()
  })

  it('everything after it was closed, also a message that was being read', async () => {
    await using http = await one()
    await using peer = await Peer.open(http.url, newest)
    await http.transport.close()
    for (const answer of [await peer.call('echo', { text: 'x' }), await peer.get(), await peer.delete()]) {
      expect(answer.status).toBe(404)
    }
    const early = new RawHttpTransport({ ...withSession, onSessionOpened: () => early.close() })
    await workshop().connect(early)
    await using closing = await listenWith((request, response) => void early.handleRequest(request, response))
    const late = new Peer(closing.url, newest)
    expect((await late.request('initialize', late.greeting())).status).toBe(404)
  })

  it('responses that belong to no request', async () => {
    await using http = await one()
    const response = { jsonrpc: '2.0' as const, id: null as never, result: {} }
    await expect(http.transport.send(response)).rejects.toThrow('Cannot send a response on a standalone SSE stream')
  })
})

describe('RawHttpTransport with an event store refuses to resume', () => {
  const store = (more: Partial<RawEventStore>): RawEventStore => ({
    storeEvent: async () => 'event-1',
    replayEventsAfter: async () => '_GET_stream',
    ...more,
  })
  const resume = async (eventStore: RawEventStore, isListening = false) => {
    await using http = await one({ eventStore })
    await using peer = await Peer.open(http.url, newest)
    if (isListening) await peer.get()
    const answer = await peer.resume('event-0')
    return { status: answer.status, message: answer.isStream ? '' : (await answer.json()).error?.message, ...http }
  }

  it('after an event that it does not know', async () => {
    const { status, message } = await resume(store({ getStreamIdForEventId: async () => undefined }))
    expect([status, message]).toEqual([400, 'Invalid event ID format'])
  })

  it('a stream that has a connection', async () => {
    const getStreamIdForEventId = async () => '_GET_stream'
    expect((await resume(store({ getStreamIdForEventId }))).status).toBe(200)
    const { status, message } = await resume(store({ getStreamIdForEventId }), true)
    expect([status, message]).toEqual([409, 'Conflict: Stream already has an active connection'])
  })

  it('if the store fails, which it reports', async () => {
    const replayEventsAfter = async () => {
      throw new Error('the store is down')
    }
    const { status, message, reported } = await resume(store({ replayEventsAfter }))
    expect([status, message]).toEqual([500, 'Error replaying events'])
    expect(reported).toContain('the store is down')
  })
})

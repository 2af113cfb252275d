import { type RawEventStore, type RawHttpOptions, RawHttpTransport } from 'tenon/server'
import { describe, expect, it } from 'vitest'
import { gate } from '../../../kit/gate.ts'
import { overFetch } from '../../../kit/http-client.ts'
import { Peer } from '../../../kit/http-peer.ts'
import type { Message } from '../../../kit/message.ts'
import { modern } from '../../../kit/revisions.ts'
import { listenWith } from '../../../kit/serve-http.ts'
import { registerSlow, withProgress, workshop } from '../../../kit/workshop.ts'

const newest = '2025-11-25'

type Extra = Parameters<NonNullable<RawHttpTransport['onmessage']>>[1] & {
  closeSSEStream?: () => void
  closeStandaloneSSEStream?: () => void
}

const log = (data: unknown) =>
  ({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data } }) as const

const pong = (id: string | number) => ({ jsonrpc: '2.0', id, result: {} }) as const

/** A program without a server: answers `initialize`, and leaves everything else to the test. */
async function program(options: RawHttpOptions = {}) {
  const transport = new RawHttpTransport({ sessionIdGenerator: () => 'session', keepAliveMs: 0, ...options })
  const reported: string[] = []
  const received: { message: Message; extra: Extra }[] = []
  let arrived = gate()
  transport.onerror = ({ message }) => void reported.push(message)
  transport.onmessage = (value, extra) => {
    const message = value as Message
    if (message.method === 'initialize') {
      const result = { ...message.params, serverInfo: { name: 'raw', version: '1' } }
      void transport.send({ jsonrpc: '2.0', id: message.id as number, result })
    } else if (message.id !== undefined) {
      received.push({ message, extra: extra as Extra })
      arrived.open()
    }
  }
  await transport.start()
  /** Waits for the next request that the test has to answer. */
  const next = async () => {
    while (received.length === 0) {
      await arrived.opened
      arrived = gate()
    }
    return received.shift()!
  }
  const door = overFetch({ fetch: (request: Request) => transport.handleFetch(request) })
  return { transport, reported, door, next, [Symbol.asyncDispose]: () => transport.close() }
}

function memoryStore(): RawEventStore & { readonly events: { id: string; streamId: string; message: object }[] } {
  const events: { id: string; streamId: string; message: object }[] = []
  return {
    events,
    async storeEvent(streamId, message) {
      const id = `event-${events.length}`
      events.push({ id, streamId, message })
      return id
    },
    async replayEventsAfter(lastEventId, { send }) {
      const index = events.findIndex(({ id }) => id === lastEventId)
      const { streamId } = events[index]!
      for (const event of events.slice(index + 1).filter((each) => each.streamId === streamId))
        await send(event.id, event.message)
      return streamId
    },
  }
}

describe('A program that uses RawHttpTransport without a server', () => {
  it('sends messages for a request on its stream, and none after the response', async () => {
    await using raw = await program()
    await using peer = await Peer.open(raw.door, newest)
    const posted = peer.request('ping', {}, { id: 'a' })
    await raw.next()
    for (const data of [1, 2]) await raw.transport.send(log(data), { relatedRequestId: 'a' })
    await raw.transport.send(pong('a'))
    const answer = await posted
    expect(await answer.ended).toBe('ended')
    expect(answer.messages.map(({ id, params }) => id ?? params?.data)).toEqual([1, 2, 'a'])
    await expect(raw.transport.send(log(3), { relatedRequestId: 'a' })).rejects.toThrow(
      'No connection established for request ID: a',
    )
    await expect(raw.transport.send(pong('a'))).rejects.toThrow('No connection established for request ID: a')
  })

  it('answers the newest of several requests with the same id first', async () => {
    await using raw = await program()
    await using peer = await Peer.open(raw.door, newest)
    const answers = []
    for (let each = 0; each < 3; each++) {
      answers.push(peer.request('ping', {}, { id: 'a' }))
      await raw.next()
    }
    for (const data of [3, 2, 1]) {
      await raw.transport.send(log(data), { relatedRequestId: 'a' })
      await raw.transport.send(pong('a'))
    }
    const ended = await Promise.all(answers)
    for (const answer of ended) await answer.ended
    expect(ended.map(({ messages }) => messages[0]?.params?.data)).toEqual([1, 2, 3])
    expect(ended.map(({ messages }) => messages[1]?.id)).toEqual(['a', 'a', 'a'])
    await expect(raw.transport.send(pong('a'))).rejects.toThrow('No connection')
  })

  it('learns that a client is gone which cannot come back', async () => {
    await using raw = await program()
    await using peer = await Peer.open(raw.door, newest)
    const posted = peer.request('ping', {}, { id: 'a' })
    await raw.next()
    await raw.transport.send(log(1), { relatedRequestId: 'a' })
    ;(await posted).close()
    await expect(raw.transport.send(pong('a'))).rejects.toThrow('No connection established for request ID: a')
  })

  it('drops messages for a request that is answered with JSON', async () => {
    await using raw = await program({ enableJsonResponse: true })
    await using peer = await Peer.open(raw.door, newest)
    const posted = peer.request('ping', {}, { id: 'a' })
    await raw.next()
    await raw.transport.send(log(1), { relatedRequestId: 'a' })
    await raw.transport.send(pong('a'))
    const answer = await posted
    expect([answer.type, answer.headers['mcp-session-id']]).toEqual(['application/json', 'session'])
    expect(await answer.json()).toEqual(pong('a'))
  })

  it('learns that a request can no longer be answered with JSON after its stream was closed', async () => {
    await using raw = await program({ enableJsonResponse: true })
    await using peer = await Peer.open(raw.door, newest)
    void peer.request('ping', {}, { id: 'a' })
    await raw.next()
    raw.transport.closeStream('a')
    await expect(raw.transport.send(pong('a'))).rejects.toThrow('No connection established for request ID: a')
  })

  it('can send 100 messages before the client listens, and no more are kept', async () => {
    await using raw = await program()
    await using peer = await Peer.open(raw.door, newest)
    for (let data = 0; data <= 100; data++) await raw.transport.send(log(data))
    const stream = await peer.get()
    await raw.transport.send(log('live'))
    await stream.until(() => stream.messages.at(-1)?.params?.data === 'live')
    const sent = stream.messages.map(({ params }) => params?.data)
    expect([sent.length, sent[0], sent[99], sent[100]]).toEqual([101, 0, 99, 'live'])
  })

  it('tells the client when to come back before it ends the stream of the GET', async () => {
    await using raw = await program()
    await using peer = await Peer.open(raw.door, newest)
    const stream = await peer.get()
    raw.transport.disconnect(250)
    expect(await stream.ended).toBe('ended')
    expect(stream.raw).toBe('retry: 250\n\n')
    expect((await peer.get()).status).toBe(200)
  })

  it('gets an error of the store reported, whichever way it sends', async () => {
    const storeEvent = async () => {
      throw new Error('the store is full')
    }
    await using raw = await program({ eventStore: { ...memoryStore(), storeEvent } })
    raw.transport.sendText(JSON.stringify(log(1)))
    await expect.poll(() => raw.reported).toEqual(['the store is full'])
    await expect(raw.transport.send(log(1))).rejects.toThrow('the store is full')
  })

  it('sees text that belongs to no request in its own send', async () => {
    await using raw = await program()
    await using peer = await Peer.open(raw.door, newest)
    const stream = await peer.get()
    const { transport } = raw
    const { send } = transport
    const seen: unknown[] = []
    transport.send = async (message, options) => {
      seen.push(message, options)
      await send.call(transport, message, options)
    }
    transport.sendText(JSON.stringify(log(1)))
    expect(seen).toEqual([log(1), undefined])
    expect((await stream.notified('notifications/message')).params?.data).toBe(1)
    transport.send = async () => {
      throw new Error('cannot send')
    }
    transport.sendText(JSON.stringify(log(2)))
    await expect.poll(() => raw.reported).toEqual(['cannot send'])
  })

  it('closes once, and ends every stream', async () => {
    await using raw = await program()
    await using peer = await Peer.open(raw.door, newest)
    let closed = 0
    raw.transport.onclose = () => void closed++
    const stream = await peer.get()
    await raw.transport.close()
    await raw.transport.close()
    expect([await stream.ended, closed]).toEqual(['ended', 1])
  })

  it('answers a resumption with 404, and reports nothing, if it closes meanwhile', async () => {
    const store = memoryStore()
    const [asked, known] = [gate(), gate()]
    const replayEventsAfter = async () => {
      asked.open()
      await known.opened
      return '_GET_stream'
    }
    await using raw = await program({ eventStore: { ...store, replayEventsAfter } })
    await using peer = await Peer.open(raw.door, newest)
    const resumed = peer.resume('event-0')
    await asked.opened
    await raw.transport.close()
    known.open()
    expect((await resumed).status).toBe(404)
    expect(raw.reported).toEqual([])
  })

  it('can end the connections of a client that can resume them [SSE-021]', async () => {
    const eventStore = memoryStore()
    await using raw = await program({ eventStore })
    await using peer = await Peer.open(raw.door, newest)
    const stream = await peer.get()
    const answer = await peer.request('ping', {}, { id: 'a' })
    const { extra } = await raw.next()
    extra.closeStandaloneSSEStream!()
    expect(await stream.ended).toBe('ended')
    extra.closeSSEStream!()
    expect(await answer.ended).toBe('ended')
    await raw.transport.send(pong('a'))
    const resumed = await peer.resume(answer.ids[0]!)
    expect((await resumed.response()).id).toBe('a')
  })

  it.each([
    ['there is no event store', newest, undefined],
    ['its revision cannot resume', '2025-06-18', memoryStore()],
  ] as const)('cannot end the connections of a client if %s', async (_, revision, eventStore) => {
    await using raw = await program({ eventStore })
    await using peer = await Peer.open(raw.door, revision)
    void peer.request('ping', {}, { id: 'a' })
    const { extra } = await raw.next()
    expect([extra.closeSSEStream, extra.closeStandaloneSSEStream]).toEqual([undefined, undefined])
    await raw.transport.send(pong('a'))
  })
})

describe('A program that wraps send of a RawHttpTransport with a server', () => {
  /** How wrappers pass a message on. */
  const ways = {
    'the message itself': (message: object, options: object | undefined) => [message, options],
    'a copy of the message': (message: object, options: object | undefined) => [{ ...message }, options],
    'copies of the message and its options': (message: object, options: object | undefined) => [
      { ...message },
      { ...options },
    ],
  }

  it.each(Object.entries(ways))('can pass on %s: equal ids are not mixed up', async (_, pass) => {
    const server = workshop()
    const slow = registerSlow(server)
    const transport = new RawHttpTransport({ sessionIdGenerator: () => 'session' })
    await server.connect(transport)
    const { send } = transport
    const refusal = gate()
    transport.send = (message, options) => {
      const args = pass(message, options) as Parameters<typeof send>
      if (!('error' in message)) return send.apply(transport, args)
      // The refusal of the second request waits, so that it is the newest one without a response.
      return refusal.opened.then(() => send.call(transport, message, options))
    }
    await using peer = await Peer.open(
      overFetch({ fetch: (request: Request) => transport.handleFetch(request) }),
      newest,
    )
    const first = peer.call('slow', {}, { id: 'a', ...withProgress })
    await slow.began
    const second = peer.call('echo', { text: 'second' }, { id: 'a' })
    const started = await first
    slow.finish('first')
    expect((await started.response()).result?.content?.[0]?.text).toBe('first')
    refusal.open()
    expect((await (await second).response()).error?.code).toBe(-32600)
    await transport.close()
  })

  it('learns that a response which it sends twice is not sent again', async () => {
    const transport = new RawHttpTransport({ sessionIdGenerator: () => 'session' })
    await workshop().connect(transport)
    const { send } = transport
    const errors: string[] = []
    transport.onerror = ({ message }) => void errors.push(message)
    await using peer = await Peer.open(
      overFetch({ fetch: (request: Request) => transport.handleFetch(request) }),
      newest,
    )
    transport.send = async (message, options) => {
      await send.call(transport, message, options)
      await send.call(transport, message, options)
    }
    const answer = await peer.call('echo', { text: 'x' }, { id: 'a' })
    expect((await answer.response()).id).toBe('a')
    await expect.poll(() => errors).toEqual(['No connection established for request ID: a'])
    await transport.close()
  })

  it('sees messages of 2026-07-28 in an onmessage that it set before connecting', async () => {
    const transport = new RawHttpTransport({ sessionIdGenerator: () => 'session' })
    const seen: unknown[] = []
    transport.onmessage = function (this: unknown, message, extra) {
      seen.push(this === transport, (message as Message).method, extra?.requestInfo?.headers['x-test'])
    }
    await workshop().connect(transport)
    await using http = await listenWith((request, response) => void transport.handleRequest(request, response))
    await using peer = await Peer.open(http.url, modern, { headers: { 'x-test': 'yes' } })
    expect(await peer.textOf('echo', { text: 'x' })).toBe('x')
    expect(seen).toEqual([true, 'tools/call', 'yes'])
  })

  it('gets a failure of its send reported, and the transport still works', async () => {
    const transport = new RawHttpTransport({ sessionIdGenerator: () => 'session' })
    await workshop().connect(transport)
    await using peer = await Peer.open(
      overFetch({ fetch: (request: Request) => transport.handleFetch(request) }),
      newest,
    )
    const errors: string[] = []
    transport.onerror = ({ message }) => {
      errors.push(message)
      throw new Error('a mistake in onerror')
    }
    const { send } = transport
    transport.send = async () => {
      throw 'no Error object'
    }
    void peer.call('echo', { text: 'x' }, { id: 'a' })
    await expect.poll(() => errors).toEqual(['no Error object'])
    transport.send = send
    expect(await peer.textOf('echo', { text: 'y' })).toBe('y')
    await transport.close()
  })
})

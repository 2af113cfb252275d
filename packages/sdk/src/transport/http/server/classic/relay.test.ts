import { describe, expect, it } from 'vitest'
import type { RpcMessage } from '../../../../jsonrpc/message.ts'
import type { ReplyStream, Transport } from '../../../../jsonrpc/transport.ts'
import type { ServerTransport } from '../../../../protocol/transport.ts'
import { Relay } from './relay.ts'

/** The HTTP response of one POST. */
class Reply implements ReplyStream {
  readonly texts: [message: unknown, isLast: boolean][] = []
  isEnded = false
  canStream = true

  sendText(text: string, isLast: boolean): boolean {
    if (!isLast && !this.canStream) return false
    this.texts.push([JSON.parse(text), isLast])
    return true
  }

  end(): void {
    this.isEnded = true
  }
}

function relay() {
  const received: unknown[] = []
  const errors: unknown[] = []
  const program: Transport = {
    start: async () => {},
    send: async () => {},
    close: async () => {},
    onmessage: (message) => void received.push(message),
    onerror: (error) => void errors.push(error),
  }
  const made = new Relay(program)
  /** A client, with what is sent to it outside of requests. */
  const peer = (sessionId?: string) => {
    const sent: unknown[] = []
    const state = { isClosed: false }
    const transport: ServerTransport = {
      sessionId,
      start: async () => {},
      send: () => {},
      sendText: (text: string) => void sent.push(JSON.parse(text)),
      close: async () => {
        state.isClosed = true
      },
    }
    return { sent, state, link: made.attach(transport) }
  }
  return { relay: made, program, received, errors, peer }
}

const request = (id: string | number, method = 'ping', params: object = {}) => ({ jsonrpc: '2.0', id, method, params })
const result = (id: string | number, value: Record<string, string> = {}): RpcMessage => ({
  jsonrpc: '2.0',
  id,
  result: value,
})
const notice = (method: string, params: Record<string, unknown> = {}) => ({ jsonrpc: '2.0' as const, method, params })
const cancelled = (requestId: unknown) => notice('notifications/cancelled', { requestId })

describe('Relay, for programs that handle the messages of a transport themselves', () => {
  it('sends messages that belong to no request to the session, until it ends', () => {
    const { relay: made, peer } = relay()
    made.send(notice('early'), undefined)
    const [session, single] = [peer('session'), peer()]
    made.send(notice('one'), undefined)
    single.link.ended()
    made.send([notice('two'), notice('three')], undefined)
    expect(session.sent).toEqual([notice('one'), notice('two'), notice('three')])
    session.link.ended()
    made.send(notice('late'), undefined)
    expect(session.sent).toHaveLength(3)
    expect(single.sent).toEqual([])
  })

  it('sends messages for a request on its stream, and the response as the last one', () => {
    const { relay: made, peer } = relay()
    const { link, sent } = peer('session')
    const reply = new Reply()
    link.receive(request(1), reply)
    made.send(notice('progress'), 1)
    made.send(result(1), undefined)
    expect(reply.texts).toEqual([
      [notice('progress'), false],
      [result(1), true],
    ])
    expect(sent).toEqual([])
    expect(() => made.send(notice('late'), 1)).toThrow('Cannot send a message for request 1')
    expect(() => made.send(result(1), undefined)).toThrow('No request with the id 1')
  })

  it('reports that a message for a request cannot be sent if its response is plain JSON', () => {
    const { relay: made, peer } = relay()
    const reply = new Reply()
    reply.canStream = false
    peer().link.receive(request(1), reply)
    expect(() => made.send(notice('progress'), 1)).toThrow('its response was sent already, or is plain JSON')
    expect(reply.texts).toEqual([])
  })

  it('refuses a request whose id is in use, which the program does not get', () => {
    const { relay: made, peer, received } = relay()
    const [first, second] = [new Reply(), new Reply()]
    peer().link.receive(request(1), first)
    peer().link.receive(request(1, 'tools/list'), second)
    expect(received).toEqual([request(1)])
    expect(second.texts).toEqual([
      [
        { jsonrpc: '2.0', id: 1, error: { code: -32600, message: 'A request with this id is still in progress' } },
        true,
      ],
    ])
    made.send(result(1), undefined)
    expect(first.texts).toEqual([[result(1), true]])
    const third = new Reply()
    peer().link.receive(request(1), third)
    made.send(result(1), undefined)
    expect(third.texts).toEqual([[result(1), true]])
  })

  it('cancels a request for the client that sent it, except initialize', () => {
    const { relay: made, peer, received } = relay()
    const [mine, other] = [peer(), peer()]
    const [reply, greeting] = [new Reply(), new Reply()]
    mine.link.receive(request(1), reply)
    mine.link.receive(request(2, 'initialize'), greeting)
    other.link.receive(cancelled(1))
    expect(reply.isEnded).toBe(false)
    mine.link.receive(cancelled(2))
    expect(greeting.isEnded).toBe(false)
    mine.link.receive(cancelled(1))
    expect(reply.isEnded).toBe(true)
    // The program decides what to do with each of them.
    expect(received).toHaveLength(5)
    expect(() => made.send(result(1), undefined)).toThrow('No request with the id 1')
    made.send(result(2), undefined)
    expect(greeting.texts).toHaveLength(1)
  })

  it('tells the program that the requests of a client are cancelled which is gone, once', async () => {
    const { peer, received } = relay()
    const [mine, other] = [peer(), peer()]
    const [reply, kept] = [new Reply(), new Reply()]
    mine.link.receive(request(1), reply)
    other.link.receive(request(2), kept)
    received.length = 0
    await mine.link.close(0)
    mine.link.ended()
    expect(mine.state.isClosed).toBe(true)
    expect(received).toEqual([
      notice('notifications/cancelled', { requestId: 1, reason: 'The client closed the connection' }),
    ])
    expect([reply.isEnded, kept.isEnded]).toEqual([true, false])
  })

  it('reports an error of the program, and still takes its response', () => {
    const { relay: made, program, peer, errors } = relay()
    program.onmessage = () => {
      throw new Error('a mistake')
    }
    const reply = new Reply()
    peer().link.receive(request(1), reply)
    expect(errors.map(String)).toEqual(['Error: a mistake'])
    made.send(result(1), undefined)
    expect(reply.texts).toHaveLength(1)
  })

  it('takes over the revision that the program chose, if it exists', () => {
    const { relay: made, peer } = relay()
    const { link } = peer('session')
    const agree = (protocolVersion: string) => {
      link.receive(request(1, 'initialize'), new Reply())
      made.send(result(1, { protocolVersion }), undefined)
      return [made.revisionOf(link)?.id, link.batching]
    }
    expect(agree('2099-01-01')).toEqual([undefined, false])
    expect(agree('2025-03-26')).toEqual(['2025-03-26', true])
    expect(agree('2099-01-01')).toEqual(['2025-03-26', true])
    expect(agree('2025-11-25')).toEqual(['2025-11-25', false])
  })

  it('has no state of sessions to save or restore', () => {
    const { relay: made } = relay()
    expect(made.saveSession()).toBeUndefined()
    expect(() => made.restoreSession()).toThrow('sessionStore requires a server')
  })
})

describe('Relay and batches', () => {
  function batching() {
    const all = relay()
    const { link } = all.peer('session')
    link.receive(request(0, 'initialize'), new Reply())
    all.relay.send(result(0, { protocolVersion: '2025-03-26' }), undefined)
    return { ...all, link }
  }

  it('answers with one array when every request has its response or was cancelled', () => {
    const { relay: made, link } = batching()
    const reply = new Reply()
    link.receive([request(1), request(2), request(3)], reply)
    made.send(result(2), undefined)
    link.receive(cancelled(3))
    expect(reply.texts).toEqual([])
    made.send(result(1), undefined)
    expect(reply.texts).toHaveLength(1)
    const [answers, isLast] = reply.texts[0]!
    expect([answers, isLast, reply.isEnded]).toEqual([[result(2), result(1)], true, false])
  })

  it('ends without an answer if all of its requests were cancelled', () => {
    const { link } = batching()
    const reply = new Reply()
    link.receive([request(1)], reply)
    link.receive(cancelled(1))
    expect([reply.texts, reply.isEnded]).toEqual([[], true])
  })

  it('puts errors of requests with equal ids and of invalid members into the array', () => {
    const { relay: made, link } = batching()
    const reply = new Reply()
    link.receive([request(1), request(1), 7], reply)
    expect(reply.texts).toEqual([])
    made.send(result(1), undefined)
    const codes = (reply.texts[0]![0] as { error?: { code: number } }[]).map(({ error }) => error?.code ?? 'result')
    expect(codes).toEqual([-32600, -32600, 'result'])
  })
})

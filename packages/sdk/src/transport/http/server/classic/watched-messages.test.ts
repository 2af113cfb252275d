import { describe, expect, it } from 'vitest'
import type { RpcMessage } from '../../../../jsonrpc/message.ts'
import type { ReplyStream, Transport } from '../../../../jsonrpc/transport.ts'
import type { Endpoint, PeerLink } from '../../../../protocol/endpoint.ts'
import type { ServerTransport } from '../../../../protocol/transport.ts'
import { watchEndpoint } from './watched-endpoint.ts'
import { WatchedMessages } from './watched-messages.ts'

const response = (id: number, text = ''): RpcMessage => ({ jsonrpc: '2.0', id, result: { text } })
const log: RpcMessage = { jsonrpc: '2.0', method: 'notifications/message', params: {} }

/** A transport whose `send` a program replaced. */
function watched(send: (message: RpcMessage, options: object) => Promise<void> | void) {
  const errors: unknown[] = []
  const transport = { start: async () => {}, close: async () => {}, send } as unknown as Transport
  transport.onerror = (error) => void errors.push(error)
  return { messages: new WatchedMessages(transport), transport, errors }
}

/** Sends through a program that only collects the messages. */
function collecting() {
  const passed: { message: RpcMessage; options: object }[] = []
  const all = watched((message, options) => void passed.push({ message, options }))
  const delivered: unknown[] = []
  const send = (message: RpcMessage, client: object, name: string) =>
    all.messages.send(message, 1, client, (sent) => void delivered.push([name, sent]))
  return { ...all, passed, delivered, send }
}

describe('WatchedMessages', () => {
  it('delivers a message, or a copy with its options, to the client that it is for', () => {
    const { messages, passed, delivered, send } = collecting()
    send(response(1), {}, 'one')
    send(response(1), {}, 'two')
    expect(passed.map(({ options }) => options)).toEqual([{ relatedRequestId: 1 }, { relatedRequestId: 1 }])
    messages.deliver(passed[1]!.message, undefined)
    messages.deliver(response(1, 'copy'), passed[0]!.options)
    expect(delivered).toEqual([
      ['two', response(1)],
      ['one', response(1, 'copy')],
    ])
  })

  it('delivers a changed copy only if it can be for one client alone', () => {
    const { messages, delivered, send } = collecting()
    const [one, two] = [{}, {}]
    send(response(1), one, 'one')
    send(response(1), two, 'two')
    expect(() => messages.deliver(response(1, 'copy'), undefined)).toThrow('Cannot determine which client')
    send(response(2), one, 'one')
    send(response(2), one, 'one')
    messages.deliver(response(2, 'copy'), {})
    expect(delivered).toEqual([['one', response(2, 'copy')]])
    expect(messages.deliverKnown(response(3), undefined)).toBe(false)
  })

  it('recognises copies of batches and of progress by what identifies them', () => {
    const { messages, delivered } = collecting()
    const batch = [response(1), response(2)]
    const progress = (progressToken: string): RpcMessage => ({
      ...log,
      method: 'notifications/progress',
      params: { progressToken },
    })
    messages.send(batch, undefined, {}, () => void delivered.push('batch'))
    messages.send(progress('a'), undefined, {}, () => void delivered.push('a'))
    messages.send(progress('b'), undefined, {}, () => void delivered.push('b'))
    messages.deliver(progress('b'), undefined)
    messages.deliver([response(1, 'changed'), response(2)], undefined)
    expect(() => messages.deliver([response(2), response(1)], undefined)).toThrow('Cannot determine which client')
    expect(delivered).toEqual(['b', 'batch'])
  })

  it('forgets a message that the program has sent', async () => {
    const { messages } = watched(async () => {})
    messages.send(response(1), 1, {}, () => {})
    await Promise.resolve()
    await Promise.resolve()
    expect(messages.deliverKnown(response(1, 'copy'), undefined)).toBe(false)
  })

  it.each(['throws', 'rejects'])('answers with an error if the send of the program %s', async (how) => {
    const { messages, errors } = watched(() => {
      if (how === 'throws') throw new Error('cannot send')
      return Promise.reject(new Error('cannot send'))
    })
    const delivered: unknown[] = []
    for (const message of [response(1), log, [response(2)]])
      messages.send(message, 1, {}, (sent) => void delivered.push(sent))
    await new Promise((resolve) => setImmediate(resolve))
    expect(delivered).toEqual([{ jsonrpc: '2.0', id: 1, error: { code: -32603, message: 'Internal error' } }])
    expect(errors.map(String)).toEqual(Array(3).fill('Error: cannot send'))
  })

  it('sends no error after a response that the program sent before it failed', async () => {
    const all = watched(async (message, options) => {
      all.messages.deliver(message, options)
      throw new Error('too late')
    })
    const delivered: unknown[] = []
    all.messages.send(response(1), 1, {}, (sent) => void delivered.push(sent))
    await new Promise((resolve) => setImmediate(resolve))
    expect(delivered).toEqual([response(1)])
    expect(all.errors.map(String)).toEqual(['Error: too late'])
  })

  it('takes received messages back from the program: the same, a copy with its stream, or a copy at once', () => {
    const { messages, transport } = watched(() => {})
    const entered: unknown[] = []
    const receive = (value: unknown, stream?: ReplyStream) =>
      messages.receive(value, stream, (changed) => void entered.push(changed))
    const stream: ReplyStream = { sendText: () => true, end: () => {} }
    const kept: unknown[] = []
    transport.onmessage = (message) => void kept.push(message)
    receive(response(1))
    expect(messages.enter(kept[0], undefined)).toBe(true)
    receive(response(2), stream)
    expect(messages.enter('copy', stream)).toBe(true)
    transport.onmessage = () => void messages.enter('copy at once', undefined)
    receive('text')
    expect(entered).toEqual([response(1), 'copy', 'copy at once'])
    expect(messages.enter(response(4), undefined)).toBe(false)
    transport.onmessage = () => {
      throw new Error('a mistake')
    }
    expect(() => receive('text')).toThrow('a mistake')
    expect(messages.enter('later', undefined)).toBe(false)
  })

  it('knows whether the program watches', () => {
    const { messages, transport } = watched(() => {})
    messages.started()
    expect(messages.watchesReceive).toBe(false)
    transport.onmessage = () => {}
    expect(messages.watchesReceive).toBe(true)
    messages.startedWith(transport.onmessage)
    expect(messages.watchesReceive).toBe(false)
  })
})

describe('watchEndpoint', () => {
  /** An endpoint that keeps what it got, and a client behind it. */
  function endpoint(watcher: Partial<Parameters<typeof watchEndpoint>[1]>) {
    const received: unknown[] = []
    let server!: ServerTransport
    const link = { receive: (...args: unknown[]) => void received.push(args) } as unknown as PeerLink
    const attach = (transport: ServerTransport) => {
      server = transport
      return link
    }
    const calls: unknown[] = []
    const peer: ServerTransport = {
      sessionId: 'session',
      principal: 'alice',
      start: async () => {},
      send: () => {},
      sendText: (text: string) => void calls.push(['sendText', text]),
      disconnect: (retryMs: number) => void calls.push(['disconnect', retryMs]),
      close: async () => void calls.push(['close']),
    }
    const seen: unknown[] = []
    const watching = {
      watchesSend: false,
      watchesReceive: false,
      send: (message: unknown, id: unknown, route: unknown, deliver: (message: never) => void) => {
        seen.push([message, id, route])
        deliver(message as never)
      },
      receive: (value: unknown, _: unknown, deliver: (value: unknown) => void) => deliver({ changed: value }),
      ...watcher,
    }
    const attached = watchEndpoint({ attach } as unknown as Endpoint, watching).attach(peer)
    return { received, server, calls, seen, peer, attached }
  }

  it('passes everything on directly if no program watches', async () => {
    const { server, calls, seen, received, attached } = endpoint({})
    expect([server.sessionId, server.principal]).toEqual(['session', 'alice'])
    server.send(log)
    server.disconnect!(250)
    await server.close()
    expect(calls).toEqual([['sendText', JSON.stringify(log)], ['disconnect', 250], ['close']])
    expect(seen).toEqual([])
    const stream = { sendText: () => true, end: () => {} }
    attached.receive(log, stream, 'notification')
    expect(received).toEqual([[log, stream, 'notification']])
  })

  it('passes messages that belong to no request through the program', () => {
    const { server, calls, seen, peer } = endpoint({ watchesSend: true })
    server.sendText!(JSON.stringify(log))
    expect(seen).toEqual([[log, undefined, peer]])
    expect(calls).toEqual([['sendText', JSON.stringify(log)]])
  })

  it('passes messages of a request through the program, and is closed to them if it has no stream', () => {
    const { received, seen, attached } = endpoint({ watchesSend: true, watchesReceive: true })
    const sent: unknown[] = []
    let canBegin = true
    const stream = {
      sendText: (...args: unknown[]) => sent.push(args) > 0,
      begin: () => canBegin,
      end: () => void sent.push('end'),
      disconnect: (retryMs: number) => void sent.push(retryMs),
      era: 'handshake',
      assumedRevision: '2025-03-26',
    }
    const request = { jsonrpc: '2.0', id: 5, method: 'ping' }
    attached.receive(request, stream as never)
    const [value, reply] = received[0] as [unknown, typeof stream & { sendPrepared(...args: unknown[]): boolean }]
    expect(value).toEqual({ changed: request })
    expect([reply.era, reply.assumedRevision]).toEqual(['handshake', '2025-03-26'])
    expect(reply.sendText(JSON.stringify(log), false)).toBe(true)
    canBegin = false
    expect(reply.sendText(JSON.stringify(log), false)).toBe(false)
    expect(reply.sendPrepared(5, {})).toBe(false)
    const failure = { jsonrpc: '2.0', id: 5, error: { code: -32603, message: 'Internal error' } }
    expect(reply.sendText(JSON.stringify(failure), true)).toBe(true)
    reply.disconnect(250)
    reply.end()
    expect(sent).toEqual([
      [JSON.stringify(log), false, undefined],
      [JSON.stringify(failure), true, failure.error],
      250,
      'end',
    ])
    expect(seen).toEqual([
      [log, 5, stream],
      [failure, 5, stream],
    ])
  })
})

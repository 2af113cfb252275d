import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { EventSink, HttpCall } from '../call.ts'
import type { RawEventStore, RawHttpOptions } from './options.ts'
import { RawStreams } from './streams.ts'

class Sink implements EventSink {
  text = ''
  waiting = 0
  state = 'open'

  write(text: string): void {
    this.text += text
  }

  drained(): undefined {}

  end(): void {
    this.state = 'ended'
  }

  destroy(): void {
    this.state = 'destroyed'
  }
}

/** Connects a stream. `leave` is what the HTTP server calls when the client disconnects. */
function connect(streams: RawStreams, id: string, replayed?: ReadonlySet<string>) {
  const sink = new Sink()
  let leave = () => {}
  const call = {
    onClose: (listener: () => void) => {
      leave = listener
    },
  } as HttpCall
  streams.connect(id, call, sink, replayed)
  return { sink, leave: () => leave() }
}

/** A store whose events get their ids only when `resolve` is called. */
function slowStore() {
  const stored: { message: object; resolve(id: string): void; reject(error: Error): void }[] = []
  const eventStore: RawEventStore = {
    storeEvent: (_, message) => new Promise((resolve, reject) => void stored.push({ message, resolve, reject })),
    replayEventsAfter: async () => '',
  }
  return { eventStore, stored }
}

const comment = ': keepalive\n\n'

describe('Comments on the streams of a RawHttpTransport', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it('are sent on every stream, until the last one is gone', () => {
    const streams = new RawStreams({ keepAliveMs: 1_000 })
    const [one, two] = [connect(streams, 'one'), connect(streams, 'two')]
    expect(vi.getTimerCount()).toBe(1)
    vi.advanceTimersByTime(1_000)
    expect([one.sink.text, two.sink.text]).toEqual([comment, comment])
    one.leave()
    vi.advanceTimersByTime(1_000)
    expect([one.sink.text, two.sink.text]).toEqual([comment, comment + comment])
    streams.disconnect('two')
    expect(vi.getTimerCount()).toBe(0)
    const three = connect(streams, 'three')
    vi.advanceTimersByTime(1_000)
    expect(three.sink.text).toBe(comment)
  })

  it('are sent every 15 seconds by default', () => {
    const { sink } = connect(new RawStreams({}), 'one')
    vi.advanceTimersByTime(14_999)
    expect(sink.text).toBe('')
    vi.advanceTimersByTime(1)
    expect(sink.text).toBe(comment)
  })

  it.each([0, -1, 0.5, Number.POSITIVE_INFINITY, Number.NaN])('are not sent with keepAliveMs %d', (keepAliveMs) => {
    connect(new RawStreams({ keepAliveMs }), 'one')
    expect(vi.getTimerCount()).toBe(0)
  })

  it('are sent as often as allowed with keepAliveMs 1, and rarely with one that no timer can have', () => {
    const often = connect(new RawStreams({ keepAliveMs: 1 }), 'one')
    vi.advanceTimersByTime(1)
    expect(often.sink.text).toBe(comment)
    vi.clearAllTimers()
    const rarely = connect(new RawStreams({ keepAliveMs: 2 ** 40 }), 'one')
    // Node.js fires a timer with a longer interval at once.
    vi.advanceTimersByTime(60_000)
    expect(rarely.sink.text).toBe('')
  })
})

describe('A stream of a RawHttpTransport', () => {
  const open = (options: RawHttpOptions = {}) => new RawStreams({ keepAliveMs: 0, ...options })

  it('has one connection: another one ends the first, whose late end does not end the second', () => {
    const streams = open()
    const first = connect(streams, 'one')
    const second = connect(streams, 'one')
    expect(first.sink.state).toBe('ended')
    first.leave()
    streams.send('one', '1')
    expect([first.sink.text, second.sink.text]).toEqual(['', 'event: message\ndata: 1\n\n'])
    second.leave()
    expect(streams.isConnected('one')).toBe(false)
    streams.send('one', '2')
    expect(second.sink.text).not.toContain('2')
  })

  it('is cut if the client has not read 64 MiB', () => {
    const streams = open()
    const { sink } = connect(streams, 'one')
    sink.waiting = 64 * 1024 * 1024
    streams.send('one', '1')
    expect([sink.state, sink.text]).toEqual(['open', 'event: message\ndata: 1\n\n'])
    sink.waiting++
    streams.send('one', '2')
    expect([sink.state, sink.text, streams.isConnected('one')]).toEqual([
      'destroyed',
      'event: message\ndata: 1\n\n',
      false,
    ])
  })

  it('that connects after the transport closed ends at once', () => {
    const streams = open()
    const before = connect(streams, 'one')
    streams.close()
    const after = connect(streams, 'two')
    expect([before.sink.state, after.sink.state]).toEqual(['ended', 'ended'])
    expect([streams.isConnected('one'), streams.isConnected('two')]).toEqual([false, false])
  })

  it('tells the client when to reconnect', () => {
    const streams = open()
    const { sink } = connect(streams, 'one')
    streams.sendRetry('one', 250)
    expect(sink.text).toBe('retry: 250\n\n')
  })

  it('begins with an event that has no data, from which it can be resumed [SSE-019]', async () => {
    const { eventStore, stored } = slowStore()
    for (const [retryMs, line] of [
      [250, 'retry: 250\n'],
      [undefined, ''],
    ] as const) {
      const streams = open({ eventStore, retryMs })
      const prepared = streams.prepare('one')
      stored.pop()!.resolve('a')
      const sendFirst = await prepared
      const { sink } = connect(streams, 'one')
      expect(streams.isResumable('one')).toBe(false)
      sendFirst()
      expect(sink.text).toBe(`id: a\n${line}data: \n\n`)
      expect(streams.isResumable('one')).toBe(true)
    }
  })

  it('keeps the order of its events, although the store is slow, and does not wait for other streams', async () => {
    const { eventStore, stored } = slowStore()
    const streams = open({ eventStore })
    const { sink } = connect(streams, 'one')
    const other = connect(streams, 'two')
    const sent = [streams.send('one', '1'), streams.send('one', '2'), streams.send('two', '3')]
    await Promise.resolve()
    expect(stored.map(({ message }) => message)).toEqual([1, 3])
    stored[1]!.resolve('c')
    await sent[2]
    expect(other.sink.text).toBe('event: message\nid: c\ndata: 3\n\n')
    stored[0]!.reject(new Error('full'))
    await expect(sent[0]).rejects.toThrow('full')
    await vi.waitFor(() => expect(stored).toHaveLength(3))
    stored[2]!.resolve('b')
    await sent[1]
    expect(sink.text).toBe('event: message\nid: b\ndata: 2\n\n')
    expect(streams.isResumable('one')).toBe(true)
  })

  it('gets an event once that was replayed before the store returned its id', async () => {
    const { eventStore, stored } = slowStore()
    const streams = open({ eventStore })
    const sent = streams.send('one', '1')
    await Promise.resolve()
    const { sink } = connect(streams, 'one', new Set(['a']))
    expect(streams.isResumable('one')).toBe(true)
    stored[0]!.resolve('a')
    await sent
    expect(sink.text).toBe('')
  })

  it('can be resumed once the client knows an event, until it is complete or the transport closes', async () => {
    const eventStore: RawEventStore = { ...slowStore().eventStore, storeEvent: async () => 'a' }
    const streams = open({ eventStore })
    await streams.send('one', '1')
    expect(streams.isResumable('one')).toBe(false)
    const { sink } = connect(streams, 'one')
    await streams.send('one', '2')
    streams.disconnect('one')
    expect([sink.state, streams.isResumable('one')]).toEqual(['ended', true])
    streams.complete('one')
    expect(streams.isResumable('one')).toBe(false)
    connect(streams, 'two', new Set())
    streams.close()
    expect(streams.isResumable('two')).toBe(false)
  })
})

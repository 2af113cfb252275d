import { describe, expect, it, vi } from 'vitest'
import { MemoryEventStore } from '../../../../store/memory/events.ts'
import type { EventStore } from '../../../../store/ports.ts'
import type { EventSink } from '../call.ts'
import { EventStream, type SendEvent } from './event-stream.ts'

/** A connection whose client reads only when told to. */
class Sink implements EventSink {
  text = ''
  waiting = 0
  state = 'open'
  /** Set to let `drained` wait. */
  reading: Promise<void> | undefined

  write(text: string): void {
    this.text += text
  }

  drained(): Promise<void> | undefined {
    return this.reading
  }

  end(): void {
    this.state = 'ended'
  }

  destroy(): void {
    this.state = 'destroyed'
  }
}

function open(store?: EventStore, maxQueuedBytes = 100) {
  const sink = new Sink()
  const unread = vi.fn()
  const errors: unknown[] = []
  const options = { maxQueuedBytes, onUnread: unread, reportError: (error: unknown) => void errors.push(error) }
  return { sink, unread, errors, stream: new EventStream('session/node.1', sink, store, options) }
}

/** A store whose answers wait, as those of a remote one do. */
function slowStore() {
  const answers: { message: unknown; resolve(id: string): void; reject(error: Error): void }[] = []
  const store: EventStore = {
    storeEvent: (_, message) => new Promise((resolve, reject) => void answers.push({ message, resolve, reject })),
    replayEventsAfter: async () => undefined as never,
  }
  return { store, answers }
}

const settled = () => new Promise((resolve) => setImmediate(resolve))

describe('EventStream', () => {
  it('sends events without ids if it has no store, and is not primed', () => {
    const { stream, sink } = open()
    stream.prime()
    expect(sink.text).toBe('')
    stream.send('{"a":1}')
    expect(sink.text).toBe('event: message\ndata: {"a":1}\n\n')
    expect([stream.resumable, stream.connected, stream.ended]).toEqual([false, true, false])
  })

  it('is primed with an event that has an id and no data if it has a store [SSE-019]', () => {
    const { stream, sink } = open(new MemoryEventStore())
    stream.prime()
    expect(sink.text).toMatch(/^id: \S+\ndata: \n\n$/)
    expect(stream.resumable).toBe(true)
  })

  it('stores and sends nothing after its end', () => {
    const store = new MemoryEventStore()
    const { stream, sink, unread } = open(store)
    stream.end()
    stream.send('late')
    expect([sink.text, sink.state, store.usage.events]).toEqual(['', 'ended', 0])
    stream.end()
    expect(unread).toHaveBeenCalledTimes(1)
  })

  it('sends events in the order in which they were sent, although the store answers later', async () => {
    const { store, answers } = slowStore()
    const { stream, sink } = open(store)
    stream.send('1')
    stream.send('2')
    stream.end()
    expect(answers.map(({ message }) => message)).toEqual(['1'])
    expect(sink.state).toBe('open')
    answers[0]!.resolve('a')
    await settled()
    answers[1]!.resolve('b')
    await settled()
    expect(sink.text).toBe('event: message\nid: a\ndata: 1\n\nevent: message\nid: b\ndata: 2\n\n')
    expect(sink.state).toBe('ended')
  })

  it.each(['rejects', 'throws'])('sends an event without an id if the store %s, and reports the error', async (how) => {
    const failing = () => {
      if (how === 'throws') throw new Error('full')
      return Promise.reject(new Error('full'))
    }
    const { stream, sink, errors } = open({ ...slowStore().store, storeEvent: failing })
    stream.prime()
    stream.send('1')
    await settled()
    expect(sink.text).toBe('event: message\ndata: 1\n\n')
    expect(errors.map(String)).toEqual(['Error: full', 'Error: full'])
  })

  it('tells the client when to come back before it ends the connection, and does not end itself [SSE-021]', async () => {
    const { store, answers } = slowStore()
    const { stream, sink, unread } = open(store)
    stream.send('1')
    stream.disconnect(250)
    expect(sink.text).toBe('')
    answers[0]!.resolve('a')
    await settled()
    expect(sink.text).toBe('event: message\nid: a\ndata: 1\n\nretry: 250\n\n')
    expect([sink.state, stream.connected, stream.ended]).toEqual(['ended', false, false])
    expect(unread).toHaveBeenCalledWith(stream)
  })

  it('cuts a client that is further behind than allowed, and not one that is exactly as far behind', () => {
    const { stream, sink, unread } = open()
    sink.waiting = 100
    stream.send('1')
    expect(sink.state).toBe('open')
    sink.waiting = 101
    stream.send('2')
    expect([sink.state, stream.connected]).toEqual(['destroyed', false])
    expect(unread).toHaveBeenCalledTimes(1)
    stream.hangUp()
    expect(unread).toHaveBeenCalledTimes(1)
  })

  it('loses only its current connection', () => {
    const { stream, sink, unread } = open()
    stream.lost(new Sink())
    expect([stream.connected, unread.mock.calls.length]).toEqual([true, 0])
    stream.lost(sink)
    expect([stream.connected, unread.mock.calls.length]).toEqual([false, 1])
    stream.send('nobody reads it')
    stream.keepAlive()
    expect(sink.text).toBe('')
  })
})

describe('EventStream that is resumed', () => {
  /** Resumes on another connection. The replay waits until `finish`. */
  function resumed(maxQueuedBytes = 100) {
    const opened = open(undefined, maxQueuedBytes)
    const sink = new Sink()
    let finish!: () => void
    let send!: SendEvent
    const replayed = new Promise<void>((resolve) => {
      finish = resolve
    })
    const done = opened.stream.resume(sink, (sendEvent) => {
      send = sendEvent
      return replayed
    })
    return { ...opened, first: opened.sink, sink, finish, send, done }
  }

  it('ends the earlier connection, and sends replayed events before those sent meanwhile [SSE-016]', async () => {
    const { stream, first, sink, finish, send, done } = resumed()
    expect(first.state).toBe('ended')
    stream.send('new')
    await send('a', '')
    await send('b', 'old')
    finish()
    await done
    stream.send('newest')
    const texts = sink.text.match(/data: \w+/g)
    expect(texts).toEqual(['data: old', 'data: new', 'data: newest'])
    expect(sink.text).not.toContain('id: a')
  })

  it('sends nothing more on a connection that another one replaced', async () => {
    const { stream, sink, finish, send, done } = resumed()
    const second = new Sink()
    const again = stream.resume(second, async () => {})
    await send('a', 'old')
    finish()
    await Promise.all([done, again])
    expect([sink.text, sink.state]).toEqual(['', 'ended'])
    stream.send('new')
    expect(second.text).toContain('data: new')
  })

  it('keeps events back for a second replay that the end of the first must not cut short', async () => {
    const { stream, finish, done } = resumed()
    const second = new Sink()
    let finishSecond!: () => void
    const replayed = new Promise<void>((resolve) => {
      finishSecond = resolve
    })
    const again = stream.resume(second, () => replayed)
    finish()
    await done
    stream.send('new')
    expect(second.text).toBe('')
    stream.end()
    expect(second.state).toBe('open')
    finishSecond()
    await again
    expect([second.text, second.state]).toEqual(['event: message\ndata: new\n\n', 'ended'])
  })

  it('ends after the replay if it ended meanwhile', async () => {
    const { stream, sink, finish, send, done } = resumed()
    stream.end()
    expect(sink.state).toBe('open')
    await send('a', 'old')
    finish()
    await done
    expect([sink.text, sink.state]).toEqual(['event: message\nid: a\ndata: old\n\n', 'ended'])
  })

  it('sends comments during a replay only if the client has read everything', () => {
    const { stream, sink } = resumed()
    sink.waiting = 1
    stream.keepAlive()
    expect(sink.text).toBe('')
    sink.waiting = 0
    stream.keepAlive()
    expect(sink.text).toBe(':\n\n')
  })

  it('cuts a client that does not read while more events queue than allowed', async () => {
    const { stream, sink, finish, done, unread } = resumed(10)
    stream.send('x'.repeat(10))
    expect(sink.state).toBe('open')
    stream.send('y')
    expect([sink.state, stream.connected, unread.mock.calls.length]).toEqual(['destroyed', false, 1])
    finish()
    await done
    expect(sink.text).toBe('')
  })

  it('counts queued events of one replay only', async () => {
    const { stream, finish, done } = resumed(10)
    stream.send('x'.repeat(10))
    const second = new Sink()
    const again = stream.resume(second, async () => {})
    stream.send('y'.repeat(10))
    finish()
    await Promise.all([done, again])
    expect([second.state, second.text]).toEqual(['open', `event: message\ndata: ${'y'.repeat(10)}\n\n`])
  })

  it('does not cut a client that is gone already', async () => {
    const { stream, sink, finish, done, unread } = resumed(10)
    stream.lost(sink)
    stream.send('x'.repeat(11))
    expect([sink.state, unread.mock.calls.length]).toEqual(['open', 1])
    finish()
    await done
  })
})

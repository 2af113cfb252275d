import { describe, expect, it } from 'vitest'
import { busContract } from '../../testing/store-contracts/bus.ts'
import { eventStoreContract } from '../../testing/store-contracts/event-store.ts'
import { sessionStoreContract } from '../../testing/store-contracts/session-store.ts'
import { valueStoreContract } from '../../testing/store-contracts/value-store.ts'
import { type Bus, type EventStore, type SessionStore, UnknownEventError } from '../ports.ts'
import { MemoryBus } from './bus.ts'
import { MemoryEventStore } from './events.ts'
import { MemorySessionStore } from './sessions.ts'
import { MemoryValueStore } from './values.ts'

const runner = { describe, it, expect }
let time = 1_700_000_000_000
const now = () => time
const advance = (ms: number) => {
  time += ms
}

eventStoreContract(runner, 'MemoryEventStore', { open: () => new MemoryEventStore() })
sessionStoreContract(runner, 'MemorySessionStore', { open: () => new MemorySessionStore({ now }), advance })
valueStoreContract(runner, 'MemoryValueStore', { open: () => new MemoryValueStore({ now }), advance })
busContract(runner, 'MemoryBus', { open: () => new MemoryBus(), close: (bus) => bus.close?.() })

// The suites must also work with asynchronous drivers, and with stores that do not implement `forget`.
eventStoreContract(runner, 'An asynchronous event store', {
  open: async () => later(new MemoryEventStore()),
  forgets: false,
})
sessionStoreContract(runner, 'An asynchronous session store', {
  open: async () => laterSessions(new MemorySessionStore({ now })),
  advance: async (ms) => advance(ms),
})
busContract(runner, 'A two-ended bus', { open: () => laterBus(new MemoryBus()), join: async (bus) => laterBus(bus) })

describe('MemoryValueStore', () => {
  it('drops the oldest values at maxValues and at maxBytes', () => {
    const few = new MemoryValueStore({ maxValues: 2 })
    for (const key of ['a', 'b', 'a', 'c']) few.set(key, 'x', 60_000)
    expect(['a', 'b', 'c'].map((key) => few.get(key))).toEqual(['x', undefined, 'x'])
    const small = new MemoryValueStore({ maxBytes: 100 })
    for (const key of ['a', 'b', 'c']) small.set(key, 'x'.repeat(20), 60_000)
    expect(['a', 'b', 'c'].map((key) => small.get(key)?.length)).toEqual([undefined, 20, 20])
    small.set('d', 'x'.repeat(100), 60_000)
    expect(small.usage).toEqual({ values: 0, bytes: 0 })
  })

  it('drops expired values even if they are never read', () => {
    const store = new MemoryValueStore({ now })
    for (let index = 0; index < 5_000; index++) {
      store.set(`k${index}`, 'x', 1_000)
      advance(10)
    }
    expect(store.usage.values).toBeLessThan(1_200)
    for (let index = 0; index < 5_000; index++) store.delete(`k${index}`)
    expect(store.usage).toEqual({ values: 0, bytes: 0 })
  })
})

describe('MemoryEventStore', () => {
  it('replays synchronously unless the receiver is asynchronous', async () => {
    const store = new MemoryEventStore()
    const id = store.storeEvent('a/1', '')
    store.storeEvent('a/1', '"one"')
    expect(id).toMatch(/^a\/1\/\d+$/)
    expect(store.replayEventsAfter(id, { send: () => {} })).toBe('a/1')
    const waiting = store.replayEventsAfter(id, { send: async () => {} })
    expect(waiting).toBeInstanceOf(Promise)
    expect(await waiting).toBe('a/1')
  })

  it('throws synchronously for an unknown event, with the id in the error', () => {
    const store = new MemoryEventStore()
    expect(() => store.replayEventsAfter('a/1/7', { send: () => {} })).toThrow(UnknownEventError)
    expect(() => store.replayEventsAfter('a/1/7', { send: () => {} })).toThrow(
      expect.objectContaining({ eventId: 'a/1/7', code: 'invalid-argument' }),
    )
  })

  it('drops the oldest event overall at maxEvents and replays the rest without a gap', () => {
    const store = new MemoryEventStore({ maxEvents: 4 })
    const ids = ['a', 'b', 'a', 'b', 'a'].map((streamId, index) => store.storeEvent(streamId, `${index}`))
    expect(store.usage).toEqual({ streams: 2, events: 4, bytes: 8 })
    expect(ids.map((id) => replayed(store, id))).toEqual(['unknown', ['3'], ['4'], [], []])
  })

  it('drops the oldest event of a stream at maxEventsPerStream and no events of other streams', () => {
    const store = new MemoryEventStore({ maxEventsPerStream: 2 })
    const ids = ['a', 'b', 'a', 'a', 'b'].map((streamId, index) => store.storeEvent(streamId, `${index}`))
    expect(ids.map((id) => replayed(store, id))).toEqual(['unknown', ['4'], ['3'], [], []])
  })

  it('drops the oldest events overall at maxBytes', () => {
    const store = new MemoryEventStore({ maxBytes: 20 })
    const ids = ['12345', '12', '', '1234'].map((text) => store.storeEvent('a', text))
    expect(store.usage).toEqual({ streams: 1, events: 3, bytes: 12 })
    expect(ids.map((id) => replayed(store, id))).toEqual(['unknown', ['', '1234'], ['1234'], []])
  })

  it('does not store a message larger than maxBytes, does not replay across it, and keeps other streams', () => {
    const store = new MemoryEventStore({ maxBytes: 20 })
    const other = store.storeEvent('b', '1')
    const before = store.storeEvent('a', '2')
    const large = store.storeEvent('a', 'x'.repeat(11))
    const after = store.storeEvent('a', '3')
    store.storeEvent('a', '4')
    expect([other, before, large, after].map((id) => replayed(store, id))).toEqual([[], 'unknown', 'unknown', ['4']])
  })

  it('drops events older than maxAgeMs on the next use of any kind', () => {
    const store = new MemoryEventStore({ maxAgeMs: 1000, now })
    const old = store.storeEvent('a', '1')
    advance(600)
    const young = store.storeEvent('a', '2')
    expect(replayed(store, old)).toEqual(['2'])
    advance(400)
    expect(replayed(store, old)).toBe('unknown')
    expect(replayed(store, young)).toEqual([])
    advance(600)
    store.forget('nothing')
    expect(store.usage).toEqual({ streams: 0, events: 0, bytes: 0 })
    store.storeEvent('b', '3')
    advance(1000)
    store.storeEvent('c', '4')
    expect(store.usage.streams).toBe(1)
  })

  it('frees the memory of empty streams and never reuses their ids [SSE-013]', () => {
    const store = new MemoryEventStore({ maxEvents: 3 })
    const ids = Array.from({ length: 50 }, (_, index) => store.storeEvent(`s${index % 10}/get`, 'x'))
    expect(new Set(ids).size).toBe(50)
    expect(store.usage).toEqual({ streams: 3, events: 3, bytes: 6 })
    for (const session of ['s7', 's8', 's9/get']) store.forget(session)
    expect(store.usage).toEqual({ streams: 0, events: 0, bytes: 0 })
  })

  it('stays consistent for any order of stored and dropped events', () => {
    const store = new MemoryEventStore({ maxEvents: 40, maxEventsPerStream: 12, maxBytes: 400 })
    const told = new Map<string, Array<{ id: string; text: string }>>()
    let seed = 7
    const random = (below: number) => {
      seed = (seed * 48271) % 2147483647
      return seed % below
    }
    for (let round = 0; round < 3000; round++) {
      const streamId = `s${random(3)}/${random(4)}`
      const text = 'x'.repeat(random(15))
      const stream = told.get(streamId) ?? []
      told.set(streamId, stream)
      stream.push({ id: store.storeEvent(streamId, text), text })
      if (random(40) === 0) store.forget(random(2) ? streamId : streamId.slice(0, 2))
    }
    let events = 0
    for (const stream of told.values()) {
      const known = stream.map(({ id }) => replayed(store, id))
      const first = known.findIndex((rest) => rest !== 'unknown')
      if (first < 0) continue
      events += stream.length - first
      for (let index = first; index < stream.length; index++) {
        expect(known[index]).toEqual(stream.slice(index + 1).map(({ text }) => text))
      }
    }
    expect(events).toBe(store.usage.events)
    for (const session of ['s0', 's1', 's2']) store.forget(session)
    expect(store.usage).toEqual({ streams: 0, events: 0, bytes: 0 })
  })

  it('does not accept an event id from before a restart', () => {
    const before = new MemoryEventStore({ now })
    const old = before.storeEvent('a', '1')
    advance(1)
    const after = new MemoryEventStore({ now })
    for (let count = 0; count < 5; count++) after.storeEvent('a', 'x')
    expect(replayed(after, old)).toBe('unknown')
  })

  it('refuses an event id with a non-canonical number', () => {
    const store = new MemoryEventStore({ now: () => 0 })
    expect(store.storeEvent('a', '1')).toBe('a/1')
    for (const id of ['a/01', 'a/1.0', 'a/+1', 'a/ 1', 'a/1e0', 'a/0x1', 'a/NaN', 'a/Infinity', 'a/-1', 'a/0']) {
      expect(replayed(store, id)).toBe('unknown')
    }
  })

  it('fails instead of leaving a gap when events are dropped during a slow replay', async () => {
    const store = new MemoryEventStore({ maxEventsPerStream: 3 })
    const first = store.storeEvent('a', '0')
    store.storeEvent('a', '1')
    store.storeEvent('a', '2')
    const sent: unknown[] = []
    const send = async (_id: string, message: unknown) => {
      sent.push(message)
      if (message === '1') for (const text of ['3', '4', '5']) store.storeEvent('a', text)
    }
    await expect(store.replayEventsAfter(first, { send })).rejects.toThrow(UnknownEventError)
    expect(sent).toEqual(['1'])
  })

  it('terminates when the receiver stores events during a replay', () => {
    const store = new MemoryEventStore()
    const first = store.storeEvent('a', '0')
    store.storeEvent('a', '1')
    const sent: unknown[] = []
    const send = (_id: string, message: unknown) => {
      sent.push(message)
      store.storeEvent('a', 'more')
    }
    expect(store.replayEventsAfter(first, { send })).toBe('a')
    expect(sent).toEqual(['1'])
  })

  it('stores a copy of a message, so later changes to the object do not matter', () => {
    const store = new MemoryEventStore()
    const first = store.storeEvent('a', '')
    const message = { method: 'x' }
    store.storeEvent('a', message)
    message.method = 'changed'
    expect(replayed(store, first)).toEqual([{ method: 'x' }])
    expect(() => store.storeEvent('a', undefined)).toThrow('JSON value')
  })
})

describe('MemorySessionStore', () => {
  it('drops the least recently used session at maxSessions', () => {
    const store = new MemorySessionStore({ maxSessions: 3 })
    for (const id of ['one', 'two', 'three']) store.set({ id, state: null, createdAt: 0 }, 60_000)
    store.touch('one', 60_000)
    store.set({ id: 'two', state: 'again', createdAt: 0 }, 60_000)
    store.set({ id: 'four', state: null, createdAt: 0 }, 60_000)
    expect(['one', 'two', 'three', 'four'].filter((id) => store.get(id))).toEqual(['one', 'two', 'four'])
    expect(store.size).toBe(3)
  })

  it('frees the memory of expired sessions when the next one is set', () => {
    const store = new MemorySessionStore({ now })
    for (let index = 0; index < 100; index++) store.set({ id: `${index}`, state: null, createdAt: 0 }, 1000)
    advance(500)
    store.touch('50', 1000)
    advance(500)
    expect(store.size).toBe(100)
    store.set({ id: 'next', state: null, createdAt: 0 }, 1000)
    expect(store.size).toBe(2)
  })
})

describe('MemoryBus', () => {
  it('notifies listeners before publish returns', () => {
    const bus = new MemoryBus()
    const heard: string[] = []
    bus.subscribe('topic', (message) => heard.push(message))
    bus.publish('topic', 'one')
    expect(heard).toEqual(['one'])
  })

  it('continues after a listener throws, and reports the error', () => {
    const errors: unknown[] = []
    const bus = new MemoryBus({ onError: (error) => errors.push(error) })
    const failure = new Error('bad listener')
    const heard: string[] = []
    bus.subscribe('topic', () => {
      throw failure
    })
    bus.subscribe('topic', (message) => heard.push(message))
    bus.publish('topic', 'one')
    bus.publish('topic', 'two')
    expect(heard).toEqual(['one', 'two'])
    expect(errors).toEqual([failure, failure])
  })

  it('allows listeners to subscribe and unsubscribe during a notification', () => {
    const bus = new MemoryBus()
    const heard: string[] = []
    bus.subscribe('topic', () => {
      stop()
      bus.subscribe('topic', (message) => heard.push(`new ${message}`))
    })
    const stop = bus.subscribe('topic', (message) => heard.push(`old ${message}`))
    bus.publish('topic', 'one')
    expect(heard).toEqual([])
    bus.publish('topic', 'two')
    expect(heard).toEqual(['new two'])
  })

  it('notifies no listener after close', () => {
    const bus = new MemoryBus()
    const heard: string[] = []
    const stop = bus.subscribe('topic', (message) => heard.push(message))
    bus.close()
    bus.publish('topic', 'one')
    stop()
    expect(heard).toEqual([])
  })
})

function replayed(store: MemoryEventStore, id: string): unknown[] | 'unknown' {
  const messages: unknown[] = []
  try {
    store.replayEventsAfter(id, { send: (_id, message) => void messages.push(message) })
  } catch (error) {
    if (error instanceof UnknownEventError) return 'unknown'
    throw error
  }
  return messages
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

function later(store: EventStore): EventStore {
  return {
    storeEvent: async (streamId, message) => {
      await turn()
      return store.storeEvent(streamId, message)
    },
    replayEventsAfter: async (id, to) => {
      await turn()
      return store.replayEventsAfter(id, to)
    },
  }
}

function laterSessions(store: SessionStore): SessionStore {
  return {
    get: (id) => turn().then(() => store.get(id)),
    set: (record, ttlMs) => {
      const copy = structuredClone(record)
      return turn().then(() => store.set(copy, ttlMs))
    },
    touch: (id, ttlMs) => turn().then(() => store.touch(id, ttlMs)),
    delete: (id) => turn().then(() => store.delete(id)),
  }
}

/** Another end of a bus, at which every message arrives one turn of the event loop later. */
function laterBus(bus: Bus): Bus {
  return {
    publish: (topic, message) => turn().then(() => bus.publish(topic, message)),
    subscribe: async (topic, listener) => {
      let isOn = true
      const stop = await bus.subscribe(topic, (message) => void turn().then(() => isOn && listener(message)))
      return () => {
        isOn = false
        stop()
      }
    },
  }
}

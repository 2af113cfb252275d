import {
  type Bus,
  type EventStore,
  type SessionRecord,
  type SessionStore,
  UnknownEvent,
  type ValueStore,
} from '../store/ports.ts'

/** The three functions of a test runner that the suites use; those of vitest, jest and bun fit. */
export interface TestRunner {
  describe(name: string, body: () => void): unknown
  it(title: string, body: () => Promise<void>): unknown
  expect(value: unknown): { toBe(expected: unknown): unknown; toEqual(expected: unknown): unknown }
}

/** How to get what is tested, once for every test, and how to get rid of it. */
export interface Driver<T> {
  /** Gives an empty one. */
  open(): T | Promise<T>
  close?(opened: T): void | Promise<void>
}

export interface EventStoreDriver extends Driver<EventStore> {
  /** False for a store without `forget`. Default true. */
  forgets?: boolean | undefined
}

export interface SessionStoreDriver extends Driver<SessionStore> {
  /** Lets time pass for the store: moves the clock it was given, or waits. */
  advance(ms: number): void | Promise<void>
}

export interface ValueStoreDriver extends Driver<ValueStore> {
  /** Lets time pass for the store: moves the clock it was given, or waits. */
  advance(ms: number): void | Promise<void>
}

export interface BusDriver extends Driver<Bus> {
  /** Another end of the same bus, as another process has it. Default: the tests talk and listen at one end. */
  join?(bus: Bus): Bus | Promise<Bus>
}

/**
 * The suite that every event store passes.
 *
 * ```ts
 * import { describe, expect, it } from 'vitest'
 * eventStoreContract({ describe, it, expect }, 'MyEventStore', { open: () => new MyEventStore() })
 * ```
 */
export function eventStoreContract(runner: TestRunner, name: string, driver: EventStoreDriver): void {
  const { expect } = runner
  const it = testsOf(runner, driver)

  runner.describe(`${name}, an event store`, () => {
    it('replays what came after an event, in order [SSE-016]', async (store) => {
      const ids = await storeAll(store, 'a/1', ['"one"', '"two"', '"three"', '"four"'])
      expect((await replayAfter(store, ids[1])).events).toEqual([
        [ids[2], '"three"'],
        [ids[3], '"four"'],
      ])
    })

    it('replays nothing after the newest event', async (store) => {
      const ids = await storeAll(store, 'a/1', ['"one"', '"two"'])
      expect(await replayAfter(store, ids[1])).toEqual({ streamId: 'a/1', events: [] })
    })

    it('replays as often as it is asked to, and what came since', async (store) => {
      const [first] = await storeAll(store, 'a/1', ['"one"', '"two"'])
      const before = await replayAfter(store, first)
      expect(await replayAfter(store, first)).toEqual(before)
      const later = await store.storeEvent('a/1', '"three"')
      expect((await replayAfter(store, first)).events).toEqual([...before.events, [later, '"three"']])
    })

    it('knows from an event id which stream it belongs to [SSE-014]', async (store) => {
      const ids = await storeInTurn(store, similarStreams, 2)
      for (const { id, streamId } of ids) expect((await replayAfter(store, id)).streamId).toBe(streamId)
    })

    it('gives ids that are unique across all streams [SSE-013]', async (store) => {
      const ids = (await storeInTurn(store, similarStreams, 20)).map(({ id }) => id)
      expect(new Set(ids).size).toBe(similarStreams.length * 20)
    })

    it('gives ids that fit into an HTTP header and into a line of an event stream', async (store) => {
      for (const id of await storeAll(store, 'a-Z_0.9~/1', ['', '"one"'])) expect(/^[\x21-\x7e]+$/.test(id)).toBe(true)
    })

    it('never replays messages of another stream [SSE-017]', async (store) => {
      const stored = await storeInTurn(store, similarStreams, 5)
      for (const streamId of similarStreams) {
        const own = stored.filter((event) => event.streamId === streamId)
        const { events } = await replayAfter(store, own[0]?.id)
        expect(events).toEqual(own.slice(1).map(({ id, message }) => [id, message]))
      }
    })

    it('gives back text, empty text and JSON values as they came', async (store) => {
      const message = { jsonrpc: '2.0', method: 'x', params: { list: [1, null, 'ü\n\u2028'], deep: { yes: true } } }
      const messages = ['', JSON.stringify(message), 'ü\r\n "', message, [message, 1], null, 0, false]
      const [first] = await storeAll(store, 'a/1', ['', ...messages])
      expect((await replayAfter(store, first)).events.map(([, given]) => given)).toEqual(messages)
    })

    it('refuses an id that it never gave, and sends nothing', async (store) => {
      const [id = ''] = await storeAll(store, 'a/1', ['"one"', '"two"'])
      for (const wrong of ['', '/', 'a/1', 'a/1/', 'nothing', `${id}0`, `0${id}`, ` ${id}`, `${id}/1`, '__proto__/1']) {
        expect(await outcomeOf(store, wrong)).toEqual(refused)
      }
    })

    it('waits for the receiver before it sends the next one', async (store) => {
      const [first] = await storeAll(store, 'a/1', ['', '"one"', '"two"', '"three"'])
      const steps: unknown[] = []
      const send = async (_id: string, message: unknown) => {
        steps.push('begin', message)
        await new Promise((resolve) => setTimeout(resolve))
        steps.push('end')
      }
      expect(await store.replayEventsAfter(first ?? '', { send })).toBe('a/1')
      expect(steps).toEqual(['"one"', '"two"', '"three"'].flatMap((message) => ['begin', message, 'end']))
    })

    it('stops when the receiver fails, with its error', async (store) => {
      const [first] = await storeAll(store, 'a/1', ['', '"one"', '"two"', '"three"'])
      const failure = new Error('gone')
      const sent: unknown[] = []
      const send = async (_id: string, message: unknown) => {
        sent.push(message)
        if (sent.length === 2) throw failure
      }
      expect(await errorOf(() => store.replayEventsAfter(first ?? '', { send }))).toBe(failure)
      expect(sent).toEqual(['"one"', '"two"'])
    })

    it('keeps a thousand events of one stream', async (store) => {
      const messages = Array.from({ length: 1000 }, (_, index) => `{"n":${index}}`)
      const ids = await storeAll(store, 'a/1', messages)
      const expected = ids.map((id, index) => [id, messages[index]])
      expect((await replayAfter(store, ids[0])).events).toEqual(expected.slice(1))
      expect((await replayAfter(store, ids[499])).events).toEqual(expected.slice(500))
    })

    it('loses and mixes up nothing when events are stored at the same time', async (store) => {
      const one = await store.storeEvent('a/1', '')
      const two = await store.storeEvent('a/2', '')
      const jobs = Array.from({ length: 100 }, (_, index) => ({
        streamId: `a/${1 + (index % 2)}`,
        message: `${index}`,
      }))
      const ids = await Promise.all(jobs.map(async ({ streamId, message }) => store.storeEvent(streamId, message)))
      const stored = jobs.map(({ message }, index) => [ids[index], message])
      const events = [...(await replayAfter(store, one)).events, ...(await replayAfter(store, two)).events]
      expect(new Set(events.map(([id]) => id)).size).toBe(100)
      expect(events.sort(byMessage)).toEqual(stored.sort(byMessage))
    })

    if (driver.forgets !== false) forgetting(it, expect)
  })
}

/** The suite that every session store passes. It lets about six seconds pass, where that means to wait. */
export function sessionStoreContract(runner: TestRunner, name: string, driver: SessionStoreDriver): void {
  const { expect } = runner
  const it = testsOf(runner, driver)

  runner.describe(`${name}, a session store`, () => {
    it('gives back what was set', async (store) => {
      const records = [sessionRecord('one'), { id: 'two', state: null, createdAt: 0 }, sessionRecord('__proto__')]
      for (const record of records) await store.set(record, 60_000)
      for (const record of records) expect(await store.get(record.id)).toEqual(record)
    })

    it('does not know a session that was never set', async (store) => {
      await store.set(sessionRecord('one'), 60_000)
      for (const id of ['', 'on', 'one1', 'ONE', 'one/', 'constructor']) {
        expect(await store.get(id)).toBe(undefined)
        expect(await store.touch(id, 60_000)).toBe(false)
        expect(await store.delete(id)).toBe(false)
      }
    })

    it('replaces the whole record', async (store) => {
      await store.set(sessionRecord('one'), 60_000)
      const next = { id: 'one', state: { other: 1 }, createdAt: 2 }
      await store.set(next, 60_000)
      expect(await store.get('one')).toEqual(next)
    })

    it('replaces a record only if it is still what it was', async (store) => {
      if (!store.replace) return
      const first = sessionRecord('one')
      await store.set(first, 60_000)
      const given = (await store.get('one')) ?? first
      const second = { ...given, state: { number: 2 } }
      expect(await store.replace(second, 60_000, given)).toBe(true)
      expect(await store.replace({ ...given, state: { number: 3 } }, 60_000, given)).toBe(false)
      expect(await store.get('one')).toEqual(second)
      await store.delete('one')
      expect(await store.replace(first, 60_000, second)).toBe(false)
      expect(await store.get('one')).toBe(undefined)
    })

    it('keeps and gives copies', async (store) => {
      const record = sessionRecord('one')
      await store.set(record, 60_000)
      record.principal = 'somebody else'
      record.state.list.push('changed')
      const given = await store.get('one')
      expect(given).toEqual(sessionRecord('one'))
      Object.assign(given ?? {}, { principal: 'somebody else' })
      ;(given as typeof record).state.list.push('changed')
      expect(await store.get('one')).toEqual(sessionRecord('one'))
    })

    it('forgets a session after its time to live, and only that one', async (store) => {
      await store.set(sessionRecord('long'), 60_000)
      await store.set(sessionRecord('short'), 1000)
      await driver.advance(1100)
      expect(await store.get('short')).toBe(undefined)
      expect(await store.touch('short', 60_000)).toBe(false)
      expect(await store.delete('short')).toBe(false)
      expect(await store.get('long')).toEqual(sessionRecord('long'))
    })

    it('keeps a session that is touched or set in time, as it is', async (store) => {
      await store.set(sessionRecord('touched'), 1000)
      await store.set(sessionRecord('set'), 1000)
      await driver.advance(600)
      expect(await store.touch('touched', 1000)).toBe(true)
      await store.set(sessionRecord('set'), 1000)
      await driver.advance(600)
      expect(await store.get('touched')).toEqual(sessionRecord('touched'))
      expect(await store.get('set')).toEqual(sessionRecord('set'))
      await driver.advance(500)
      expect(await store.get('touched')).toBe(undefined)
      expect(await store.get('set')).toBe(undefined)
    })

    it('does not keep a session alive because it is read', async (store) => {
      await store.set(sessionRecord('one'), 1000)
      await driver.advance(600)
      await store.get('one')
      await driver.advance(500)
      expect(await store.get('one')).toBe(undefined)
    })

    it('takes the id of an expired session for a new one', async (store) => {
      await store.set(sessionRecord('one'), 1000)
      await driver.advance(1100)
      await store.set({ id: 'one', state: 'new', createdAt: 5 }, 60_000)
      expect(await store.get('one')).toEqual({ id: 'one', state: 'new', createdAt: 5 })
    })

    it('deletes once, and nothing else', async (store) => {
      await store.set(sessionRecord('one'), 60_000)
      await store.set(sessionRecord('one1'), 60_000)
      expect(await store.delete('one')).toBe(true)
      expect(await store.delete('one')).toBe(false)
      expect(await store.get('one')).toBe(undefined)
      expect(await store.touch('one', 60_000)).toBe(false)
      expect(await store.get('one1')).toEqual(sessionRecord('one1'))
    })

    it('takes many sessions at the same time', async (store) => {
      const records = Array.from({ length: 100 }, (_, index) => sessionRecord(`s${index}`))
      await Promise.all(records.map(async (record) => store.set(record, 60_000)))
      expect(await Promise.all(records.map(async ({ id }) => store.get(id)))).toEqual(records)
    })
  })
}

/** The suite that every store of values passes. It lets about three seconds pass, where that means to wait. */
export function valueStoreContract(runner: TestRunner, name: string, driver: ValueStoreDriver): void {
  const { expect } = runner
  const it = testsOf(runner, driver)

  runner.describe(`${name}, a store of values`, () => {
    it('gives back what was set, as often as it is asked', async (store) => {
      const values = [
        ['one', 'text'],
        ['broker/token/a-Z_0', 'ü\r\n "\u2028 😀'],
        ['__proto__', ''],
        ['long', 'x'.repeat(20_000)],
      ] as const
      for (const [key, value] of values) await store.set(key, value, 60_000)
      for (const [key, value] of [...values, ...values]) expect(await store.get(key)).toBe(value)
    })

    it('does not know what was never set', async (store) => {
      await store.set('one', 'x', 60_000)
      for (const key of ['', 'on', 'one1', 'ONE', 'one/', 'constructor']) {
        expect(await store.get(key)).toBe(undefined)
        expect(await store.take(key)).toBe(undefined)
        await store.delete(key)
      }
      expect(await store.get('one')).toBe('x')
    })

    it('replaces a value, and its time to live', async (store) => {
      await store.set('one', 'old', 60_000)
      await store.set('one', 'new', 1_000)
      expect(await store.get('one')).toBe('new')
      await driver.advance(1_100)
      expect(await store.get('one')).toBe(undefined)
    })

    it('forgets a value after its time to live, read or not, and only that one', async (store) => {
      await store.set('long', 'x', 60_000)
      await store.set('short', 'y', 1_000)
      expect(await store.get('short')).toBe('y')
      await driver.advance(1_100)
      expect(await store.get('short')).toBe(undefined)
      expect(await store.take('short')).toBe(undefined)
      expect(await store.get('long')).toBe('x')
    })

    it('lets a value be taken once', async (store) => {
      await store.set('one', 'x', 60_000)
      expect(await store.take('one')).toBe('x')
      expect(await store.take('one')).toBe(undefined)
      expect(await store.get('one')).toBe(undefined)
      await store.set('one', 'again', 60_000)
      expect(await store.take('one')).toBe('again')
    })

    it('gives a value to one of many who take it at the same time', async (store) => {
      await store.set('one', 'x', 60_000)
      const taken = await Promise.all(Array.from({ length: 50 }, async () => store.take('one')))
      expect(taken.filter((value) => value !== undefined)).toEqual(['x'])
    })

    it('deletes, and nothing else', async (store) => {
      await store.set('one', 'x', 60_000)
      await store.set('one1', 'y', 60_000)
      await store.delete('one')
      await store.delete('one')
      expect(await store.get('one')).toBe(undefined)
      expect(await store.get('one1')).toBe('y')
    })

    it('takes many values at the same time', async (store) => {
      const keys = Array.from({ length: 100 }, (_, index) => `k${index}`)
      await Promise.all(keys.map(async (key) => store.set(key, `value of ${key}`, 60_000)))
      expect(await Promise.all(keys.map(async (key) => store.get(key)))).toEqual(keys.map((key) => `value of ${key}`))
    })
  })
}

/** The suite that every bus passes. */
export function busContract(runner: TestRunner, name: string, driver: BusDriver): void {
  const { expect } = runner
  const it = testsOf(runner, driver)
  /** Runs with an end to talk at and an end to listen at. */
  const withEnds = async (near: Bus, body: (far: Bus) => Promise<void>) => {
    const far = driver.join ? await driver.join(near) : near
    try {
      await body(far)
    } finally {
      if (far !== near) await driver.close?.(far)
    }
  }

  runner.describe(`${name}, a bus`, () => {
    it('carries messages in order and unchanged', async (near) => {
      await withEnds(near, async (far) => {
        const ear = new Ear()
        await far.subscribe('topic', ear.listener)
        const messages = ['', 'ü\r\n "', ...Array.from({ length: 200 }, (_, index) => `${index}`)]
        for (const message of messages) await near.publish('topic', message)
        await ear.heardAtLeast(messages.length)
        expect(ear.heard).toEqual(messages)
      })
    })

    it('lets a publisher hear itself', async (bus) => {
      const ear = new Ear()
      await bus.subscribe('topic', ear.listener)
      await bus.publish('topic', 'one')
      await ear.heardAtLeast(1)
      expect(ear.heard).toEqual(['one'])
    })

    it('tells every listener, each as often as it subscribed', async (near) => {
      await withEnds(near, async (far) => {
        const [once, twice] = [new Ear(), new Ear()]
        await far.subscribe('topic', once.listener)
        await far.subscribe('topic', twice.listener)
        await far.subscribe('topic', twice.listener)
        await near.publish('topic', 'one')
        await near.publish('topic', 'two')
        await Promise.all([once.heardAtLeast(2), twice.heardAtLeast(4)])
        expect(once.heard).toEqual(['one', 'two'])
        expect(twice.heard).toEqual(['one', 'one', 'two', 'two'])
      })
    })

    it('keeps topics apart', async (near) => {
      await withEnds(near, async (far) => {
        const topics = ['a', 'a/1', 'a/10', 'A', 'a*', '__proto__']
        const ears = topics.map(() => new Ear())
        for (const [index, topic] of topics.entries()) await far.subscribe(topic, ears[index]!.listener)
        for (const topic of [...topics, 'nobody']) await near.publish(topic, topic)
        for (const topic of topics) await near.publish(topic, 'end')
        await Promise.all(ears.map((ear) => ear.heardAtLeast(2)))
        expect(ears.map((ear) => ear.heard)).toEqual(topics.map((topic) => [topic, 'end']))
      })
    })

    it('tells a listener nothing after it stopped, and the others everything', async (near) => {
      await withEnds(near, async (far) => {
        const [leaving, staying] = [new Ear(), new Ear()]
        const stop = await far.subscribe('topic', leaving.listener)
        await far.subscribe('topic', staying.listener)
        await near.publish('topic', 'one')
        await Promise.all([leaving.heardAtLeast(1), staying.heardAtLeast(1)])
        stop()
        stop()
        await near.publish('topic', 'two')
        await staying.heardAtLeast(2)
        expect(leaving.heard).toEqual(['one'])
        expect(staying.heard).toEqual(['one', 'two'])
      })
    })

    it('takes up a topic again that everyone had left', async (near) => {
      await withEnds(near, async (far) => {
        const stop = await far.subscribe('topic', new Ear().listener)
        stop()
        const ear = new Ear()
        await far.subscribe('topic', ear.listener)
        stop()
        await near.publish('topic', 'one')
        await ear.heardAtLeast(1)
        expect(ear.heard).toEqual(['one'])
      })
    })

    it('tells all listeners the same order when one of them publishes', async (bus) => {
      const [early, late] = [new Ear(), new Ear()]
      await bus.subscribe('topic', early.listener)
      await bus.subscribe('topic', (message) => {
        if (message === 'one') void bus.publish('topic', 'two')
      })
      await bus.subscribe('topic', late.listener)
      await bus.publish('topic', 'one')
      await Promise.all([early.heardAtLeast(2), late.heardAtLeast(2)])
      expect(early.heard).toEqual(['one', 'two'])
      expect(late.heard).toEqual(['one', 'two'])
    })
  })
}

type Test<T> = (title: string, body: (opened: T) => Promise<void>) => void

/** Ids of which one begins like the other, and one that looks like an event id. */
const similarStreams = ['a', 'a/1', 'a/1/1', 'a/10', 'ab', 'b/1']

const refused = { unknown: true, events: [] }

function forgetting(it: Test<EventStore>, expect: TestRunner['expect']): void {
  const left = async (store: EventStore, stored: Stored[]) => {
    const streams = new Set<string>()
    for (const { id, streamId } of stored) if (!(await outcomeOf(store, id)).unknown) streams.add(streamId)
    return [...streams]
  }

  it('forgets a stream, but not those whose ids only begin alike', async (store) => {
    const stored = await storeInTurn(store, similarStreams, 3)
    await store.forget?.('a/1')
    expect(await left(store, stored)).toEqual(['a', 'a/10', 'ab', 'b/1'])
    const kept = stored.filter(({ streamId }) => streamId === 'a/10')
    expect((await replayAfter(store, kept[0]?.id)).events).toEqual(
      kept.slice(1).map(({ id, message }) => [id, message]),
    )
  })

  it('forgets all streams of a session', async (store) => {
    const stored = await storeInTurn(store, similarStreams, 3)
    await store.forget?.('a')
    expect(await left(store, stored)).toEqual(['ab', 'b/1'])
  })

  it('takes a prefix as it is, whatever signs it holds', async (store) => {
    const stored = await storeInTurn(store, ['a/1', 'a%/1', 'a_/1', 'ax/1'], 1)
    for (const prefix of ['a%', 'a_', '*', '%', '', 'nothing']) await store.forget?.(prefix)
    expect(await left(store, stored)).toEqual(['a/1', 'ax/1'])
  })

  it('knows no event of a forgotten stream, and gives none of its ids again [SSE-013]', async (store) => {
    const before = await storeAll(store, 'a/1', ['"one"', '"two"'])
    await store.forget?.('a/1')
    const after = await storeAll(store, 'a/1', ['"three"', '"four"'])
    expect(new Set([...before, ...after]).size).toBe(4)
    for (const id of before) expect(await outcomeOf(store, id)).toEqual(refused)
    expect((await replayAfter(store, after[0])).events).toEqual([[after[1], '"four"']])
  })
}

/** The runner's `it`, with a fresh driver for every test. */
function testsOf<T>(runner: TestRunner, driver: Driver<T>): Test<T> {
  return (title, body) => {
    runner.it(title, async () => {
      const opened = await driver.open()
      try {
        await body(opened)
      } finally {
        await driver.close?.(opened)
      }
    })
  }
}

async function storeAll(store: EventStore, streamId: string, messages: unknown[]): Promise<string[]> {
  const ids: string[] = []
  for (const message of messages) ids.push(await store.storeEvent(streamId, message))
  return ids
}

interface Stored {
  id: string
  streamId: string
  message: string
}

/** Some events for each stream, one stream after the other in every round. */
async function storeInTurn(store: EventStore, streams: string[], rounds: number): Promise<Stored[]> {
  const stored: Stored[] = []
  for (let round = 0; round < rounds; round++) {
    for (const streamId of streams) {
      const message = JSON.stringify([streamId, round])
      stored.push({ id: await store.storeEvent(streamId, message), streamId, message })
    }
  }
  return stored
}

type Replayed = Array<[id: string, message: unknown]>

async function replayAfter(store: EventStore, id = ''): Promise<{ streamId: string; events: Replayed }> {
  const events: Replayed = []
  const streamId = await store.replayEventsAfter(id, { send: (...event) => void events.push(event) })
  return { streamId, events }
}

/** Whether the store refuses the id as unknown, and what it had sent by then. Other failures are thrown. */
async function outcomeOf(store: EventStore, id: string): Promise<{ unknown: boolean; events: Replayed }> {
  const events: Replayed = []
  const error = await errorOf(() => store.replayEventsAfter(id, { send: (...event) => void events.push(event) }))
  if (error !== undefined && !(error instanceof UnknownEvent)) throw error
  return { unknown: error !== undefined, events }
}

async function errorOf(run: () => unknown): Promise<unknown> {
  try {
    await run()
  } catch (error) {
    return error
  }
  return undefined
}

function byMessage([, one]: unknown[], [, other]: unknown[]): number {
  return Number(one) - Number(other)
}

function sessionRecord(id: string): SessionRecord & { state: { list: string[] } } {
  return { id, principal: 'user ü', state: { list: ['x'] }, createdAt: 1_700_000_000_000 }
}

/** A listener that can be waited for. */
class Ear {
  readonly heard: string[] = []
  #wanted = 0
  #wake: (() => void) | undefined

  readonly listener = (message: string): void => {
    this.heard.push(message)
    if (this.heard.length >= this.#wanted) this.#wake?.()
  }

  heardAtLeast(count: number): Promise<void> {
    if (this.heard.length >= count) return Promise.resolve()
    this.#wanted = count
    return new Promise((resolve) => {
      this.#wake = resolve
    })
  }
}

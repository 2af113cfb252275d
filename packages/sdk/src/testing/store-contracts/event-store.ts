import { type EventStore, UnknownEventError } from '../../store/ports.ts'
import { scheduler } from '../../util/scheduler.ts'
import { type Driver, errorOf, type Test, type TestRunner, testsOf } from './suite.ts'

export interface EventStoreDriver extends Driver<EventStore> {
  /** False for a store without `forget`. Default true. */
  forgets?: boolean | undefined
}

/**
 * The test suite that every event store must pass.
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
    it('replays the events after an event id, in order [SSE-016]', async (store) => {
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

    it('replays repeatedly, including events stored since', async (store) => {
      const [first] = await storeAll(store, 'a/1', ['"one"', '"two"'])
      const before = await replayAfter(store, first)
      expect(await replayAfter(store, first)).toEqual(before)
      const later = await store.storeEvent('a/1', '"three"')
      expect((await replayAfter(store, first)).events).toEqual([...before.events, [later, '"three"']])
    })

    it('returns the stream of an event id [SSE-014]', async (store) => {
      const ids = await storeInTurn(store, similarStreams, 2)
      for (const { id, streamId } of ids) expect((await replayAfter(store, id)).streamId).toBe(streamId)
    })

    it('creates ids that are unique across all streams [SSE-013]', async (store) => {
      const ids = (await storeInTurn(store, similarStreams, 20)).map(({ id }) => id)
      expect(new Set(ids).size).toBe(similarStreams.length * 20)
    })

    it('creates ids that are valid in an HTTP header and in a line of an event stream', async (store) => {
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

    it('returns strings, empty strings and JSON values unchanged', async (store) => {
      const message = { jsonrpc: '2.0', method: 'x', params: { list: [1, null, 'ü\n\u2028'], deep: { yes: true } } }
      const messages = ['', JSON.stringify(message), 'ü\r\n "', message, [message, 1], null, 0, false]
      const [first] = await storeAll(store, 'a/1', ['', ...messages])
      expect((await replayAfter(store, first)).events.map(([, given]) => given)).toEqual(messages)
    })

    it('rejects an unknown id and sends nothing', async (store) => {
      const [id = ''] = await storeAll(store, 'a/1', ['"one"', '"two"'])
      for (const wrong of ['', '/', 'a/1', 'a/1/', 'nothing', `${id}0`, `0${id}`, ` ${id}`, `${id}/1`, '__proto__/1']) {
        expect(await outcomeOf(store, wrong)).toEqual(refused)
      }
    })

    it('waits for the receiver before it sends the next event', async (store) => {
      const [first] = await storeAll(store, 'a/1', ['', '"one"', '"two"', '"three"'])
      const steps: unknown[] = []
      const send = async (_id: string, message: unknown) => {
        steps.push('begin', message)
        await new Promise((resolve) => scheduler.setTimeout(resolve, 0))
        steps.push('end')
      }
      expect(await store.replayEventsAfter(first ?? '', { send })).toBe('a/1')
      expect(steps).toEqual(['"one"', '"two"', '"three"'].flatMap((message) => ['begin', message, 'end']))
    })

    it('stops with the error of the receiver when the receiver fails', async (store) => {
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

    it('keeps 1,000 events of one stream', async (store) => {
      const messages = Array.from({ length: 1000 }, (_, index) => `{"n":${index}}`)
      const ids = await storeAll(store, 'a/1', messages)
      const expected = ids.map((id, index) => [id, messages[index]])
      expect((await replayAfter(store, ids[0])).events).toEqual(expected.slice(1))
      expect((await replayAfter(store, ids[499])).events).toEqual(expected.slice(500))
    })

    it('loses and mixes up nothing when events are stored concurrently', async (store) => {
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

/** Ids that are prefixes of each other, and one that looks like an event id. */
export const similarStreams = ['a', 'a/1', 'a/1/1', 'a/10', 'ab', 'b/1']

export const refused = { unknown: true, events: [] }

export function forgetting(it: Test<EventStore>, expect: TestRunner['expect']): void {
  const left = async (store: EventStore, stored: Stored[]) => {
    const streams = new Set<string>()
    for (const { id, streamId } of stored) if (!(await outcomeOf(store, id)).unknown) streams.add(streamId)
    return [...streams]
  }

  it('deletes a stream, but not those whose ids have the same prefix', async (store) => {
    const stored = await storeInTurn(store, similarStreams, 3)
    await store.forget?.('a/1')
    expect(await left(store, stored)).toEqual(['a', 'a/10', 'ab', 'b/1'])
    const kept = stored.filter(({ streamId }) => streamId === 'a/10')
    expect((await replayAfter(store, kept[0]?.id)).events).toEqual(
      kept.slice(1).map(({ id, message }) => [id, message]),
    )
  })

  it('deletes all streams of a session', async (store) => {
    const stored = await storeInTurn(store, similarStreams, 3)
    await store.forget?.('a')
    expect(await left(store, stored)).toEqual(['ab', 'b/1'])
  })

  it('treats a prefix literally, whatever characters it contains', async (store) => {
    const stored = await storeInTurn(store, ['a/1', 'a%/1', 'a_/1', 'ax/1'], 1)
    for (const prefix of ['a%', 'a_', '*', '%', '', 'nothing']) await store.forget?.(prefix)
    expect(await left(store, stored)).toEqual(['a/1', 'ax/1'])
  })

  it('rejects event ids of a deleted stream and never reuses them [SSE-013]', async (store) => {
    const before = await storeAll(store, 'a/1', ['"one"', '"two"'])
    await store.forget?.('a/1')
    const after = await storeAll(store, 'a/1', ['"three"', '"four"'])
    expect(new Set([...before, ...after]).size).toBe(4)
    for (const id of before) expect(await outcomeOf(store, id)).toEqual(refused)
    expect((await replayAfter(store, after[0])).events).toEqual([[after[1], '"four"']])
  })
}

export async function storeAll(store: EventStore, streamId: string, messages: unknown[]): Promise<string[]> {
  const ids: string[] = []
  for (const message of messages) ids.push(await store.storeEvent(streamId, message))
  return ids
}

export interface Stored {
  id: string
  streamId: string
  message: string
}

/** Stores events in rounds, one for each stream in every round. */
export async function storeInTurn(store: EventStore, streams: string[], rounds: number): Promise<Stored[]> {
  const stored: Stored[] = []
  for (let round = 0; round < rounds; round++) {
    for (const streamId of streams) {
      const message = JSON.stringify([streamId, round])
      stored.push({ id: await store.storeEvent(streamId, message), streamId, message })
    }
  }
  return stored
}

export type Replayed = Array<[id: string, message: unknown]>

export async function replayAfter(store: EventStore, id = ''): Promise<{ streamId: string; events: Replayed }> {
  const events: Replayed = []
  const streamId = await store.replayEventsAfter(id, { send: (...event) => void events.push(event) })
  return { streamId, events }
}

/** Returns whether the store rejects the id as unknown, and what it sent before. Throws other errors. */
export async function outcomeOf(store: EventStore, id: string): Promise<{ unknown: boolean; events: Replayed }> {
  const events: Replayed = []
  const error = await errorOf(() => store.replayEventsAfter(id, { send: (...event) => void events.push(event) }))
  if (error !== undefined && !(error instanceof UnknownEventError)) throw error
  return { unknown: error !== undefined, events }
}

export function byMessage([, one]: unknown[], [, other]: unknown[]): number {
  return Number(one) - Number(other)
}

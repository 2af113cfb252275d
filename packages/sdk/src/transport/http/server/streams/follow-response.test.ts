import { describe, expect, it } from 'vitest'
import { MemoryEventStore } from '../../../../store/memory/events.ts'
import { type FollowedResponse, followResponse } from './follow-response.ts'

const progress = '{"jsonrpc":"2.0","method":"notifications/progress","params":{}}'
const response = (id: string | number) => JSON.stringify({ jsonrpc: '2.0', id, result: {} })

/** Follows a stream whose first event the client has. */
async function follow(events: readonly string[], more: Partial<FollowedResponse> & { requestId?: string | number }) {
  const store = new MemoryEventStore()
  const lastEventId = store.storeEvent('s/n.1', '')
  for (const text of events) store.storeEvent('s/n.1', text)
  const sent: string[] = []
  let asked = 0
  await followResponse({
    store,
    origin: { node: 'n', isStandalone: false, requestId: more.requestId },
    lastEventId,
    send: async (_, text) => void sent.push(text),
    isWanted: () => true,
    isRunning: async () => {
      asked++
      return false
    },
    ...more,
  })
  return { sent, asked }
}

describe('followResponse', () => {
  it('ends with the response of its request, and does not ask whether the other process still runs', async () => {
    const { sent, asked } = await follow([progress, response(7)], { requestId: 7 })
    expect(sent).toEqual([progress, response(7)])
    expect(asked).toBe(0)
  })

  it.each([
    ['an event without data', ''],
    ['a request of the server with the same id', '{"jsonrpc":"2.0","id":7,"method":"ping"}'],
    ['a response with another id', response(8)],
    ['a batch', `[${response(7)}]`],
  ])('does not take %s for the response', async (_, text) => {
    const { sent, asked } = await follow([text], { requestId: 7 })
    expect(asked).toBe(1)
    expect(sent[0]).toBe(text)
    expect(JSON.parse(sent[1]!)).toMatchObject({ id: 7, error: { code: -32603 } })
    expect(sent).toHaveLength(2)
  })

  it('ends with the array of responses to a batch, and with nothing in its place if the process is gone', async () => {
    const batch = `[${response(1)},${response(2)}]`
    expect(await follow([progress, batch], {})).toEqual({ sent: [progress, batch], asked: 0 })
    expect(await follow([progress, response(1)], {})).toEqual({ sent: [progress, response(1)], asked: 1 })
  })

  it('reads the store once more after the process said that it is done', async () => {
    const store = new MemoryEventStore()
    const lastEventId = store.storeEvent('s/n.1', '')
    const sent: string[] = []
    await followResponse({
      store,
      origin: { node: 'n', isStandalone: false, requestId: 7 },
      lastEventId,
      send: async (_, text) => void sent.push(text),
      isWanted: () => true,
      isRunning: async () => {
        store.storeEvent('s/n.1', response(7))
        return false
      },
    })
    expect(sent).toEqual([response(7)])
  })

  it('stops without an error when the client is gone', async () => {
    expect(await follow([response(7)], { requestId: 7, isWanted: () => false })).toEqual({ sent: [], asked: 0 })
  })

  it('sends an error if the store no longer knows the event', async () => {
    const { sent } = await follow([response(7)], { requestId: 7, lastEventId: 'forgotten' })
    expect(sent.map((text) => JSON.parse(text).error?.code)).toEqual([-32603])
  })
})

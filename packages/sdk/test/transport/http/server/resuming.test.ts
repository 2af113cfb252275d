import { type EventStore, MemoryEventStore } from 'tenon/server'
import { describe, expect, it } from 'vitest'
import { eventually } from '../../../kit/eventually.ts'
import { gate } from '../../../kit/gate.ts'
import type { Answer } from '../../../kit/http-client.ts'
import { Peer } from '../../../kit/http-peer.ts'
import { eachRevision, modern, sessionRevisions } from '../../../kit/revisions.ts'
import { serve } from '../../../kit/serve-http.ts'
import { registerSlow, withProgress, workshop } from '../../../kit/workshop.ts'
import { beforeResuming, registerStepwise } from './streams-support.ts'

describe('resuming', () => {
  eachRevision(
    sessionRevisions,
    'a POST stream continues after the last received event, without loss or duplicates [SSE-016]',
    async (revision) => {
      const server = workshop()
      const work = registerStepwise(server, 'work')
      await using http = await serve(server)
      await using peer = await Peer.open(http.url, revision)
      const call = peer.call('work', {}, withProgress)
      const tell = await work.began
      tell(1)
      tell(2)
      const stream = await call
      await stream.notified('notifications/progress', 2)
      stream.close()
      await eventually(() => http.metrics.streams === 0)
      tell(3)
      const resumed = await peer.resume(stream.ids.at(-2)!)
      expect([resumed.status, resumed.type]).toEqual([200, 'text/event-stream'])
      await resumed.notified('notifications/progress', 2)
      tell(4)
      work.end()
      expect((await resumed.response()).result?.content?.[0]?.text).toBe('work is done')
      expect(await resumed.ended).toBe('ended')
      const steps = resumed.messages.slice(0, -1).map(({ params }) => params?.progress)
      expect(steps).toEqual([2, 3, 4])
      expect(resumed.ids[0]).toBe(stream.ids.at(-1))
    },
  )

  eachRevision(
    sessionRevisions,
    'a stream that ended meanwhile is replayed up to its response [SSE-016, HTTP-033]',
    async (revision) => {
      const server = workshop()
      const slow = registerSlow(server)
      await using http = await serve(server)
      await using peer = await Peer.open(http.url, revision)
      const stream = await peer.call('slow', {}, { ...withProgress, id: 55 })
      await stream.notified('notifications/progress')
      stream.close()
      await eventually(() => http.metrics.streams === 0)
      slow.finish('while you were away')
      // After this round trip the tool has returned.
      await peer.textOf('echo')
      const resumed = await peer.resume(stream.ids.at(-1)!)
      expect(await resumed.ended).toBe('ended')
      expect(resumed.messages.at(-1)).toMatchObject({ id: 55, result: { content: [{ text: 'while you were away' }] } })
      expect(resumed.methods).toEqual(['notifications/progress', undefined])
    },
  )

  eachRevision(sessionRevisions, 'a GET stream continues too [SSE-016]', async (revision) => {
    const server = workshop()
    await using http = await serve(server)
    await using peer = await Peer.open(http.url, revision)
    const stream = await peer.get()
    for (const nth of [1, 2]) server.sendLoggingMessage({ level: 'error', data: nth })
    await stream.notified('notifications/message', 2)
    stream.close()
    await eventually(() => http.metrics.streams === 0)
    server.sendLoggingMessage({ level: 'error', data: 3 })
    const resumed = await peer.resume(stream.ids.at(-2)!)
    server.sendLoggingMessage({ level: 'error', data: 4 })
    await resumed.notified('notifications/message', 3)
    expect(resumed.messages.map(({ params }) => params?.data)).toEqual([2, 3, 4])
  })

  it('sends an event once that is stored while the stored ones are replayed [SSE-016]', async () => {
    const server = workshop()
    const memory = new MemoryEventStore()
    let isReplaying = false
    const eventStore: EventStore = {
      storeEvent: (streamId, message) => memory.storeEvent(streamId, message),
      replayEventsAfter: (id, to) => {
        // The stream is connected again, so this event is both stored and waiting to be sent.
        if (isReplaying) server.sendLoggingMessage({ level: 'error', data: 'during the replay' })
        isReplaying = true
        return memory.replayEventsAfter(id, to)
      },
    }
    await using http = await serve(server, { eventStore })
    await using peer = await Peer.open(http.url, '2025-11-25')
    const stream = await peer.get()
    for (const data of ['first', 'second']) server.sendLoggingMessage({ level: 'error', data })
    await stream.notified('notifications/message', 2)
    stream.close()
    await eventually(() => http.metrics.streams === 0)
    const resumed = await peer.resume(stream.ids.at(-2)!)
    await resumed.notified('notifications/message', 2)
    server.sendLoggingMessage({ level: 'error', data: 'after the replay' })
    await resumed.until(() => resumed.messages.find(({ params }) => params?.data === 'after the replay'))
    const data = resumed.messages.map(({ params }) => params?.data)
    expect(data).toEqual(['second', 'during the replay', 'after the replay'])
    expect(new Set(resumed.ids).size).toBe(resumed.ids.length)
  })

  eachRevision(sessionRevisions, 'replays no events of another stream of the session [SSE-017]', async (revision) => {
    const server = workshop()
    const [one, two] = [registerStepwise(server, 'one'), registerStepwise(server, 'two')]
    await using http = await serve(server)
    await using peer = await Peer.open(http.url, revision)
    const listening = await peer.get()
    const calls = [
      peer.call('one', {}, { meta: { progressToken: 'one' } }),
      peer.call('two', {}, { meta: { progressToken: 'two' } }),
    ]
    const tells = await Promise.all([one.began, two.began])
    for (const step of [1, 2, 3]) {
      for (const tell of tells) tell(step)
      server.sendLoggingMessage({ level: 'error', data: step })
    }
    const [first, second] = (await Promise.all(calls)) as [Answer, Answer]
    await Promise.all([first, second].map((stream) => stream.notified('notifications/progress', 3)))
    await listening.notified('notifications/message', 3)
    for (const stream of [first, second, listening]) stream.close()
    await eventually(() => http.metrics.streams === 0)
    one.end()
    two.end()
    const resumed = await peer.resume(first.ids[0]!)
    expect((await resumed.response()).result?.content?.[0]?.text).toBe('one is done')
    await resumed.ended
    expect(resumed.methods.every((method) => method === undefined || method === 'notifications/progress')).toBe(true)
    const tokens = resumed.messages.flatMap(({ params }) => params?.progressToken ?? [])
    expect(new Set(tokens)).toEqual(new Set(['one']))
  })

  eachRevision(sessionRevisions, 'an event id of another session is rejected [SSE-017]', async (revision) => {
    await using http = await serve(workshop())
    await using alice = await Peer.open(http.url, revision)
    await using mallory = await Peer.open(http.url, revision)
    const stream = await alice.call('steps', {}, withProgress)
    await stream.ended
    for (const id of [...stream.ids, `${mallory.sessionId}/1/1`, 'garbage', '']) {
      const answer = await mallory.resume(id)
      expect([answer.status, (await answer.json()).error?.code]).toEqual([400, -32000])
    }
  })

  it('events have no ids without an event store, and streams cannot be resumed', async () => {
    await using http = await serve(workshop(), { eventStore: false })
    await using peer = await Peer.open(http.url, '2025-11-25')
    const stream = await peer.call('steps', {}, withProgress)
    await stream.ended
    expect(stream.ids).toEqual([])
    expect(stream.methods).toHaveLength(4)
    expect((await peer.resume('a/1/1')).status).toBe(400)
  })
})

describe('2025-11-25: streams that outlive their connection', () => {
  const revision = '2025-11-25'

  it('a POST stream starts with an event with an id and no data [SSE-019]', async () => {
    await using http = await serve(workshop())
    await using peer = await Peer.open(http.url, revision)
    const stream = await peer.call('steps', {}, withProgress)
    await stream.ended
    expect(stream.events[0]).toEqual({ id: stream.ids[0], data: '' })
    expect(stream.raw).toMatch(/^id: \S+\ndata: ?\n\n/)
  })

  it('a GET stream starts immediately with an event with an id and no data [SSE-019]', async () => {
    await using http = await serve(workshop())
    await using peer = await Peer.open(http.url, revision)
    const stream = await peer.get()
    const first = await stream.until(() => stream.events[0])
    expect([first.data, first.id !== undefined]).toEqual(['', true])
  })

  eachRevision([...beforeResuming, modern], 'other revisions have no priming event', async (other) => {
    await using http = await serve(workshop())
    await using peer = await Peer.open(http.url, other)
    const stream = await peer.call('steps', {}, withProgress)
    await stream.ended
    expect(stream.events.every(({ data }) => data !== undefined && data !== '')).toBe(true)
  })

  it('can be resumed from the priming event', async () => {
    const server = workshop()
    const slow = registerSlow(server)
    await using http = await serve(server)
    await using peer = await Peer.open(http.url, revision)
    const stream = await peer.call('slow', {}, withProgress)
    const first = await stream.until(() => stream.events[0])
    stream.close()
    await eventually(() => http.metrics.streams === 0)
    const resumed = await peer.resume(first.id!)
    slow.finish('done')
    expect((await resumed.response()).result?.content?.[0]?.text).toBe('done')
    expect(resumed.methods).toEqual(['notifications/progress', 'notifications/progress', undefined])
  })

  it('a handler can close the connection, and the response waits for the client [SSE-021, SSE-023]', async () => {
    const server = workshop()
    const finish = gate()
    server.registerTool('leaves', {}, async (_, ctx) => {
      ctx.closeStream({ retryMs: 20 })
      await finish.opened
      return 'worth the wait'
    })
    await using http = await serve(server)
    await using peer = await Peer.open(http.url, revision)
    const stream = await peer.call('leaves', {}, { id: 31 })
    expect(await stream.ended).toBe('ended')
    expect(stream.messages).toEqual([])
    expect(stream.events[0]).toMatchObject({ data: '' })
    expect(stream.events.at(-1)?.retry).toBe(20)
    finish.open()
    const resumed = await peer.resume(stream.ids.at(-1)!)
    expect(await resumed.response()).toMatchObject({ id: 31, result: { content: [{ text: 'worth the wait' }] } })
    expect(await resumed.ended).toBe('ended')
  })

  it('the client can reconnect several times before the response [SSE-021]', async () => {
    const server = workshop()
    const rounds = [gate(), gate(), gate()]
    server.registerTool('polls', {}, async (_, ctx) => {
      for (const [index, round] of rounds.entries()) {
        ctx.progress(index + 1)
        ctx.closeStream({ retryMs: 5 })
        await round.opened
      }
      return 'at last'
    })
    await using http = await serve(server)
    await using peer = await Peer.open(http.url, revision)
    let stream = await peer.call('polls', {}, withProgress)
    const seen: unknown[] = []
    for (const round of rounds) {
      await stream.ended
      seen.push(...stream.messages.map(({ params }) => params?.progress))
      expect(stream.events.at(-1)?.retry).toBe(5)
      const next = peer.resume(stream.ids.at(-1)!)
      stream = await next
      round.open()
    }
    expect((await stream.response()).result?.content?.[0]?.text).toBe('at last')
    expect(seen).toEqual([1, 2, 3])
  })
})

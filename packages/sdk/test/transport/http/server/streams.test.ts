import { metaKeys } from 'tenon'
import type { McpServer } from 'tenon/server'
import { describe, expect, it } from 'vitest'
import {
  type Answer,
  door,
  eachRevision,
  eventually,
  gate,
  handshakes,
  httpRevisions,
  modern,
  Peer,
  registerSlow,
  serve,
  sessionRevisions,
  withProgress,
  workshop,
} from './support.ts'

const beforeResuming = ['2025-03-26', '2025-06-18'] as const
const acknowledgement = 'notifications/subscriptions/acknowledged'

/** A tool that logs, at a level that everyone of the older revisions hears. */
function registerLogging(server: McpServer): void {
  server.registerTool('logs', {}, (_, ctx) => {
    ctx.log.error('something went wrong')
    return 'logged'
  })
}

/** A tool whose progress the test gives out piece by piece. */
function registerStepwise(server: McpServer, name: string) {
  const began = gate<(step: number) => void>()
  const end = gate()
  server.registerTool(name, {}, async (_, ctx) => {
    began.open((step) => ctx.progress(step))
    await end.opened
    return `${name} is done`
  })
  return { began: began.opened, end: end.open }
}

describe('the stream of a POST', () => {
  eachRevision(
    httpRevisions,
    'has what comes before the answer, then the answer, then its end [HTTP-019, HTTP-020, HTTP-024, HTTP-048]',
    async (revision) => {
      await using http = await serve(workshop())
      await using peer = await Peer.open(http.url, revision)
      const stream = await peer.call('steps', {}, { ...withProgress, id: 'mine' })
      expect(await stream.ended).toBe('ended')
      expect(stream.methods).toEqual([...Array(3).fill('notifications/progress'), undefined])
      expect(stream.messages.at(-1)).toMatchObject({ id: 'mine', result: { content: [{ text: 'three steps' }] } })
    },
  )

  eachRevision(httpRevisions, 'is told not to be buffered or changed on the way [HTTP-051]', async (revision) => {
    await using http = await serve(workshop())
    await using peer = await Peer.open(http.url, revision)
    const stream = await peer.call('steps', {}, withProgress)
    expect(stream.headers).toMatchObject({
      'content-type': 'text/event-stream',
      'x-accel-buffering': 'no',
      'cache-control': 'no-cache, no-transform',
    })
  })

  eachRevision(
    httpRevisions,
    'has only what belongs to its own request [HTTP-021, HTTP-049, HTTP-061]',
    async (revision) => {
      const server = workshop()
      const [one, two] = [registerStepwise(server, 'one'), registerStepwise(server, 'two')]
      await using http = await serve(server)
      await using peer = await Peer.open(http.url, revision)
      const first = peer.call('one', {}, { meta: { progressToken: 'first' } })
      const second = peer.call('two', {}, { meta: { progressToken: 'second' } })
      const steps = await Promise.all([one.began, two.began])
      for (const step of [1, 2, 3]) for (const tell of steps) tell(step)
      server.sendToolListChanged()
      one.end()
      two.end()
      const streams = await Promise.all([first, second])
      for (const [index, stream] of streams.entries()) {
        await stream.ended
        const tokens = stream.messages.slice(0, -1).map(({ params }) => params?.progressToken)
        expect(tokens).toEqual(Array(3).fill(index === 0 ? 'first' : 'second'))
        expect(stream.messages.at(-1)?.result?.content?.[0]?.text).toBe(`${index === 0 ? 'one' : 'two'} is done`)
      }
    },
  )

  eachRevision(sessionRevisions, 'carries log messages of its request [HTTP-021]', async (revision) => {
    const server = workshop()
    registerLogging(server)
    await using http = await serve(server)
    await using peer = await Peer.open(http.url, revision)
    const listening = await peer.get()
    const stream = await peer.call('logs')
    await stream.ended
    expect(stream.methods).toEqual(['notifications/message', undefined])
    expect(listening.messages).toEqual([])
  })

  eachRevision(
    beforeResuming,
    'stays open until the answer, whatever a handler asks for [HTTP-022]',
    async (revision) => {
      const server = workshop()
      const finish = gate()
      server.registerTool('leaves', {}, async (_, ctx) => {
        ctx.progress(1)
        ctx.closeStream({ retryMs: 1 })
        ctx.progress(2)
        await finish.opened
        return 'here'
      })
      await using http = await serve(server)
      await using peer = await Peer.open(http.url, revision)
      const stream = await peer.call('leaves', {}, withProgress)
      await stream.notified('notifications/progress', 2)
      expect(stream.isOver).toBe(false)
      finish.open()
      expect((await stream.response()).result?.content?.[0]?.text).toBe('here')
      expect(await stream.ended).toBe('ended')
    },
  )

  eachRevision(sessionRevisions, 'that is lost does not cancel its request [HTTP-025]', async (revision) => {
    const server = workshop()
    const slow = registerSlow(server)
    const done = gate<boolean>()
    server.use(async ({ ctx }, next) => {
      const result = await next()
      done.open(ctx.signal.aborted)
      return result
    })
    await using http = await serve(server)
    await using peer = await Peer.open(http.url, revision)
    const stream = await peer.call('slow', {}, withProgress)
    await stream.notified('notifications/progress')
    stream.close()
    await eventually(() => http.metrics.streams === 0)
    slow.finish('all the same')
    expect(await done.opened).toBe(false)
  })

  eachRevision(
    sessionRevisions,
    'notifications/cancelled does cancel it: the stream ends without an answer',
    async (revision) => {
      const server = workshop()
      const slow = registerSlow(server)
      await using http = await serve(server)
      await using peer = await Peer.open(http.url, revision)
      const stream = await peer.call('slow', {}, { ...withProgress, id: 12 })
      await slow.began
      expect((await peer.notify('notifications/cancelled', { requestId: 12, reason: 'enough' })).status).toBe(202)
      expect(await slow.aborted).toBe('enough')
      expect(await stream.ended).toBe('ended')
      expect(stream.methods).toEqual(['notifications/progress'])
    },
  )
})

describe(`going away on ${modern}`, () => {
  it('cancels the request whose stream is closed, and nothing more is sent [HTTP-054, HTTP-055, HTTP-056]', async () => {
    const server = workshop()
    const slow = registerSlow(server)
    await using http = await serve(server)
    await using peer = await Peer.open(http.url, modern)
    const stream = await peer.call('slow', {}, withProgress)
    await stream.notified('notifications/progress')
    stream.close()
    await slow.aborted
    slow.finish('too late')
    expect(await stream.ended).toBe('cut')
    expect(stream.methods).toEqual(['notifications/progress'])
    expect(http.metrics).toMatchObject({ streams: 0, calls: 0 })
  })

  it('cancels also before anything was streamed [HTTP-054, HTTP-055]', async () => {
    const server = workshop()
    const slow = registerSlow(server)
    await using http = await serve(server)
    const aborter = new AbortController()
    const { signal } = aborter
    await using peer = new Peer((ask) => door(http.url)({ ...ask, signal }), modern)
    const call = peer.call('slow').catch((error: Error) => error.name)
    await slow.began
    aborter.abort()
    expect(await call).toBe('AbortError')
    await slow.aborted
    await eventually(() => http.metrics.calls === 0)
  })

  it('cancels that request and no other [HTTP-054]', async () => {
    const server = workshop()
    const [first, second] = [registerSlow(server, 'first'), registerSlow(server, 'second')]
    await using http = await serve(server)
    await using peer = await Peer.open(http.url, modern)
    // Equal ids, as of two clients that count from 1.
    const one = await peer.call('first', {}, { ...withProgress, id: 1 })
    const two = await peer.call('second', {}, { ...withProgress, id: 1 })
    one.close()
    await first.aborted
    second.finish('unharmed')
    expect((await two.response()).result?.content?.[0]?.text).toBe('unharmed')
  })

  it('events have no ids, and nothing can be resumed [HTTP-060]', async () => {
    await using http = await serve(workshop())
    await using peer = await Peer.open(http.url, modern)
    const stream = await peer.call('steps', {}, withProgress)
    await stream.ended
    expect(stream.ids).toEqual([])
    expect(stream.events.every(({ event }) => event === 'message')).toBe(true)
  })
})

describe('the stream of a GET', () => {
  eachRevision(sessionRevisions, 'carries what belongs to no request [HTTP-031, HTTP-032]', async (revision) => {
    const server = workshop()
    await using http = await serve(server)
    await using peer = await Peer.open(http.url, revision)
    const stream = await peer.get()
    expect(stream.headers).toMatchObject({ 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' })
    server.sendPromptListChanged()
    server.sendLoggingMessage({ level: 'error', data: 'to everyone' })
    await stream.notified('notifications/message')
    await stream.notified('notifications/prompts/list_changed')
  })

  eachRevision(
    sessionRevisions,
    'never has an answer, nor anything else of a request [HTTP-033, HTTP-032, HTTP-062]',
    async (revision) => {
      const server = workshop()
      registerLogging(server)
      await using http = await serve(server)
      await using peer = await Peer.open(http.url, revision)
      const stream = await peer.get()
      for (const name of ['steps', 'logs', 'echo']) await (await peer.call(name, {}, withProgress)).response()
      server.sendToolListChanged()
      await stream.notified('notifications/tools/list_changed')
      // Only notifications of changes: no responses, and no requests either.
      expect(stream.messages.map(({ id, method }) => [id, method])).toEqual([
        [undefined, 'notifications/tools/list_changed'],
      ])
    },
  )

  eachRevision(sessionRevisions, 'may be closed by the client and opened again [HTTP-034]', async (revision) => {
    const server = workshop()
    await using http = await serve(server)
    await using peer = await Peer.open(http.url, revision)
    const first = await peer.get()
    first.close()
    await eventually(() => http.metrics.streams === 0)
    const second = await peer.get()
    server.sendToolListChanged()
    await second.notified('notifications/tools/list_changed')
  })

  eachRevision(sessionRevisions, 'is ended by the server when it closes [HTTP-034]', async (revision) => {
    await using http = await serve(workshop())
    await using peer = await Peer.open(http.url, revision)
    const stream = await peer.get()
    await http.close()
    expect(await stream.ended).toBe('ended')
  })

  eachRevision(sessionRevisions, 'brings what came before it was opened', async (revision) => {
    const server = workshop()
    await using http = await serve(server)
    await using peer = await Peer.open(http.url, revision)
    server.sendLoggingMessage({ level: 'error', data: 'early' })
    const stream = await peer.get()
    expect((await stream.notified('notifications/message')).params?.data).toBe('early')
  })
})

describe('several streams of one session', () => {
  eachRevision(sessionRevisions, 'each message is on exactly one of them [HTTP-036]', async (revision) => {
    const server = workshop()
    const slow = registerSlow(server)
    await using http = await serve(server)
    await using peer = await Peer.open(http.url, revision)
    const streams = [await peer.get(), await peer.get(), await peer.get(), await peer.call('slow', {}, withProgress)]
    const count = (kind: string) =>
      streams.flatMap(({ messages }) => messages).filter(({ params }) => params?.data === kind).length
    for (let nth = 1; nth <= 10; nth++) server.sendLoggingMessage({ level: 'error', data: `message ${nth}` })
    await eventually(() => count('message 10') > 0)
    slow.finish('done')
    await streams[3]!.ended
    // A round trip on the session, after which nothing that was sent before is still on its way.
    await peer.textOf('echo')
    for (let nth = 1; nth <= 10; nth++) expect(count(`message ${nth}`)).toBe(1)
    expect(streams[3]!.methods).toEqual(['notifications/progress', 'notifications/progress', undefined])
  })

  eachRevision(
    sessionRevisions,
    'when the one that is written to goes, another takes over [HTTP-036]',
    async (revision) => {
      const server = workshop()
      await using http = await serve(server)
      await using peer = await Peer.open(http.url, revision)
      const [first, second] = [await peer.get(), await peer.get()]
      server.sendLoggingMessage({ level: 'error', data: 1 })
      await first.notified('notifications/message')
      first.close()
      await eventually(() => http.metrics.streams === 1)
      server.sendLoggingMessage({ level: 'error', data: 2 })
      await second.notified('notifications/message')
      expect(second.messages.map(({ params }) => params?.data)).toEqual([2])
    },
  )

  eachRevision(sessionRevisions, 'events of all of them have different ids [SSE-012, SSE-013]', async (revision) => {
    const server = workshop()
    await using http = await serve(server)
    await using peer = await Peer.open(http.url, revision)
    await using other = await Peer.open(http.url, revision)
    const streams: Answer[] = [await peer.get(), await other.get()]
    for (let count = 0; count < 3; count++) {
      streams.push(await peer.call('steps', {}, withProgress), await other.call('steps', {}, withProgress))
    }
    server.sendToolListChanged()
    await Promise.all(streams.slice(0, 2).map((stream) => stream.notified('notifications/tools/list_changed')))
    await Promise.all(streams.slice(2).map(({ ended }) => ended))
    for (const { events } of streams) expect(events.every(({ id }) => id !== undefined && id !== '')).toBe(true)
    const ids = streams.flatMap((stream) => stream.ids)
    expect(new Set(ids).size).toBe(ids.length)
    // Whose stream an event was on can be told from its id: all that is before the last part is the same.
    const streamOf = (id: string) => id.slice(0, id.lastIndexOf('/'))
    const kinds = streams.map((stream) => new Set(stream.ids.map(streamOf)))
    expect(kinds.every(({ size }) => size === 1)).toBe(true)
    expect(new Set(kinds.map((kind) => [...kind][0])).size).toBe(streams.length)
  })

  it('2025-11-25: the id of an event names its stream [SSE-014]', async () => {
    await using http = await serve(workshop())
    await using peer = await Peer.open(http.url, '2025-11-25')
    const [one, two] = [await peer.call('steps', {}, withProgress), await peer.call('steps', {}, withProgress)]
    await Promise.all([one.ended, two.ended])
    const streamsOf = ({ ids }: Answer) => [...new Set(ids.map((id) => id.slice(0, id.lastIndexOf('/'))))]
    expect([streamsOf(one).length, streamsOf(two).length]).toEqual([1, 1])
    expect(streamsOf(one)).not.toEqual(streamsOf(two))
  })
})

describe('resuming', () => {
  eachRevision(
    sessionRevisions,
    'a POST stream goes on after the last event that was seen, nothing lost and nothing twice [SSE-016]',
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
    'a stream that ended meanwhile is replayed up to its answer [SSE-016, HTTP-033]',
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
      // A round trip later the tool has long returned.
      await peer.textOf('echo')
      const resumed = await peer.resume(stream.ids.at(-1)!)
      expect(await resumed.ended).toBe('ended')
      expect(resumed.messages.at(-1)).toMatchObject({ id: 55, result: { content: [{ text: 'while you were away' }] } })
      expect(resumed.methods).toEqual(['notifications/progress', undefined])
    },
  )

  eachRevision(sessionRevisions, 'a GET stream goes on too [SSE-016]', async (revision) => {
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

  eachRevision(sessionRevisions, 'nothing of another stream of the session is replayed [SSE-017]', async (revision) => {
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

  eachRevision(
    sessionRevisions,
    'an event of another session cannot be resumed from, not even with the own session id [SSE-017]',
    async (revision) => {
      await using http = await serve(workshop())
      await using alice = await Peer.open(http.url, revision)
      await using mallory = await Peer.open(http.url, revision)
      const stream = await alice.call('steps', {}, withProgress)
      await stream.ended
      for (const id of [...stream.ids, `${mallory.sessionId}/1/1`, 'garbage', '']) {
        const answer = await mallory.resume(id)
        expect([answer.status, (await answer.json()).error?.code]).toEqual([400, -32000])
      }
    },
  )

  it('without an event store events have no ids, and there is nothing to resume', async () => {
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

  it('a POST stream begins with an event that has an id and no data [SSE-019]', async () => {
    await using http = await serve(workshop())
    await using peer = await Peer.open(http.url, revision)
    const stream = await peer.call('steps', {}, withProgress)
    await stream.ended
    expect(stream.events[0]).toEqual({ id: stream.ids[0], data: '' })
    expect(stream.raw).toMatch(/^id: \S+\ndata: ?\n\n/)
  })

  it('a GET stream begins at once with an event that has an id and no data [SSE-019]', async () => {
    await using http = await serve(workshop())
    await using peer = await Peer.open(http.url, revision)
    const stream = await peer.get()
    const first = await stream.until(() => stream.events[0])
    expect([first.data, first.id !== undefined]).toEqual(['', true])
  })

  eachRevision([...beforeResuming, modern], 'other revisions have no such event', async (other) => {
    await using http = await serve(workshop())
    await using peer = await Peer.open(http.url, other)
    const stream = await peer.call('steps', {}, withProgress)
    await stream.ended
    expect(stream.events.every(({ data }) => data !== undefined && data !== '')).toBe(true)
  })

  it('can be resumed from that first event', async () => {
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

  it('a handler lets go of the connection: retry is said first, and the answer waits for the client [SSE-021, SSE-023]', async () => {
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

  it('the client may come back several times before the answer [SSE-021]', async () => {
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

describe('keep-alive', () => {
  eachRevision(httpRevisions, 'a quiet stream carries comments [HTTP-052]', async (revision) => {
    await using http = await serve(workshop(), { keepAliveMs: 5 })
    await using peer = await Peer.open(http.url, revision)
    const stream = revision === modern ? await peer.listen({ toolsListChanged: true }) : await peer.get()
    await stream.until(() => stream.comments.length >= 3)
    expect(stream.comments.every((line) => line.startsWith(':'))).toBe(true)
    expect(stream.messages.filter(({ method }) => method !== acknowledgement)).toEqual([])
  })
})

describe(`listening on ${modern}`, () => {
  const everything = {
    toolsListChanged: true,
    promptsListChanged: true,
    resourcesListChanged: true,
    resourceSubscriptions: ['note://a'],
  }

  function changeEverything(server: McpServer): void {
    server.sendResourceUpdated('note://a')
    server.sendResourceUpdated('note://b')
    server.sendToolListChanged()
    server.sendPromptListChanged()
    server.sendResourceListChanged()
  }

  const subscriptionOf = ({ params, result }: Answer['messages'][number]) =>
    (params?._meta ?? result?._meta)?.[metaKeys.subscriptionId]

  it('is answered with a stream that stays open and tells of changes [SUB-015, HTTP-051]', async () => {
    const server = workshop()
    await using http = await serve(server)
    await using peer = await Peer.open(http.url, modern)
    const stream = await peer.listen(everything)
    expect([stream.status, stream.type, stream.headers['x-accel-buffering']]).toEqual([200, 'text/event-stream', 'no'])
    await stream.notified(acknowledgement)
    for (let round = 1; round <= 3; round++) {
      server.sendResourceUpdated('note://a')
      await stream.notified('notifications/resources/updated', round)
    }
    expect(stream.isOver).toBe(false)
  })

  it('the acknowledgement is the first message, also when changes rain [SUB-003]', async () => {
    const server = workshop()
    await using http = await serve(server)
    await using peer = await Peer.open(http.url, modern)
    const rain = setInterval(() => server.sendResourceUpdated('note://a'), 0)
    try {
      for (let count = 0; count < 10; count++) {
        const stream = await peer.listen(everything)
        await stream.notified('notifications/resources/updated')
        expect(stream.methods[0]).toBe(acknowledgement)
        expect(stream.methods.filter((method) => method === acknowledgement)).toHaveLength(1)
        stream.close()
      }
    } finally {
      clearInterval(rain)
    }
  })

  for (const id of [7, 0, 'seven', '7']) {
    it(`every message carries the id ${JSON.stringify(id)} of the request [SUB-007]`, async () => {
      const server = workshop()
      await using http = await serve(server)
      await using peer = await Peer.open(http.url, modern)
      const stream = await peer.listen(everything, id)
      await stream.notified(acknowledgement)
      changeEverything(server)
      await stream.notified('notifications/resources/list_changed')
      await http.close()
      await stream.ended
      expect(stream.messages.length).toBeGreaterThanOrEqual(6)
      for (const message of stream.messages) expect(subscriptionOf(message)).toBe(id)
    })
  }

  for (const [wish, method] of [
    [{ toolsListChanged: true }, 'notifications/tools/list_changed'],
    [{ promptsListChanged: true }, 'notifications/prompts/list_changed'],
    [{ resourcesListChanged: true }, 'notifications/resources/list_changed'],
    [{ resourceSubscriptions: ['note://a'] }, 'notifications/resources/updated'],
  ] as const) {
    it(`who asked for ${Object.keys(wish)[0]} gets nothing else [SUB-002, SUB-005]`, async () => {
      const server = workshop()
      await using http = await serve(server)
      await using peer = await Peer.open(http.url, modern)
      const stream = await peer.listen(wish)
      const all = await peer.listen(everything)
      expect((await stream.notified(acknowledgement)).params?.notifications).toEqual(wish)
      await all.notified(acknowledgement)
      changeEverything(server)
      await all.notified('notifications/resources/list_changed')
      await stream.notified(method)
      expect(stream.methods).toEqual([acknowledgement, method])
    })
  }

  it('only what the server has is honoured [SUB-005]', async () => {
    const server = workshop({ capabilities: { tools: { listChanged: false }, resources: { subscribe: false } } })
    await using http = await serve(server)
    await using peer = await Peer.open(http.url, modern)
    const stream = await peer.listen(everything)
    expect((await stream.notified(acknowledgement)).params?.notifications).toEqual({
      promptsListChanged: true,
      resourcesListChanged: true,
    })
    changeEverything(server)
    await stream.notified('notifications/resources/list_changed')
    expect(stream.methods.slice(1).sort()).toEqual([
      'notifications/prompts/list_changed',
      'notifications/resources/list_changed',
    ])
  })

  it('progress and logs of requests are on their own streams, never on this one [HTTP-050, HTTP-049]', async () => {
    const server = workshop()
    registerLogging(server)
    await using http = await serve(server)
    await using peer = await Peer.open(http.url, modern)
    const listening = await peer.listen(everything)
    await listening.notified(acknowledgement)
    const meta = { progressToken: 1, [metaKeys.logLevel]: 'debug' }
    const calls = [await peer.call('steps', {}, { meta }), await peer.call('logs', {}, { meta })]
    for (const call of calls) await call.ended
    expect(calls.map(({ methods }) => methods[0])).toEqual(['notifications/progress', 'notifications/message'])
    server.sendLoggingMessage({ level: 'error', data: 'to every session' })
    server.sendToolListChanged()
    await listening.notified('notifications/tools/list_changed')
    expect(listening.methods).toEqual([acknowledgement, 'notifications/tools/list_changed'])
  })

  it('changes are not on the streams of other requests [HTTP-049]', async () => {
    const server = workshop()
    const slow = registerSlow(server)
    await using http = await serve(server)
    await using peer = await Peer.open(http.url, modern)
    const listening = await peer.listen(everything)
    const call = await peer.call('slow', {}, withProgress)
    await slow.began
    changeEverything(server)
    await listening.notified('notifications/resources/list_changed')
    slow.finish('done')
    await call.ended
    expect(call.methods).toEqual(['notifications/progress', 'notifications/progress', undefined])
  })

  it('closing the stream ends the subscription: the server keeps nothing of it [SUB-011, HTTP-054, HTTP-056]', async () => {
    const server = workshop()
    await using http = await serve(server)
    await using peer = await Peer.open(http.url, modern)
    const [leaving, staying] = [await peer.listen(everything, 1), await peer.listen(everything, 1)]
    await leaving.notified(acknowledgement)
    await staying.notified(acknowledgement)
    leaving.close()
    await eventually(() => http.metrics.streams === 1)
    changeEverything(server)
    await staying.notified('notifications/resources/list_changed')
    expect(leaving.methods).toEqual([acknowledgement])
    expect(http.metrics).toMatchObject({ streams: 1, calls: 1 })
  })

  it('a server that closes answers the request with its result and nothing else, then ends the stream [SUB-012]', async () => {
    await using http = await serve(workshop())
    await using peer = await Peer.open(http.url, modern)
    const stream = await peer.listen(everything, 'long')
    await stream.notified(acknowledgement)
    await http.close()
    expect(await stream.ended).toBe('ended')
    expect(stream.messages.at(-1)).toMatchObject({
      id: 'long',
      result: { resultType: 'complete', _meta: { [metaKeys.subscriptionId]: 'long' } },
    })
    expect(stream.methods).toEqual([acknowledgement, undefined])
  })

  it('a filter that is none is refused with an error and no stream', async () => {
    await using http = await serve(workshop())
    await using peer = await Peer.open(http.url, modern)
    const answer = await peer.request('subscriptions/listen', { notifications: 'all' })
    expect([answer.type, (await answer.json()).error?.code]).toEqual(['application/json', -32602])
    expect(http.metrics).toMatchObject({ streams: 0, calls: 0 })
  })
})

describe('closing the server', () => {
  eachRevision([...handshakes, modern], 'lets calls that are under way finish', async (revision) => {
    const server = workshop()
    const slow = registerSlow(server)
    await using http = await serve(server, { graceMs: 5_000 })
    await using peer = await Peer.open(http.url, revision)
    const call = peer.call('slow')
    await slow.began
    const closed = http.close()
    slow.finish('finished')
    expect((await (await call).response()).result?.content?.[0]?.text).toBe('finished')
    await closed
    expect(http.metrics).toMatchObject({ streams: 0, calls: 0, sessions: { open: 0 } })
  })
})

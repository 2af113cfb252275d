import { describe, expect, it } from 'vitest'
import { eventually } from '../../../kit/eventually.ts'
import { gate } from '../../../kit/gate.ts'
import { type Answer, overHttp } from '../../../kit/http-client.ts'
import { Peer } from '../../../kit/http-peer.ts'
import { eachRevision, handshakeRevisions, httpRevisions, modern, sessionRevisions } from '../../../kit/revisions.ts'
import { serve } from '../../../kit/serve-http.ts'
import { registerSlow, withProgress, workshop } from '../../../kit/workshop.ts'
import { acknowledgement, beforeResuming, registerLogging, registerStepwise } from './streams-support.ts'

const question = { type: 'text' as const, text: 'Shall I?' }

describe('the stream of a POST', () => {
  eachRevision(
    httpRevisions,
    'carries notifications, then the response, then ends [HTTP-019, HTTP-020, HTTP-024, HTTP-048]',
    async (revision) => {
      await using http = await serve(workshop())
      await using peer = await Peer.open(http.url, revision)
      const stream = await peer.call('steps', {}, { ...withProgress, id: 'mine' })
      expect(await stream.ended).toBe('ended')
      expect(stream.methods).toEqual([...Array(3).fill('notifications/progress'), undefined])
      expect(stream.messages.at(-1)).toMatchObject({ id: 'mine', result: { content: [{ text: 'three steps' }] } })
    },
  )

  eachRevision(
    sessionRevisions,
    'carries requests of the server to the client before the response, which the GET stream never does [HTTP-020, HTTP-062]',
    async (revision) => {
      const server = workshop()
      server.registerTool('ask', {}, async (_args, ctx) => {
        const { content } = await ctx.sample({ messages: [{ role: 'user', content: question }], maxTokens: 10 })
        const roots = await ctx.roots()
        return `${(content as { text: string }).text} in ${roots[0]?.uri}`
      })
      await using http = await serve(server)
      await using peer = await Peer.open(http.url, revision, { capabilities: { sampling: {}, roots: {} } })
      const listening = await peer.get()
      const stream = await peer.call('ask')
      const reply = async (method: string, result: Record<string, unknown>) => {
        const { id } = await stream.until(() => stream.messages.find((message) => message.method === method))
        expect((await peer.post({ jsonrpc: '2.0', id, result })).status).toBe(202)
      }
      const text = { type: 'text', text: 'Yes' }
      await reply('sampling/createMessage', { role: 'assistant', content: text, model: 'm' })
      await reply('roots/list', { roots: [{ uri: 'file:///home/ann' }] })
      expect(await stream.ended).toBe('ended')
      expect(stream.methods).toEqual(['sampling/createMessage', 'roots/list', undefined])
      expect(stream.messages.at(-1)?.result?.content?.[0]?.text).toBe('Yes in file:///home/ann')
      server.sendToolListChanged()
      await listening.notified('notifications/tools/list_changed')
      expect(listening.methods).toEqual(['notifications/tools/list_changed'])
    },
  )

  eachRevision(
    httpRevisions,
    'has headers that prevent buffering and transformation [HTTP-051, HTTP-063]',
    async (revision) => {
      await using http = await serve(workshop())
      await using peer = await Peer.open(http.url, revision)
      const stream = await peer.call('steps', {}, withProgress)
      expect(stream.headers).toMatchObject({
        'content-type': 'text/event-stream',
        'x-accel-buffering': 'no',
        'cache-control': 'no-cache, no-transform',
      })
    },
  )

  eachRevision(
    httpRevisions,
    'carries only messages of its own request [HTTP-021, HTTP-049, HTTP-061]',
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
    'stays open until the response, even if a handler calls closeStream [HTTP-022]',
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

  eachRevision(sessionRevisions, 'does not cancel its request when it is lost [HTTP-025]', async (revision) => {
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
    'ends without a response when notifications/cancelled cancels its request',
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

describe(`disconnecting on ${modern}`, () => {
  it('cancels the request whose stream is closed, and sends nothing more [HTTP-054, HTTP-055, HTTP-056]', async () => {
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

  it('cancels the request also before its stream begins [HTTP-054, HTTP-055]', async () => {
    const server = workshop()
    const slow = registerSlow(server)
    await using http = await serve(server)
    const aborter = new AbortController()
    const { signal } = aborter
    await using peer = new Peer((ask) => overHttp(http.url)({ ...ask, signal }), modern)
    const call = peer.call('slow').catch((error: Error) => error.name)
    await slow.began
    aborter.abort()
    expect(await call).toBe('AbortError')
    await slow.aborted
    await eventually(() => http.metrics.calls === 0)
  })

  it('cancels only that request [HTTP-054]', async () => {
    const server = workshop()
    const [first, second] = [registerSlow(server, 'first'), registerSlow(server, 'second')]
    await using http = await serve(server)
    await using peer = await Peer.open(http.url, modern)
    // Equal ids, as sent by two clients that count from 1.
    const one = await peer.call('first', {}, { ...withProgress, id: 1 })
    const two = await peer.call('second', {}, { ...withProgress, id: 1 })
    one.close()
    await first.aborted
    second.finish('unharmed')
    expect((await two.response()).result?.content?.[0]?.text).toBe('unharmed')
  })

  it('cannot be followed by resuming: events have no ids [HTTP-060]', async () => {
    await using http = await serve(workshop())
    await using peer = await Peer.open(http.url, modern)
    const stream = await peer.call('steps', {}, withProgress)
    await stream.ended
    expect(stream.ids).toEqual([])
    expect(stream.events.every(({ event }) => event === 'message')).toBe(true)
  })
})

describe('the GET stream', () => {
  it('starts with the latest 100 messages that had no stream to go to', async () => {
    const server = workshop()
    await using http = await serve(server)
    await using peer = await Peer.open(http.url, '2025-11-25')
    for (let nth = 1; nth <= 120; nth++) server.sendLoggingMessage({ level: 'error', data: nth })
    const stream = await peer.get()
    await stream.notified('notifications/message', 100)
    server.sendLoggingMessage({ level: 'error', data: 'end' })
    await stream.until(() => stream.messages.find(({ params }) => params?.data === 'end'))
    const data = stream.messages.map(({ params }) => params?.data)
    expect(data).toEqual([...Array.from({ length: 100 }, (_, index) => 21 + index), 'end'])
  })

  it('gets the latest 100 messages of the time before notifications/initialized after it', async () => {
    const server = workshop()
    await using http = await serve(server)
    await using peer = new Peer(http.url, '2025-11-25')
    const opening = await peer.request('initialize', peer.greeting())
    peer.sessionId = opening.headers['mcp-session-id']
    await opening.ended
    const stream = await peer.get()
    for (let nth = 1; nth <= 120; nth++) server.sendLoggingMessage({ level: 'error', data: nth })
    await peer.notify('notifications/initialized')
    server.sendLoggingMessage({ level: 'error', data: 'end' })
    await stream.until(() => stream.messages.find(({ params }) => params?.data === 'end'))
    const data = stream.messages.map(({ params }) => params?.data)
    expect(data).toEqual([...Array.from({ length: 100 }, (_, index) => 21 + index), 'end'])
  })

  eachRevision(
    sessionRevisions,
    'carries messages without a request [HTTP-031, HTTP-032, HTTP-063]',
    async (revision) => {
      const server = workshop()
      await using http = await serve(server)
      await using peer = await Peer.open(http.url, revision)
      const stream = await peer.get()
      expect(stream.headers).toMatchObject({ 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' })
      server.sendPromptListChanged()
      server.sendLoggingMessage({ level: 'error', data: 'to everyone' })
      await stream.notified('notifications/message')
      await stream.notified('notifications/prompts/list_changed')
    },
  )

  eachRevision(
    sessionRevisions,
    'never carries responses or other messages of a request [HTTP-033, HTTP-032]',
    async (revision) => {
      const server = workshop()
      registerLogging(server)
      await using http = await serve(server)
      await using peer = await Peer.open(http.url, revision)
      const stream = await peer.get()
      for (const name of ['steps', 'logs', 'echo']) await (await peer.call(name, {}, withProgress)).response()
      server.sendToolListChanged()
      await stream.notified('notifications/tools/list_changed')
      // Only change notifications: no responses and no requests.
      expect(stream.messages.map(({ id, method }) => [id, method])).toEqual([
        [undefined, 'notifications/tools/list_changed'],
      ])
    },
  )

  eachRevision(sessionRevisions, 'can be closed by the client and opened again [HTTP-034]', async (revision) => {
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

  eachRevision(sessionRevisions, 'is ended by the server on close [HTTP-034]', async (revision) => {
    await using http = await serve(workshop())
    await using peer = await Peer.open(http.url, revision)
    const stream = await peer.get()
    await http.close()
    expect(await stream.ended).toBe('ended')
  })

  eachRevision(sessionRevisions, 'delivers messages from before it was opened', async (revision) => {
    const server = workshop()
    await using http = await serve(server)
    await using peer = await Peer.open(http.url, revision)
    server.sendLoggingMessage({ level: 'error', data: 'early' })
    const stream = await peer.get()
    expect((await stream.notified('notifications/message')).params?.data).toBe('early')
  })
})

describe('several streams of one session', () => {
  eachRevision(sessionRevisions, 'carry each message exactly once [HTTP-036]', async (revision) => {
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
    // After this round trip on the session, nothing sent before is still in transit.
    await peer.textOf('echo')
    for (let nth = 1; nth <= 10; nth++) expect(count(`message ${nth}`)).toBe(1)
    expect(streams[3]!.methods).toEqual(['notifications/progress', 'notifications/progress', undefined])
  })

  eachRevision(sessionRevisions, 'replace each other when the active one is closed [HTTP-036]', async (revision) => {
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
  })

  eachRevision(sessionRevisions, 'have different event ids [SSE-012, SSE-013]', async (revision) => {
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
    // The stream of an event is encoded in its id: everything before the last part is the same.
    const streamOf = (id: string) => id.slice(0, id.lastIndexOf('/'))
    const kinds = streams.map((stream) => new Set(stream.ids.map(streamOf)))
    expect(kinds.every(({ size }) => size === 1)).toBe(true)
    expect(new Set(kinds.map((kind) => [...kind][0])).size).toBe(streams.length)
  })

  it('2025-11-25: are identified by their event ids [SSE-014]', async () => {
    await using http = await serve(workshop())
    await using peer = await Peer.open(http.url, '2025-11-25')
    const [one, two] = [await peer.call('steps', {}, withProgress), await peer.call('steps', {}, withProgress)]
    await Promise.all([one.ended, two.ended])
    const streamsOf = ({ ids }: Answer) => [...new Set(ids.map((id) => id.slice(0, id.lastIndexOf('/'))))]
    expect([streamsOf(one).length, streamsOf(two).length]).toEqual([1, 1])
    expect(streamsOf(one)).not.toEqual(streamsOf(two))
  })
})

describe('keep-alive', () => {
  eachRevision(httpRevisions, 'sends comments on an idle stream [HTTP-052]', async (revision) => {
    await using http = await serve(workshop(), { keepAliveMs: 5 })
    await using peer = await Peer.open(http.url, revision)
    const stream = revision === modern ? await peer.listen({ toolsListChanged: true }) : await peer.get()
    await stream.until(() => stream.comments.length >= 3)
    expect(stream.comments.every((line) => line.startsWith(':'))).toBe(true)
    expect(stream.messages.filter(({ method }) => method !== acknowledgement)).toEqual([])
  })
})

describe('closing the server', () => {
  eachRevision([...handshakeRevisions, modern], 'lets pending calls finish', async (revision) => {
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

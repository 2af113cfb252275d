import { describe, expect, it } from 'vitest'
import { eventually } from '../../../kit/eventually.ts'
import { sessionRevisions } from '../../../kit/revisions.ts'
import { createServer, expectRefusal, RawClient, serve } from './support.ts'

describe.each([...sessionRevisions])('an abused HTTP session (%s)', (revision) => {
  const owned = (user: string) => ({ 'X-User': user })

  async function serveUsers() {
    const server = createServer()
    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    server.registerTool('wait', {}, async (_args, ctx) => {
      ctx.notify('notifications/message', { level: 'info', data: 'begun' })
      await held
      return 'waited'
    })
    const served = await serve(server, { principal: (request) => request.header('x-user') })
    return { server, served, release }
  }

  it.each(['CVE-2026-52869', 'CVE-2026-67431'])(
    '%s: is rejected for every other caller, with any method [SESS-012, SESS-014]',
    async () => {
      const { served, release } = await serveUsers()
      const alice = await RawClient.open(served.port, revision, owned('alice'))
      const stream = await alice.listen()
      const called = await alice.stream(alice.call('w', 'wait'))
      await called.message(({ method }) => method === 'notifications/message')
      for (const thief of [
        owned('mallory'),
        owned(''),
        owned('Alice'),
        owned('alice, alice'),
        { 'X-User': undefined },
      ]) {
        expectRefusal(await alice.post(alice.call(1, 'echo'), thief), 404, -32001)
        expectRefusal(await alice.post(alice.initialize(1), thief), 404, -32001)
        expectRefusal(await alice.post('{"jsonrpc":"2.0","id":"w","result":{}}', thief), 404, -32001)
        const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'w' } }
        expectRefusal(await alice.post(JSON.stringify(cancel), thief), 404, -32001)
        expectRefusal(await alice.get(thief), 404, -32001)
        expectRefusal(await alice.get({ ...thief, 'Last-Event-ID': `${alice.sessionId}/1/1` }), 404, -32001)
        expectRefusal(await alice.delete(thief), 404, -32001)
      }
      release()
      expect((await called.message(({ id }) => id === 'w')).result?.content?.[0]?.text).toBe('waited')
      expect(stream.connection.ended).toBe(false)
      await alice.stillServes()
    },
  )

  it('answers the same for a session of another caller and for an unknown session', async () => {
    const { served } = await serveUsers()
    const alice = await RawClient.open(served.port, revision, owned('alice'))
    const foreign = await alice.post(alice.call(1, 'echo'), owned('mallory'))
    const unknown = await alice.post(alice.call(1, 'echo'), { 'Mcp-Session-Id': 'x'.repeat(43) })
    const dated = (headers: ReadonlyMap<string, string>) => new Map([...headers].filter(([name]) => name !== 'date'))
    expect({ ...foreign, headers: dated(foreign.headers), body: 0 }).toEqual({
      ...unknown,
      headers: dated(unknown.headers),
      body: 0,
    })
  })

  it('CVE-2026-33946: keeps sending messages to the first GET stream when a second one opens [HTTP-036]', async () => {
    const { server, served } = await serveUsers()
    const client = await RawClient.open(served.port, revision)
    const first = await client.listen()
    const second = await client.listen()
    server.server.sendLoggingMessage({ level: 'info', data: 'for the first' })
    expect((await first.message()).params?.data).toBe('for the first')
    await client.stillServes()
    const messages = () => second.connection.waiting.toString().includes('for the first')
    expect(messages()).toBe(false)
    first.connection.destroy()
    await eventually(() => served.metrics.streams === 1)
  })

  it('rejects session ids that are unknown, malformed or repeated, and adopts none of them [SESS-008]', async () => {
    const { served } = await serveUsers()
    const client = await RawClient.open(served.port, revision)
    const own = client.sessionId!
    const ids = [
      'x',
      '',
      `${own} `.trim().slice(1),
      own.toUpperCase(),
      '../..',
      '__proto__',
      'constructor',
      '\u00e9',
      'a b',
      'x'.repeat(10_000),
    ]
    for (const id of [...ids, [own, own], [own, 'x'], ['x', own]]) {
      expectRefusal(await client.post(client.call(1, 'echo'), { 'Mcp-Session-Id': id }), 404, -32001)
      expectRefusal(await client.get({ 'Mcp-Session-Id': id }), 404, -32001)
      expectRefusal(await client.delete({ 'Mcp-Session-Id': id }), 404, -32001)
      expectRefusal(await client.post(client.initialize(), { 'Mcp-Session-Id': id }), 404, -32001)
    }
    expect(served.metrics.sessions.opened).toBe(1)
    await client.stillServes()
  })

  it('rejects requests without a session id where one is required [SESS-006]', async () => {
    const { served } = await serveUsers()
    const client = await RawClient.open(served.port, revision)
    const none = { 'Mcp-Session-Id': undefined }
    expectRefusal(await client.post(client.call(1, 'echo'), none), 400, -32000)
    expectRefusal(await client.post('{"jsonrpc":"2.0","method":"notifications/initialized"}', none), 400, -32000)
    expectRefusal(await client.post(`[${client.initialize()}]`, none), 400, -32000)
    expectRefusal(await client.get(none), 400, -32000)
    expectRefusal(await client.delete(none), 400, -32000)
    expect(served.metrics.sessions.open).toBe(1)
    await client.stillServes()
  })

  it('rejects a second initialize, also in a batch, and keeps the session [RPC-022]', async () => {
    const { served } = await serveUsers()
    const client = await RawClient.open(served.port, revision)
    expectRefusal(await client.post(client.initialize(7)), 400, -32600)
    const other = client.initialize(7).replace(revision, '2024-11-05')
    expectRefusal(await client.post(other), 400, -32600)
    if (revision === '2025-03-26') {
      const [answer] = (await client.post(`[${client.initialize(8)}]`)).json as unknown as { error: { code: number } }[]
      expect(answer?.error.code).toBe(-32600)
    }
    expect(served.metrics.sessions.open).toBe(1)
    await client.stillServes()
  })

  it('creates no session for an initialize that fails', async () => {
    const { served } = await serveUsers()
    const client = await RawClient.open(served.port, revision)
    for (const body of [
      '{"jsonrpc":"2.0","id":1,"method":"initialize"}',
      '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}',
      '{"jsonrpc":"2.0","id":null,"method":"initialize","params":{}}',
      '{"id":1,"method":"initialize","params":{}}',
      client.initialize(1).replace('"capabilities":{}', '"capabilities":7'),
    ]) {
      const response = await client.post(body, { 'Mcp-Session-Id': undefined, 'MCP-Protocol-Version': undefined })
      expect([-32600, -32602]).toContain(response.json.error?.code)
      expect(response.headers.get('mcp-session-id')).toBeUndefined()
    }
    expect(served.metrics.sessions.open).toBe(1)
    await client.stillServes()
  })

  it('ends after DELETE, for every method, and its streams end [SESS-008]', async () => {
    const { served } = await serveUsers()
    const client = await RawClient.open(served.port, revision)
    const stream = await client.listen()
    expect((await client.delete()).status).toBe(200)
    expect(await stream.rest()).toEqual([])
    expectRefusal(await client.post(client.call(1, 'echo')), 404, -32001)
    expectRefusal(await client.get(), 404, -32001)
    expectRefusal(await client.get({ 'Last-Event-ID': `${client.sessionId}/1/1` }), 404, -32001)
    expectRefusal(await client.delete(), 404, -32001)
    expect(served.metrics).toMatchObject({ sessions: { open: 0 }, streams: 0, calls: 0 })
    const other = await RawClient.open(served.port, revision)
    await other.stillServes()
  })

  it('rejects a Last-Event-ID that is forged, foreign, malformed or repeated [SSE-017]', async () => {
    const { server, served } = await serveUsers()
    const [alice, bob] = [await RawClient.open(served.port, revision), await RawClient.open(served.port, revision)]
    const stream = await alice.listen()
    server.server.sendLoggingMessage({ level: 'info', data: 'a secret of alice' })
    const { id } = (await stream.next(({ data }) => Boolean(data)))!
    const number = Number(id!.slice(id!.lastIndexOf('/') + 1))
    const [session, at] = [bob.sessionId!, id!.slice(0, id!.lastIndexOf('/'))]
    const ids = [
      id!,
      `${at}/${number - 1}`,
      `${at}/0`,
      `${at}/-1`,
      `${at}/`,
      `${session}/1/${number}`,
      `${session}/1/${number - 1}`,
      `${session}/../${alice.sessionId}/1/${number - 1}`,
      `${session}`,
      `${session}/`,
      `${session}/__proto__/1`,
      '__proto__/1',
      '',
      '0',
      '\u00e9',
      'x'.repeat(10_000),
      [id!, id!],
    ]
    for (const lastEventId of ids) expectRefusal(await bob.get({ 'Last-Event-ID': lastEventId }), 400, -32000)
    // The id before the first message belongs to the event that opens the stream on 2025-11-25, and to Alice.
    for (const lastEventId of ids.slice(2))
      expectRefusal(await alice.get({ 'Last-Event-ID': lastEventId }), 400, -32000)
    await alice.stillServes()
    await bob.stillServes()
  })

  it('rejects a request id that is still in progress, but only within the same session', async () => {
    const { served, release } = await serveUsers()
    const [alice, bob] = [await RawClient.open(served.port, revision), await RawClient.open(served.port, revision)]
    const called = await alice.stream(alice.call('same', 'wait'))
    await called.message()
    expectRefusal(await alice.post(alice.call('same', 'echo')), 400, -32600)
    expect((await bob.post(bob.call('same', 'echo', { bob: 1 }))).json.result?.content?.[0]?.text).toBe('{"bob":1}')
    const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'same' } }
    expect((await bob.post(JSON.stringify(cancel))).status).toBe(202)
    release()
    expect((await called.message(({ id }) => id === 'same')).result?.content?.[0]?.text).toBe('waited')
  })

  it('CVE-2025-53365: keeps serving when clients disconnect in the middle of their streams', async () => {
    const { server, served, release } = await serveUsers()
    const client = await RawClient.open(served.port, revision)
    const streams = [await client.stream(client.call('gone', 'wait')), await client.listen()]
    await streams[0]!.message()
    for (const stream of streams) stream.connection.socket.resetAndDestroy()
    for (let at = 0; at < 50; at++) server.server.sendLoggingMessage({ level: 'info', data: 'x'.repeat(10_000) })
    release()
    await eventually(() => served.metrics.streams === 0)
    await client.stillServes()
  })

  it('rejects more streams than maxStreamsPerSession', async () => {
    const served = await serve(createServer(), { maxStreamsPerSession: 2 })
    const client = await RawClient.open(served.port, revision)
    const streams = [await client.listen(), await client.listen()]
    const refused = await client.get()
    expectRefusal(refused, 429, -32000)
    expect(refused.headers.get('retry-after')).toBeDefined()
    streams[0]!.connection.destroy()
    await eventually(() => served.metrics.streams === 1)
    await client.listen()
    await client.stillServes()
  })
})

import { type RevisionId, revisionIds } from 'tenon'
import { describe, expect, it } from 'vitest'
import { Peer } from '../../../kit/http-peer.ts'
import type { Message } from '../../../kit/message.ts'
import { eachRevision, handshakeRevisions, httpRevisions, modern, sessionRevisions } from '../../../kit/revisions.ts'
import { serve } from '../../../kit/serve-http.ts'
import { onlyModern, withProgress, workshop } from '../../../kit/workshop.ts'

describe('one endpoint', () => {
  eachRevision(sessionRevisions, 'one path accepts POST and GET [HTTP-001, HTTP-029]', async (revision) => {
    await using http = await serve(workshop())
    await using peer = await Peer.open(http.url, revision)
    expect(await peer.textOf('echo', { text: 'by POST' })).toBe('by POST')
    const stream = await peer.get()
    expect([stream.status, stream.type]).toEqual([200, 'text/event-stream'])
  })

  it(`${modern}: one path accepts POST, and the first message can be any request [HTTP-002]`, async () => {
    await using http = await serve(workshop())
    await using peer = await Peer.open(http.url, modern)
    expect(await peer.textOf('echo', { text: 'by POST' })).toBe('by POST')
  })

  it('answers other paths with 404, and the path is configurable', async () => {
    await using http = await serve(workshop(), { path: '/tools/v1' })
    expect(new URL(http.url).pathname).toBe('/tools/v1')
    await using peer = await Peer.open(http.url, modern)
    expect(await peer.textOf('echo', { text: 'here' })).toBe('here')
    const elsewhere = await peer.door({ path: '/mcp', body: '{}' })
    expect(elsewhere.status).toBe(404)
    expect(JSON.parse(await elsewhere.text()).error.message).toContain('/tools/v1')
  })

  for (const method of ['PUT', 'PATCH', 'OPTIONS']) {
    it(`answers ${method} with 405 and the allowed methods [HTTP-030]`, async () => {
      await using http = await serve(workshop())
      await using peer = new Peer(http.url, '2025-11-25')
      const answer = await peer.send(method, {})
      expect([answer.status, answer.headers.allow]).toEqual([405, 'GET, POST, DELETE'])
    })
  }

  for (const method of ['GET', 'DELETE', 'PUT']) {
    it(`answers ${method} with 405 where only ${modern} is served [HTTP-058, HTTP-030]`, async () => {
      await using http = await serve(workshop(onlyModern))
      await using peer = new Peer(http.url, modern)
      const answer = await peer.send(method, { accept: 'text/event-stream', 'mcp-session-id': 'some' })
      expect([answer.status, answer.headers.allow]).toEqual([405, 'POST'])
    })
  }
})

describe('notifications and responses', () => {
  eachRevision(httpRevisions, 'a notification is answered with 202 and no body [HTTP-013]', async (revision) => {
    await using http = await serve(workshop())
    await using peer = await Peer.open(http.url, revision)
    const answer = await peer.notify('notifications/progress', { progressToken: 1, progress: 1 })
    expect([answer.status, await answer.text()]).toEqual([202, ''])
  })

  eachRevision(sessionRevisions, 'a response is answered with 202 and no body [HTTP-013]', async (revision) => {
    await using http = await serve(workshop({ onError: () => {} }))
    await using peer = await Peer.open(http.url, revision)
    for (const body of [{ result: {} }, { error: { code: -32603, message: 'no' } }]) {
      const answer = await peer.post({ jsonrpc: '2.0', id: 77, ...body })
      expect([answer.status, await answer.text()]).toEqual([202, ''])
    }
  })

  eachRevision(sessionRevisions, 'a notification without a session is a 400 [HTTP-014]', async (revision) => {
    await using http = await serve(workshop())
    await using peer = new Peer(http.url, revision)
    const answer = await peer.notify('notifications/initialized')
    expect([answer.status, (await answer.json()).error?.code]).toEqual([400, -32000])
  })

  eachRevision(sessionRevisions, 'a response without a session is a 400 [HTTP-014]', async (revision) => {
    await using http = await serve(workshop())
    await using peer = new Peer(http.url, revision)
    expect((await peer.post({ jsonrpc: '2.0', id: 1, result: {} })).status).toBe(400)
  })

  eachRevision(
    httpRevisions,
    'a malformed notification is a 400 with an error without a request id [HTTP-014, HTTP-015]',
    async (revision) => {
      await using http = await serve(workshop())
      await using peer = await Peer.open(http.url, revision)
      const body = { jsonrpc: '2.0', method: 'notifications/progress', params: [1] } as unknown as Message
      const answer = await peer.post(body)
      const message = await answer.json()
      expect([answer.status, message.error?.code, message.id ?? 'none']).toEqual([400, -32600, 'none'])
    },
  )

  it(`${modern}: a response of a client is a 400, because servers send no requests [HTTP-014]`, async () => {
    await using http = await serve(workshop())
    await using peer = new Peer(http.url, modern)
    const answer = await peer.post({ jsonrpc: '2.0', id: 1, result: {} })
    expect([answer.status, (await answer.json()).error?.code]).toEqual([400, -32600])
  })
})

describe('JSON responses and stream responses', () => {
  eachRevision(
    httpRevisions,
    'a request is answered with JSON, or with a stream if notifications come first [HTTP-016]',
    async (revision) => {
      await using http = await serve(workshop())
      await using peer = await Peer.open(http.url, revision)
      const plain = await peer.call('steps')
      expect([plain.status, plain.type]).toEqual([200, 'application/json'])
      expect((await plain.json()).result?.content).toEqual([{ type: 'text', text: 'three steps' }])
      const stream = await peer.call('steps', {}, withProgress)
      expect([stream.status, stream.type]).toEqual([200, 'text/event-stream'])
      expect((await stream.response()).result?.content).toEqual([{ type: 'text', text: 'three steps' }])
    },
  )

  eachRevision(httpRevisions, 'enableJsonResponse returns every response as JSON [SDK-004]', async (revision) => {
    await using http = await serve(workshop(), { enableJsonResponse: true })
    await using peer = await Peer.open(http.url, revision)
    const answer = await peer.call('steps', {}, withProgress)
    expect([answer.status, answer.type]).toEqual([200, 'application/json'])
    expect((await answer.json()).result?.content).toEqual([{ type: 'text', text: 'three steps' }])
  })

  eachRevision(httpRevisions, 'errors before a stream begins are JSON too', async (revision) => {
    await using http = await serve(workshop())
    await using peer = await Peer.open(http.url, revision)
    const answer = await peer.request('resources/read', { uri: 'note://none' }, { id: 'abc' })
    expect([answer.status, answer.type, (await answer.json()).id]).toEqual([200, 'application/json', 'abc'])
  })

  for (const [type, accepted] of [
    ['application/json', true],
    ['application/json; charset=utf-8', true],
    ['APPLICATION/JSON', true],
    ['text/plain', false],
    ['application/jsonx', false],
    [undefined, false],
  ] as const) {
    eachRevision(
      ['2025-11-25', modern],
      `a POST with content type ${type ?? 'none'} is ${accepted ? 'accepted' : 'rejected with 415'}`,
      async (revision) => {
        await using http = await serve(workshop())
        await using peer = await Peer.open(http.url, revision)
        const answer = await peer.request('tools/list', {}, { headers: { 'content-type': type } })
        expect(answer.status).toBe(accepted ? 200 : 415)
      },
    )
  }

  for (const [accept, accepted] of [
    ['application/json, text/event-stream', true],
    ['text/event-stream,application/json;q=0.9', true],
    ['*/*', true],
    ['application/*, text/*', true],
    ['Application/JSON, Text/Event-Stream', true],
    ['application/json', false],
    ['text/event-stream', false],
    ['application/json, text/event-stream;q=0', false],
    [undefined, false],
  ] as const) {
    eachRevision(
      ['2025-11-25', modern],
      `a POST with Accept ${accept ?? 'none'} is ${accepted ? 'answered' : 'rejected with 406'}`,
      async (revision) => {
        await using http = await serve(workshop())
        await using peer = await Peer.open(http.url, revision)
        const answer = await peer.request('tools/list', {}, { headers: { accept } })
        expect(answer.status).toBe(accepted ? 200 : 406)
      },
    )
  }

  eachRevision(sessionRevisions, 'a GET that does not accept event streams is rejected with 406', async (revision) => {
    await using http = await serve(workshop())
    await using peer = await Peer.open(http.url, revision)
    expect((await peer.get({ accept: 'application/json' })).status).toBe(406)
    expect((await peer.get({ accept: '*/*' })).status).toBe(200)
  })
})

describe('the protocol version of a session', () => {
  eachRevision(
    handshakeRevisions,
    'initialize is answered with the requested version [VER-004, VER-029]',
    async (revision) => {
      await using http = await serve(workshop())
      await using peer = await Peer.open(http.url, revision)
      expect(await peer.textOf('revision')).toBe(revision)
    },
  )

  for (const asked of ['1999-01-01', modern, 'latest']) {
    it(`initialize with ${asked} is answered with the newest handshake version [VER-005, VER-006]`, async () => {
      await using http = await serve(workshop())
      await using peer = new Peer(http.url, '2025-11-25')
      const answer = await peer.request('initialize', { ...peer.greeting(), protocolVersion: asked })
      expect((await answer.json()).result?.protocolVersion).toBe('2025-11-25')
      expect(answer.headers['mcp-session-id']).toBeDefined()
    })
  }

  eachRevision(
    sessionRevisions,
    'a session keeps the version of its handshake without a version header [HTTP-039]',
    async (revision) => {
      await using http = await serve(workshop())
      await using peer = await Peer.open(http.url, revision)
      const answer = await peer.call('revision', {}, { headers: { 'mcp-protocol-version': undefined } })
      expect((await answer.response()).result?.content?.[0]?.text).toBe(revision)
    },
  )

  it('without sessions and a version header, 2025-03-26 is assumed [HTTP-039, HTTP-046]', async () => {
    await using http = await serve(workshop(), { sessions: false })
    await using peer = new Peer(http.url, '2025-03-26')
    expect(await peer.textOf('revision')).toBe('2025-03-26')
  })

  for (const version of ['1999-01-01', 'nonsense', '2025-11-25, 2025-06-18', modern]) {
    eachRevision(
      ['2025-06-18', '2025-11-25'],
      `the version header "${version}" is rejected with 400 on GET [HTTP-040]`,
      async (revision) => {
        await using http = await serve(workshop())
        await using peer = await Peer.open(http.url, revision)
        expect((await peer.get({ 'mcp-protocol-version': version })).status).toBe(400)
      },
    )

    eachRevision(
      ['2025-06-18', '2025-11-25'],
      `the version header "${version}" is rejected with 400 on DELETE, and the session continues [HTTP-040]`,
      async (revision) => {
        await using http = await serve(workshop())
        await using peer = await Peer.open(http.url, revision)
        const headers = { 'mcp-protocol-version': version, 'content-type': undefined }
        expect((await peer.send('DELETE', headers)).status).toBe(400)
        expect(await peer.textOf('echo', { text: 'still there' })).toBe('still there')
      },
      it,
    )
  }

  for (const version of ['1999-01-01', 'nonsense', '2025-11-25, 2025-06-18']) {
    eachRevision(
      ['2025-06-18', '2025-11-25'],
      `the version header "${version}" is rejected with 400 on POST, with the supported versions [HTTP-040]`,
      async (revision) => {
        await using http = await serve(workshop())
        await using peer = await Peer.open(http.url, revision)
        const answer = await peer.request('tools/list', {}, { id: 9, headers: { 'mcp-protocol-version': version } })
        const { id, error } = await answer.json()
        expect([answer.status, id]).toEqual([400, 9])
        expect(error?.data).toEqual({ supported: newestFirst, requested: version })
        const silent = await peer.post({ jsonrpc: '2.0', method: 'x' }, { 'mcp-protocol-version': version })
        expect(silent.status).toBe(400)
      },
    )
  }

  it('a session keeps its version when a header names another supported one [VER-008]', async () => {
    await using http = await serve(workshop())
    await using peer = await Peer.open(http.url, '2025-06-18')
    const answer = await peer.call('revision', {}, { headers: { 'mcp-protocol-version': '2025-11-25' } })
    expect((await answer.response()).result?.content?.[0]?.text).toBe('2025-06-18')
    expect(await peer.textOf('revision')).toBe('2025-06-18')
  })

  it('serves clients of every revision at the same time on one URL [VER-030, VER-029, VER-028]', async () => {
    await using http = await serve(workshop())
    const peers = await Promise.all(revisionIds.map((revision) => Peer.open(http.url, revision)))
    const seen = await Promise.all([...peers, ...peers].map((peer) => peer.textOf('revision')))
    expect(seen).toEqual([...revisionIds, ...revisionIds])
    for (const peer of peers) await peer[Symbol.asyncDispose]()
  })

  it('a session is not affected by 2026-07-28 requests, even with its id [VER-028, VER-029, HTTP-059]', async () => {
    await using http = await serve(workshop())
    await using old = await Peer.open(http.url, '2025-06-18')
    await using young = new Peer(http.url, modern, { headers: { 'mcp-session-id': old.sessionId! } })
    expect(await young.textOf('revision')).toBe(modern)
    expect(await young.textOf('session')).toBe('none')
    expect(await old.textOf('revision')).toBe('2025-06-18')
  })
})

const newestFirst: RevisionId[] = [...revisionIds].sort().reverse()

import { metaKeys, type RevisionId, revisionIds } from 'tenon'
import { ProtocolError, RpcCode, Server, serveHttp } from 'tenon/server'
import { describe, expect, it } from 'vitest'
import {
  type Answer,
  eachRevision,
  handshakes,
  httpRevisions,
  type Message,
  modern,
  onlyModern,
  Peer,
  serve,
  sessionRevisions,
  withProgress,
  workshop,
} from './support.ts'

describe('one endpoint', () => {
  eachRevision(sessionRevisions, 'one path takes POST and GET [HTTP-001, HTTP-029]', async (revision) => {
    await using http = await serve(workshop())
    await using peer = await Peer.open(http.url, revision)
    expect(await peer.textOf('echo', { text: 'by POST' })).toBe('by POST')
    const stream = await peer.get()
    expect([stream.status, stream.type]).toEqual([200, 'text/event-stream'])
  })

  it(`${modern}: one path takes POST, and the first message may be any request [HTTP-002]`, async () => {
    await using http = await serve(workshop())
    await using peer = await Peer.open(http.url, modern)
    expect(await peer.textOf('echo', { text: 'by POST' })).toBe('by POST')
  })

  it('answers other paths with 404, and the path can be chosen', async () => {
    await using http = await serve(workshop(), { path: '/tools/v1' })
    expect(new URL(http.url).pathname).toBe('/tools/v1')
    await using peer = await Peer.open(http.url, modern)
    expect(await peer.textOf('echo', { text: 'here' })).toBe('here')
    const elsewhere = await peer.door({ path: '/mcp', body: '{}' })
    expect(elsewhere.status).toBe(404)
    expect(JSON.parse(await elsewhere.text()).error.message).toContain('/tools/v1')
  })

  for (const method of ['PUT', 'PATCH', 'OPTIONS']) {
    it(`answers ${method} with 405 and the methods that are served [HTTP-030]`, async () => {
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

  eachRevision(sessionRevisions, 'a notification outside of a session is a 400 [HTTP-014]', async (revision) => {
    await using http = await serve(workshop())
    await using peer = new Peer(http.url, revision)
    const answer = await peer.notify('notifications/initialized')
    expect([answer.status, (await answer.json()).error?.code]).toEqual([400, -32000])
  })

  eachRevision(sessionRevisions, 'a response outside of a session is a 400 [HTTP-014]', async (revision) => {
    await using http = await serve(workshop())
    await using peer = new Peer(http.url, revision)
    expect((await peer.post({ jsonrpc: '2.0', id: 1, result: {} })).status).toBe(400)
  })

  eachRevision(
    httpRevisions,
    'a malformed notification is a 400 with an error that answers no request [HTTP-014, HTTP-015]',
    async (revision) => {
      await using http = await serve(workshop())
      await using peer = await Peer.open(http.url, revision)
      const body = { jsonrpc: '2.0', method: 'notifications/progress', params: [1] } as unknown as Message
      const answer = await peer.post(body)
      const message = await answer.json()
      expect([answer.status, message.error?.code, message.id ?? 'none']).toEqual([400, -32600, 'none'])
    },
  )

  it(`${modern}: a response of a client is a 400, because this revision has none [HTTP-014]`, async () => {
    await using http = await serve(workshop())
    await using peer = new Peer(http.url, modern)
    const answer = await peer.post({ jsonrpc: '2.0', id: 1, result: {} })
    expect([answer.status, (await answer.json()).error?.code]).toEqual([400, -32600])
  })
})

describe('the two forms of an answer', () => {
  eachRevision(
    httpRevisions,
    'a request is answered as one JSON object, or as a stream when something comes first [HTTP-016]',
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

  eachRevision(httpRevisions, 'an option makes every answer plain JSON [SDK-004]', async (revision) => {
    await using http = await serve(workshop(), { enableJsonResponse: true })
    await using peer = await Peer.open(http.url, revision)
    const answer = await peer.call('steps', {}, withProgress)
    expect([answer.status, answer.type]).toEqual([200, 'application/json'])
    expect((await answer.json()).result?.content).toEqual([{ type: 'text', text: 'three steps' }])
  })

  eachRevision(httpRevisions, 'errors of a method before it streams are plain JSON too', async (revision) => {
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
      `a POST of type ${type ?? 'nothing'} is ${accepted ? 'taken' : 'refused with 415'}`,
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
      `a POST that accepts ${accept ?? 'nothing'} is ${accepted ? 'answered' : 'refused with 406'}`,
      async (revision) => {
        await using http = await serve(workshop())
        await using peer = await Peer.open(http.url, revision)
        const answer = await peer.request('tools/list', {}, { headers: { accept } })
        expect(answer.status).toBe(accepted ? 200 : 406)
      },
    )
  }

  eachRevision(sessionRevisions, 'a GET that does not accept events is refused with 406', async (revision) => {
    await using http = await serve(workshop())
    await using peer = await Peer.open(http.url, revision)
    expect((await peer.get({ accept: 'application/json' })).status).toBe(406)
    expect((await peer.get({ accept: '*/*' })).status).toBe(200)
  })
})

describe('the version of a session', () => {
  eachRevision(
    handshakes,
    'initialize is answered with the version it asks for [VER-004, VER-029]',
    async (revision) => {
      await using http = await serve(workshop())
      await using peer = await Peer.open(http.url, revision)
      expect(await peer.textOf('revision')).toBe(revision)
    },
  )

  for (const asked of ['1999-01-01', modern, 'latest']) {
    it(`initialize for ${asked} is offered the newest version with a handshake [VER-005, VER-006]`, async () => {
      await using http = await serve(workshop())
      await using peer = new Peer(http.url, '2025-11-25')
      const answer = await peer.request('initialize', { ...peer.greeting(), protocolVersion: asked })
      expect((await answer.json()).result?.protocolVersion).toBe('2025-11-25')
      expect(answer.headers['mcp-session-id']).toBeDefined()
    })
  }

  eachRevision(
    sessionRevisions,
    'without the version header a session stays with the version of its handshake [HTTP-039]',
    async (revision) => {
      await using http = await serve(workshop())
      await using peer = await Peer.open(http.url, revision)
      const answer = await peer.call('revision', {}, { headers: { 'mcp-protocol-version': undefined } })
      expect((await answer.response()).result?.content?.[0]?.text).toBe(revision)
    },
  )

  it('without version header and session, where none are kept, 2025-03-26 is assumed [HTTP-039, HTTP-046]', async () => {
    await using http = await serve(workshop(), { stateless: true })
    await using peer = new Peer(http.url, '2025-03-26')
    expect(await peer.textOf('revision')).toBe('2025-03-26')
  })

  for (const version of ['1999-01-01', 'nonsense', '2025-11-25, 2025-06-18', modern]) {
    eachRevision(
      ['2025-06-18', '2025-11-25'],
      `the version header "${version}" is refused with 400 on GET [HTTP-040]`,
      async (revision) => {
        await using http = await serve(workshop())
        await using peer = await Peer.open(http.url, revision)
        expect((await peer.get({ 'mcp-protocol-version': version })).status).toBe(400)
      },
    )

    eachRevision(
      ['2025-06-18', '2025-11-25'],
      `the version header "${version}" is refused with 400 on DELETE, and the session goes on [HTTP-040]`,
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
      `the version header "${version}" is refused with 400 on POST, with the versions that are served [HTTP-040]`,
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

  it('a session keeps its version, also when a header names another that is served [VER-008]', async () => {
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

  it('a session goes on beside modern requests, even when they name it [VER-028, VER-029, HTTP-059]', async () => {
    await using http = await serve(workshop())
    await using old = await Peer.open(http.url, '2025-06-18')
    await using young = new Peer(http.url, modern, { headers: { 'mcp-session-id': old.sessionId! } })
    expect(await young.textOf('revision')).toBe(modern)
    expect(await young.textOf('session')).toBe('none')
    expect(await old.textOf('revision')).toBe('2025-06-18')
  })
})

/** One refusal of 2026-07-28: its place in the order of checks, and what breaks there. */
interface Refused {
  readonly title: string
  readonly status: number
  readonly code: number
  /** Breaks a sound request. */
  readonly broken: (sound: Sound) => void
}

interface Sound {
  readonly headers: Record<string, string | undefined>
  method: string
  readonly params: Record<string, unknown>
  meta: Record<string, unknown> | undefined
}

const order: readonly Refused[] = [
  {
    title: 'a foreign Host or Origin [HTTP-004]',
    status: 403,
    code: -32000,
    broken: ({ headers }) => {
      headers.origin = 'https://evil.example'
    },
  },
  {
    title: 'client capabilities missing in _meta [META-013]',
    status: 400,
    code: -32602,
    broken: ({ meta }) => {
      delete meta?.[metaKeys.clientCapabilities]
    },
  },
  {
    title: 'a version in the header that is not the one in _meta [HTTP-043]',
    status: 400,
    code: -32020,
    broken: ({ headers }) => {
      headers['mcp-protocol-version'] = '2025-11-25'
    },
  },
  {
    title: 'Mcp-Method missing [HDR-011]',
    status: 400,
    code: -32020,
    broken: ({ headers }) => {
      delete headers['mcp-method']
    },
  },
  {
    title: 'an unknown method [HTTP-045]',
    status: 404,
    code: -32601,
    broken: (sound) => {
      sound.method = 'tools/recall'
      if (sound.headers['mcp-method']) sound.headers['mcp-method'] = 'tools/recall'
    },
  },
  {
    title: 'Mcp-Param missing [HDR-041]',
    status: 400,
    code: -32020,
    broken: ({ headers }) => {
      delete headers['mcp-param-region']
    },
  },
  {
    title: 'a client capability that the handler needs [META-017]',
    status: 400,
    code: -32021,
    broken: ({ params }) => {
      params.name = 'needy'
    },
  },
]

/** With a tool that mirrors an argument, and one that needs what the client cannot do. */
function strict() {
  const server = workshop()
  const inputSchema = { type: 'object', properties: { region: { type: 'string', 'x-mcp-header': 'Region' } } } as const
  server.registerTool('regional', { inputSchema }, () => 'ok')
  server.registerTool('needy', { inputSchema }, () => {
    throw new ProtocolError(RpcCode.MissingClientCapability, 'Sampling is needed', {
      requiredCapabilities: { sampling: {} },
    })
  })
  return server
}

async function askBroken(url: string, faults: readonly Refused[]): Promise<[Answer, Message]> {
  await using peer = new Peer(url, modern)
  const sound: Sound = {
    headers: { 'mcp-method': 'tools/call', 'mcp-param-region': 'eu' },
    method: 'tools/call',
    params: { name: 'regional', arguments: { region: 'eu' } },
    meta: { [metaKeys.protocolVersion]: modern, [metaKeys.clientCapabilities]: {} },
  }
  for (const { broken } of faults) broken(sound)
  const { headers, method, params, meta } = sound
  const message = { jsonrpc: '2.0', id: 301, method, params: { ...params, ...(meta && { _meta: meta }) } }
  const name = { 'mcp-name': String(params.name), 'mcp-method': undefined, ...headers }
  const answer = await peer.post(message, name)
  return [answer, await answer.json()]
}

describe(`the order of checks on ${modern}`, () => {
  it('a request with no fault is answered', async () => {
    await using http = await serve(strict())
    const [answer, { result }] = await askBroken(http.url, [])
    expect([answer.status, result?.content?.[0]?.text]).toEqual([200, 'ok'])
  })

  order.forEach((refused, place) => {
    const { title, status, code } = refused
    it(`${place + 1}. refuses ${title} with ${status} and ${code}, with the id of the request`, async () => {
      await using http = await serve(strict())
      const [answer, message] = await askBroken(http.url, [refused])
      expect([answer.status, message.error?.code]).toEqual([status, code])
      expect(message.id).toBe(status === 403 ? undefined : 301)
    })
  })

  order.slice(1).forEach((refused, index) => {
    const before = order[index]!
    it(`${before.title.replace(/ \[.*/, '')} is found before ${refused.title.replace(/ \[.*/, '')}`, async () => {
      await using http = await serve(strict())
      const [answer, message] = await askBroken(http.url, [before, refused])
      expect([answer.status, message.error?.code]).toEqual([before.status, before.code])
    })
  })

  for (const [what, meta] of [
    ['no _meta', undefined],
    ['an empty _meta', {}],
    ['no version in _meta', { [metaKeys.clientCapabilities]: {} }],
    ['a version that is no string', { [metaKeys.protocolVersion]: 7, [metaKeys.clientCapabilities]: {} }],
    ['capabilities that are no object', { [metaKeys.protocolVersion]: modern, [metaKeys.clientCapabilities]: 'all' }],
  ] as const) {
    it(`refuses ${what} with 400 and -32602 [META-013]`, async () => {
      await using http = await serve(workshop())
      await using peer = new Peer(http.url, modern)
      const body = { jsonrpc: '2.0', id: 101, method: 'tools/list', params: meta === undefined ? {} : { _meta: meta } }
      const answer = await peer.post(body)
      const { id, error } = await answer.json()
      expect([answer.status, error?.code, id]).toEqual([400, -32602, 101])
    })
  }

  it('takes a request that says nothing of the client but its capabilities', async () => {
    await using http = await serve(workshop())
    await using peer = new Peer(http.url, modern)
    const _meta = { [metaKeys.protocolVersion]: modern, [metaKeys.clientCapabilities]: {} }
    const answer = await peer.post({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta } })
    expect(answer.status).toBe(200)
  })

  for (const [header, inBody] of [
    ['2025-11-25', modern],
    [modern, '2025-11-25'],
    [modern, 'v999.0.0'],
    ['v999.0.0', modern],
    [undefined, modern],
    [undefined, 'v999.0.0'],
  ] as const) {
    it(`refuses ${header ?? 'no version'} in the header and ${inBody} in the body as a mismatch [HTTP-043]`, async () => {
      await using http = await serve(workshop())
      await using peer = new Peer(http.url, modern)
      const params = { _meta: { [metaKeys.protocolVersion]: inBody } }
      const answer = await peer.request('tools/list', params, { id: 5, headers: { 'mcp-protocol-version': header } })
      const { id, error } = await answer.json()
      expect([answer.status, error?.code, id]).toEqual([400, -32020, 5])
    })
  }

  for (const [title, server] of [
    ['of every revision', () => workshop()],
    [`of ${modern} alone`, () => workshop(onlyModern)],
  ] as const) {
    it(`a server ${title} refuses a version that it does not implement with 400 and -32022 [HTTP-044, VER-011]`, async () => {
      await using http = await serve(server())
      await using peer = new Peer(http.url, modern)
      const params = { _meta: { [metaKeys.protocolVersion]: 'v999.0.0' } }
      const headers = { 'mcp-protocol-version': 'v999.0.0' }
      const answer = await peer.request('tools/list', params, { id: 104, headers })
      const { id, error } = await answer.json()
      expect([answer.status, error?.code, id]).toEqual([400, -32022, 104])
      const discovered = await (await peer.request('server/discover')).json()
      expect(error?.data).toEqual({ supported: discovered.result?.supportedVersions, requested: 'v999.0.0' })
    })
  }

  for (const method of [
    'initialize',
    'ping',
    'logging/setLevel',
    'resources/subscribe',
    'resources/unsubscribe',
    'unknown/method',
  ]) {
    it(`answers ${method} with 404 and -32601: the era is not a matter of the method [HTTP-045, VER-028]`, async () => {
      await using http = await serve(workshop())
      await using peer = new Peer(http.url, modern)
      const params = { ...peer.greeting(), level: 'info', uri: 'note://a' }
      const answer = await peer.request(method, params, { id: 401 })
      const { id, error } = await answer.json()
      expect([answer.status, answer.type, error?.code, id]).toEqual([404, 'application/json', -32601, 401])
      expect(answer.headers['mcp-session-id']).toBeUndefined()
    })
  }

  it('a missing client capability has its status also on a bare server [META-017]', async () => {
    const server = new Server({ name: 'bare', version: '1' })
    server.setRequestHandler('custom/ask', () => {
      throw new ProtocolError(RpcCode.MissingClientCapability, 'no', { requiredCapabilities: { sampling: {} } })
    })
    await using http = await serveHttp(server, { port: 0, exit: false })
    await using peer = new Peer(http.url, modern)
    const answer = await peer.request('custom/ask', {}, { id: 8 })
    const { id, error } = await answer.json()
    expect([answer.status, error?.code, id]).toEqual([400, -32021, 8])
    expect(error?.data).toEqual({ requiredCapabilities: { sampling: {} } })
  })
})

describe('the era of a request', () => {
  for (const headers of [
    {},
    { 'mcp-protocol-version': '2025-11-25' },
    { 'mcp-protocol-version': '2025-11-25', 'mcp-method': 'initialize' },
  ]) {
    it(`initialize with ${JSON.stringify(headers)} opens a session [VER-029]`, async () => {
      await using http = await serve(workshop())
      await using peer = new Peer(http.url, '2025-11-25')
      const answer = await peer.request('initialize', peer.greeting(), { headers })
      expect([answer.status, answer.headers['mcp-session-id'] !== undefined]).toEqual([200, true])
    })
  }

  eachRevision(
    sessionRevisions,
    'a method that is not there is a plain answer, and the modern header rules are not applied',
    async (revision) => {
      await using http = await serve(workshop())
      await using peer = await Peer.open(http.url, revision)
      const answer = await peer.request('server/discover')
      expect([answer.status, (await answer.json()).error?.code]).toEqual([200, -32601])
    },
  )
})

describe(`a server of ${modern} alone`, () => {
  it('refuses a request without the version header with 400 and -32020 [HTTP-047, HDR-011, VER-032]', async () => {
    await using http = await serve(workshop(onlyModern))
    await using peer = new Peer(http.url, '2025-11-25')
    const answer = await peer.request('tools/list', {}, { id: 3 })
    const { id, error } = await answer.json()
    expect([answer.status, error?.code, id]).toEqual([400, -32020, 3])
  })

  for (const version of [undefined, '2025-11-25']) {
    it(`names its versions to a client that says initialize with the header ${version} [VER-027, VER-032]`, async () => {
      await using http = await serve(workshop(onlyModern))
      await using peer = new Peer(http.url, '2025-11-25')
      const headers = { 'mcp-protocol-version': version }
      const answer = await peer.request('initialize', peer.greeting(), { id: 3, headers })
      const { id, error } = await answer.json()
      expect([answer.status, id, error?.code]).toEqual([400, 3, -32022])
      expect(error?.data).toEqual({ supported: [modern], requested: '2025-11-25' })
    })
  }

  it('names its versions also to initialize in a modern envelope [VER-027]', async () => {
    await using http = await serve(workshop(onlyModern))
    await using peer = new Peer(http.url, modern)
    const answer = await peer.request('initialize', peer.greeting())
    expect(JSON.stringify((await answer.json()).error)).toContain(modern)
  })

  it('ignores session ids and makes none [HTTP-059]', async () => {
    await using http = await serve(workshop(onlyModern))
    await using peer = new Peer(http.url, modern, { headers: { 'mcp-session-id': 'of-old' } })
    const answer = await peer.call('session')
    expect((await answer.json()).result?.content?.[0]?.text).toBe('none')
    expect(answer.headers['mcp-session-id']).toBeUndefined()
  })

  it('ignores Last-Event-ID [HTTP-060]', async () => {
    await using http = await serve(workshop(onlyModern))
    await using peer = new Peer(http.url, modern, { headers: { 'last-event-id': 'a/1/7' } })
    const answer = await peer.call('steps', {}, withProgress)
    expect((await answer.response()).result?.content?.[0]?.text).toBe('three steps')
    expect(answer.ids).toEqual([])
  })
})

const newestFirst: RevisionId[] = [...revisionIds].sort().reverse()

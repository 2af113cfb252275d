import { metaKeys } from 'tenon'
import { ErrorCode, ProtocolError, Server, serveHttp } from 'tenon/server'
import { describe, expect, it } from 'vitest'
import type { Answer } from '../../../kit/http-client.ts'
import { Peer } from '../../../kit/http-peer.ts'
import type { Message } from '../../../kit/message.ts'
import { eachRevision, modern, sessionRevisions } from '../../../kit/revisions.ts'
import { serve } from '../../../kit/serve-http.ts'
import { onlyModern, withProgress, workshop } from '../../../kit/workshop.ts'

const valid = { [metaKeys.protocolVersion]: modern, [metaKeys.clientCapabilities]: {} }

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
    title: 'missing client capabilities in _meta [META-013]',
    status: 400,
    code: -32602,
    broken: ({ meta }) => {
      delete meta?.[metaKeys.clientCapabilities]
    },
  },
  {
    title: 'a version in the header that differs from _meta [HTTP-043]',
    status: 400,
    code: -32020,
    broken: ({ headers }) => {
      headers['mcp-protocol-version'] = '2025-11-25'
    },
  },
  {
    title: 'a missing Mcp-Method [HDR-011]',
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
    title: 'a missing Mcp-Param [HDR-041]',
    status: 400,
    code: -32020,
    broken: ({ headers }) => {
      delete headers['mcp-param-region']
    },
  },
  {
    title: 'a missing client capability [META-017]',
    status: 400,
    code: -32021,
    broken: ({ params }) => {
      params.name = 'needy'
    },
  },
]

describe(`the order of checks on ${modern}`, () => {
  it('a valid request is answered', async () => {
    await using http = await serve(strict())
    const [answer, { result }] = await askBroken(http.url, [])
    expect([answer.status, result?.content?.[0]?.text]).toEqual([200, 'ok'])
  })

  order.forEach((refused, place) => {
    const { title, status, code } = refused
    it(`${place + 1}. rejects ${title} with ${status} and ${code}, with the id of the request`, async () => {
      await using http = await serve(strict())
      const [answer, message] = await askBroken(http.url, [refused])
      expect([answer.status, message.error?.code]).toEqual([status, code])
      expect(message.id).toBe(status === 403 ? undefined : 301)
    })
  })

  order.slice(1).forEach((refused, index) => {
    const before = order[index]!
    it(`${before.title.replace(/ \[.*/, '')} is reported before ${refused.title.replace(/ \[.*/, '')}`, async () => {
      await using http = await serve(strict())
      const [answer, message] = await askBroken(http.url, [before, refused])
      expect([answer.status, message.error?.code]).toEqual([before.status, before.code])
    })
  })

  for (const [what, meta] of [
    ['no _meta', undefined],
    ['an empty _meta', {}],
    ['no version in _meta', { [metaKeys.clientCapabilities]: {} }],
    ['a version that is not a string', { [metaKeys.protocolVersion]: 7, [metaKeys.clientCapabilities]: {} }],
    ['invalid capabilities', { [metaKeys.protocolVersion]: modern, [metaKeys.clientCapabilities]: 'all' }],
    ['a clientInfo that is a string', { ...valid, [metaKeys.clientInfo]: 'me' }],
    ['a clientInfo without a version', { ...valid, [metaKeys.clientInfo]: { name: 'me' } }],
    ['an unknown log level', { ...valid, [metaKeys.logLevel]: 'loud' }],
  ] as const) {
    it(`rejects ${what} with 400 and -32602 [META-013]`, async () => {
      await using http = await serve(workshop())
      await using peer = new Peer(http.url, modern)
      const body = { jsonrpc: '2.0', id: 101, method: 'tools/list', params: meta === undefined ? {} : { _meta: meta } }
      const answer = await peer.post(body)
      const { id, error } = await answer.json()
      expect([answer.status, error?.code, id]).toEqual([400, -32602, 101])
    })
  }

  it('accepts a request whose _meta has only version and capabilities', async () => {
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
    it(`rejects ${header ?? 'no version'} in the header and ${inBody} in the body as unequal [HTTP-043]`, async () => {
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
    [`of only ${modern}`, () => workshop(onlyModern)],
  ] as const) {
    it(`a server ${title} rejects an unsupported version with 400 and -32022 [HTTP-044, VER-011]`, async () => {
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
    it(`answers ${method} with 404 and -32601, whatever the method [HTTP-045, VER-028]`, async () => {
      await using http = await serve(workshop())
      await using peer = new Peer(http.url, modern)
      const params = { ...peer.greeting(), level: 'info', uri: 'note://a' }
      const answer = await peer.request(method, params, { id: 401 })
      const { id, error } = await answer.json()
      expect([answer.status, answer.type, error?.code, id]).toEqual([404, 'application/json', -32601, 401])
      expect(answer.headers['mcp-session-id']).toBeUndefined()
    })
  }

  it('a missing client capability is a 400 on a low-level Server too [META-017]', async () => {
    const server = new Server({ name: 'bare', version: '1' })
    server.setRequestHandler('custom/ask', () => {
      throw new ProtocolError(ErrorCode.MissingClientCapability, 'no', { requiredCapabilities: { sampling: {} } })
    })
    await using http = await serveHttp(server, { port: 0, exit: false })
    await using peer = new Peer(http.url, modern)
    const answer = await peer.request('custom/ask', {}, { id: 8 })
    const { id, error } = await answer.json()
    expect([answer.status, error?.code, id]).toEqual([400, -32021, 8])
    expect(error?.data).toEqual({ requiredCapabilities: { sampling: {} } })
  })
})

describe('the revision of a request', () => {
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
    'an unknown method gets a normal error, without the header checks of 2026-07-28',
    async (revision) => {
      await using http = await serve(workshop())
      await using peer = await Peer.open(http.url, revision)
      const answer = await peer.request('server/discover')
      expect([answer.status, (await answer.json()).error?.code]).toEqual([200, -32601])
    },
  )
})

describe(`a server of only ${modern}`, () => {
  it('rejects a request without the version header with 400 and -32020 [HTTP-047, HDR-011, VER-032]', async () => {
    await using http = await serve(workshop(onlyModern))
    await using peer = new Peer(http.url, '2025-11-25')
    const answer = await peer.request('tools/list', {}, { id: 3 })
    const { id, error } = await answer.json()
    expect([answer.status, error?.code, id]).toEqual([400, -32020, 3])
  })

  for (const version of [undefined, '2025-11-25']) {
    it(`answers initialize with the version header ${version} with its versions [VER-027, VER-032]`, async () => {
      await using http = await serve(workshop(onlyModern))
      await using peer = new Peer(http.url, '2025-11-25')
      const headers = { 'mcp-protocol-version': version }
      const answer = await peer.request('initialize', peer.greeting(), { id: 3, headers })
      const { id, error } = await answer.json()
      expect([answer.status, id, error?.code]).toEqual([400, 3, -32022])
      expect(error?.data).toEqual({ supported: [modern], requested: '2025-11-25' })
    })
  }

  it('answers initialize in a 2026-07-28 envelope with its versions [VER-027]', async () => {
    await using http = await serve(workshop(onlyModern))
    await using peer = new Peer(http.url, modern)
    const answer = await peer.request('initialize', peer.greeting())
    expect(JSON.stringify((await answer.json()).error)).toContain(modern)
  })

  it('ignores session ids and creates none [HTTP-059]', async () => {
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

/** One check of 2026-07-28 in its order, with a request that fails it. */
interface Refused {
  readonly title: string
  readonly status: number
  readonly code: number
  /** Breaks a valid request. */
  readonly broken: (sound: Sound) => void
}

interface Sound {
  readonly headers: Record<string, string | undefined>
  method: string
  readonly params: Record<string, unknown>
  meta: Record<string, unknown> | undefined
}

/** A server with a tool that mirrors an argument, and one that needs a capability the client lacks. */
function strict() {
  const server = workshop()
  const inputSchema = { type: 'object', properties: { region: { type: 'string', 'x-mcp-header': 'Region' } } } as const
  server.registerTool('regional', { inputSchema }, () => 'ok')
  server.registerTool('needy', { inputSchema }, () => {
    throw new ProtocolError(ErrorCode.MissingClientCapability, 'Sampling is needed', {
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

import { connect } from 'tenon/client'
import { McpServer } from 'tenon/server'
import { describe, expect, it } from 'vitest'
import { Peer, type RequestOptions } from '../../../kit/http-peer.ts'
import { eachRevision, modern, sessionRevisions } from '../../../kit/revisions.ts'
import { serve } from '../../../kit/serve-http.ts'
import { workshop } from '../../../kit/workshop.ts'
import { base64, call, mirroring, rawCall, rawPost } from './headers-support.ts'

describe(`${modern}: Mcp-Method and Mcp-Name`, () => {
  for (const [method, params, name] of [
    ['tools/call', { name: 'plain' }, 'plain'],
    ['tools/call', { name: 'plain' }, base64('plain')],
    ['tools/call', { name: 'Größe' }, base64('Größe')],
    ['prompts/get', { name: '日本' }, base64('日本')],
    ['resources/read', { uri: 'note://plain' }, 'note://plain'],
    ['resources/read', { uri: 'note://%20' }, 'note://%20'],
    ['tools/list', {}, undefined],
    ['server/discover', {}, undefined],
  ] as const) {
    it(`accepts ${method} with Mcp-Name ${name} [HDR-037]`, async () => {
      await using http = await serve(named())
      await using peer = new Peer(http.url, modern)
      const answer = await peer.request(method, params, { headers: { 'mcp-name': name } })
      expect([answer.status, (await answer.json()).error]).toEqual([200, undefined])
    })
  }

  const broken: readonly [string, string, Record<string, unknown>, NonNullable<RequestOptions['headers']>][] = [
    ['no Mcp-Method [HDR-011]', 'tools/list', {}, { 'mcp-method': undefined }],
    ['an empty Mcp-Method [HDR-011]', 'tools/list', {}, { 'mcp-method': '' }],
    ['the Mcp-Method of another request [HDR-007]', 'tools/list', {}, { 'mcp-method': 'prompts/list' }],
    ['Mcp-Method in different case [HDR-006]', 'tools/list', {}, { 'mcp-method': 'Tools/List' }],
    [
      'an encoded Mcp-Method, which has no encoding [HDR-007]',
      'tools/list',
      {},
      { 'mcp-method': base64('tools/list') },
    ],
    ['no Mcp-Name for a tool [HDR-011]', 'tools/call', { name: 'plain' }, { 'mcp-name': undefined }],
    ['no Mcp-Name for a prompt [HDR-011]', 'prompts/get', { name: 'plain' }, { 'mcp-name': undefined }],
    ['no Mcp-Name for a resource [HDR-011]', 'resources/read', { uri: 'note://plain' }, { 'mcp-name': undefined }],
    ['the Mcp-Name of another tool [HDR-007]', 'tools/call', { name: 'plain' }, { 'mcp-name': 'other' }],
    ['Mcp-Name in different case [HDR-006]', 'tools/call', { name: 'plain' }, { 'mcp-name': 'Plain' }],
    ['the Mcp-Name of another prompt [HDR-007]', 'prompts/get', { name: 'plain' }, { 'mcp-name': 'other' }],
    [
      'the Mcp-Name of another resource [HDR-007]',
      'resources/read',
      { uri: 'note://plain' },
      { 'mcp-name': 'note://b' },
    ],
    ['another name, encoded [HDR-037]', 'tools/call', { name: 'plain' }, { 'mcp-name': base64('other') }],
    ['malformed Base64 in Mcp-Name [HDR-038]', 'tools/call', { name: 'plain' }, { 'mcp-name': '=?base64?cGxhaW4?=' }],
    ['an uppercase marker [HDR-036]', 'tools/call', { name: 'plain' }, { 'mcp-name': '=?BASE64?cGxhaW4=?=' }],
  ]
  for (const [title, method, params, headers] of broken) {
    it(`rejects ${title} with 400, -32020 and the id [HDR-008, HDR-009]`, async () => {
      await using http = await serve(named())
      await using peer = new Peer(http.url, modern)
      const answer = await peer.request(method, params, { id: 77, headers })
      const { id, error } = await answer.json()
      expect([answer.status, answer.type, error?.code, id]).toEqual([400, 'application/json', -32020, 77])
    })
  }

  it('header names are case-insensitive [HDR-005]', async () => {
    await using http = await serve(mirroring().server)
    const spellings = [
      ['MCP-METHOD', 'MCP-NAME', 'MCP-PARAM-REGION', 'MCP-PROTOCOL-VERSION'],
      ['mcp-method', 'mcp-name', 'mcp-param-region', 'mcp-protocol-version'],
      ['mCP-mETHOD', 'mCP-nAME', 'mCP-pARAM-rEGION', 'mCP-pROTOCOL-vERSION'],
    ] as const
    for (const [method, name, param, version] of spellings) {
      const lines = [`${method}: tools/call`, `${name}: mirror`, `${param}: eu`, `${version}: ${modern}`]
      const { status, message } = await rawPost(http.port, lines, call('mirror', { region: 'eu' }))
      expect([status, message.error]).toEqual([200, undefined])
    }
  })

  it('spaces and tabs around values are trimmed [HDR-013]', async () => {
    await using http = await serve(mirroring().server)
    const blank = ' \t '
    const lines = [
      `Mcp-Method:${blank}tools/call${blank}`,
      `Mcp-Name:${blank}mirror${blank}`,
      `Mcp-Param-Region:${blank}eu${blank}`,
      `MCP-Protocol-Version:${blank}${modern}${blank}`,
    ]
    const { status, message } = await rawPost(http.port, lines, call('mirror', { region: 'eu' }))
    expect([status, message.error]).toEqual([200, undefined])
  })

  it('no space is needed after the colon [HDR-013]', async () => {
    await using http = await serve(workshop())
    const lines = ['Mcp-Method:tools/call', 'Mcp-Name:echo', `MCP-Protocol-Version:${modern}`]
    const { status } = await rawPost(http.port, lines, call('echo', {}))
    expect(status).toBe(200)
  })

  for (const line of ['Mcp-Name: Gr\xf6\xdfe', 'Mcp-Name: Gr\xc3\xb6\xc3\x9fe', 'Mcp-Name: \xff']) {
    it(`a name with non-ASCII bytes is rejected: ${JSON.stringify(line)} [HDR-012]`, async () => {
      await using http = await serve(named())
      const lines = ['Mcp-Method: tools/call', line, `MCP-Protocol-Version: ${modern}`]
      const { status, message } = await rawPost(http.port, lines, call('Größe', {}))
      expect([status, message.error?.code, message.id]).toEqual([400, -32020, 1])
    })
  }

  for (const header of ['Mcp-Method: tools/call', 'Mcp-Name: echo', `MCP-Protocol-Version: ${modern}`]) {
    it(`a duplicate ${header.split(':')[0]} is rejected as ambiguous [HDR-007]`, async () => {
      await using http = await serve(workshop())
      const lines = ['Mcp-Method: tools/call', 'Mcp-Name: echo', `MCP-Protocol-Version: ${modern}`, header]
      const { status } = await rawPost(http.port, lines, call('echo', {}))
      expect(status).toBe(400)
    })
  }

  it('headers that are too long are rejected before the body is read [HDR-048]', async () => {
    const { server, calls } = mirroring()
    await using http = await serve(server)
    const value = `=?base64?${'A'.repeat(20_000)}?=`
    const { status } = await rawCall(http.port, 'mirror', { region: 'eu' }, [`Mcp-Param-Region: ${value}`])
    expect(status).toBe(431)
    expect(calls).toEqual([])
  })

  it('handlers and middleware use the values of the body, not of headers [META-022, HDR-047]', async () => {
    const { server } = mirroring()
    const seen: unknown[] = []
    server.use(({ method, params, ctx }, next) => {
      seen.push([method, params.name, ctx.request?.header('mcp-name')])
      return next()
    })
    await using http = await serve(server)
    await using peer = new Peer(http.url, modern)
    // A header that names a different tool than the body is rejected before any permission check.
    const lie = await peer.call('mirror', {}, { headers: { 'mcp-name': 'echo' } })
    expect([lie.status, seen]).toEqual([400, []])
    await (await peer.call('mirror', {}, { headers: { 'mcp-name': base64('mirror') } })).json()
    expect(seen).toEqual([['tools/call', 'mirror', base64('mirror')]])
  })
})

describe('Mcp-Method and Mcp-Name in sessions', () => {
  eachRevision(sessionRevisions, 'are optional', async (revision) => {
    await using http = await serve(named())
    await using peer = await Peer.open(http.url, revision)
    expect(await peer.textOf('plain')).toBe('tool plain')
  })

  for (const headers of [{ 'mcp-method': 'tools/list' }, { 'mcp-name': 'other' }, { 'mcp-name': '=?base64?!?=' }]) {
    eachRevision(
      sessionRevisions,
      `are checked if present: ${JSON.stringify(headers)} is a 400 with -32001 [HDR-010, HDR-053]`,
      async (revision) => {
        await using http = await serve(named())
        await using peer = await Peer.open(http.url, revision)
        const answer = await peer.call('plain', {}, { id: 6, headers })
        const { id, error } = await answer.json()
        expect([answer.status, error?.code, id]).toEqual([400, -32001, 6])
      },
    )
  }

  eachRevision(sessionRevisions, 'are accepted if they match', async (revision) => {
    await using http = await serve(named())
    await using peer = await Peer.open(http.url, revision)
    const headers = { 'mcp-method': 'tools/call', 'mcp-name': base64('Größe') }
    const answer = await peer.call('Größe', {}, { headers })
    expect((await answer.json()).result?.content?.[0]?.text).toBe('tool Größe')
  })

  eachRevision(sessionRevisions, "are required with standardHeaders: 'require' [HDR-055]", async (revision) => {
    await using http = await serve(named(), { standardHeaders: 'require' })
    await using peer = new Peer(http.url, revision)
    const bare = await peer.request('initialize', peer.greeting())
    expect([bare.status, (await bare.json()).error?.code]).toEqual([400, -32001])
    const opening = await peer.request('initialize', peer.greeting(), { headers: { 'mcp-method': 'initialize' } })
    expect(opening.status).toBe(200)
    peer.sessionId = opening.headers['mcp-session-id']
    expect((await peer.notify('notifications/initialized')).status).toBe(400)
    const initialized = { jsonrpc: '2.0', method: 'notifications/initialized' } as const
    expect((await peer.post(initialized, { 'mcp-method': initialized.method })).status).toBe(202)
    const nameless = await peer.call('plain', {}, { headers: { 'mcp-method': 'tools/call' } })
    expect([nameless.status, (await nameless.json()).error?.code]).toEqual([400, -32001])
    const headers = { 'mcp-method': 'tools/call', 'mcp-name': 'plain' }
    expect((await peer.call('plain', {}, { headers })).status).toBe(200)
  })

  eachRevision(sessionRevisions, "are ignored with standardHeaders: 'ignore' [META-022]", async (revision) => {
    await using http = await serve(named(), { standardHeaders: 'ignore' })
    await using peer = await Peer.open(http.url, revision)
    const headers = { 'mcp-method': 'tools/list', 'mcp-name': 'Plain' }
    const answer = await peer.call('plain', {}, { headers })
    expect((await answer.json()).result?.content?.[0]?.text).toBe('tool plain')
  })

  eachRevision(
    sessionRevisions,
    'reject a notification whose Mcp-Method names another with 400 and -32001 [HDR-050]',
    async (revision) => {
      await using http = await serve(named())
      await using peer = await Peer.open(http.url, revision)
      const answer = await peer.post({ jsonrpc: '2.0', method: 'notifications/foo' }, { 'mcp-method': 'foo/bar' })
      expect([answer.status, (await answer.json()).error?.code]).toEqual([400, -32001])
    },
  )

  it(`${modern} rejects a notification whose Mcp-Method names another with 400 and -32020 [HDR-050]`, async () => {
    await using http = await serve(named())
    await using peer = new Peer(http.url, modern)
    const answer = await peer.post({ jsonrpc: '2.0', method: 'notifications/foo' }, { 'mcp-method': 'foo/bar' })
    expect([answer.status, (await answer.json()).error?.code]).toEqual([400, -32020])
    expect((await peer.post({ jsonrpc: '2.0', method: 'notifications/foo' }, { 'mcp-method': undefined })).status).toBe(
      202,
    )
  })

  const batching = '2025-03-26'
  const batch = [
    { jsonrpc: '2.0', id: 3, method: 'tools/call', params: { name: 'mirror', arguments: { region: 'us' } } },
  ]

  for (const headers of [{}, { 'mcp-method': 'tools/list' }, { 'mcp-method': 'tools/call', 'mcp-name': 'mirror' }]) {
    it(`${batching} rejects a batch with ${JSON.stringify(headers)} if standardHeaders is 'require' [HDR-050]`, async () => {
      const { server, calls } = mirroring()
      await using http = await serve(server, { standardHeaders: 'require' })
      await using peer = new Peer(http.url, batching)
      const opening = await peer.request('initialize', peer.greeting(), { headers: { 'mcp-method': 'initialize' } })
      peer.sessionId = opening.headers['mcp-session-id']
      const answer = await peer.post(batch, headers)
      const { id, error } = await answer.json()
      expect([answer.status, error?.code, id, calls]).toEqual([400, -32001, null, []])
      expect(error?.message).toContain('batch')
    })
  }

  for (const headers of [{ 'mcp-method': 'tools/call' }, { 'mcp-name': 'mirror' }, { 'mcp-param-region': 'us' }]) {
    it(`${batching} rejects a batch with ${JSON.stringify(headers)}, which describes one message [HDR-050]`, async () => {
      const { server, calls } = mirroring()
      await using http = await serve(server)
      await using peer = await Peer.open(http.url, batching)
      const answer = await peer.post(batch, headers)
      const { id, error } = await answer.json()
      expect([answer.status, error?.code, id, calls]).toEqual([400, -32001, null, []])
      expect(error?.message).toContain(Object.keys(headers)[0])
    })
  }

  it(`${batching} accepts a batch without standard headers, and any batch if they are ignored [HDR-050]`, async () => {
    const { server, calls } = mirroring()
    await using http = await serve(server)
    await using peer = await Peer.open(http.url, batching)
    expect((await peer.post(batch)).status).toBe(200)
    await using lax = await serve(server, { standardHeaders: 'ignore' })
    await using other = await Peer.open(lax.url, batching)
    expect((await other.post(batch, { 'mcp-method': 'tools/list' })).status).toBe(200)
    expect(calls).toHaveLength(2)
  })

  it(`${modern} requires them whatever standardHeaders is [HDR-011]`, async () => {
    for (const standardHeaders of ['ignore', 'validate', 'require'] as const) {
      await using http = await serve(named(), { standardHeaders })
      await using peer = new Peer(http.url, modern)
      const answer = await peer.call('plain', {}, { headers: { 'mcp-name': undefined } })
      expect([answer.status, (await answer.json()).error?.code]).toEqual([400, -32020])
    }
  })
})

describe('Mcp-Param-* in sessions', () => {
  eachRevision(
    sessionRevisions,
    'are checked if present, before the tool runs: another value is a 400 with -32001 [HDR-054]',
    async (revision) => {
      const { server, calls } = mirroring()
      await using http = await serve(server)
      await using peer = await Peer.open(http.url, revision)
      const lie = await peer.call('mirror', { region: 'us' }, { id: 9, headers: { 'mcp-param-region': 'eu' } })
      const { id, error } = await lie.json()
      expect([lie.status, error?.code, id, calls]).toEqual([400, -32001, 9, []])
      const extra = await peer.call('mirror', {}, { headers: { 'mcp-param-region': 'eu' } })
      expect([extra.status, calls]).toEqual([400, []])
      const right = await peer.call('mirror', { region: 'us' }, { headers: { 'mcp-param-region': 'us' } })
      const without = await peer.call('mirror', { region: 'us', count: 2 })
      expect([right.status, without.status, calls.length]).toEqual([200, 200, 2])
    },
  )

  eachRevision(sessionRevisions, 'are checked for tools of mounted servers [HDR-054]', async (revision) => {
    const { server, calls } = mirroring()
    const outer = new McpServer({ name: 'outer', version: '1' })
    outer.mount(server, { prefix: 'inner' })
    await using http = await serve(outer)
    await using peer = await Peer.open(http.url, revision)
    const lie = await peer.call('inner_mirror', { region: 'us' }, { headers: { 'mcp-param-region': 'eu' } })
    expect([lie.status, calls]).toEqual([400, []])
  })

  eachRevision(
    sessionRevisions,
    "are required or ignored as 'standardHeaders' says [HDR-054, HDR-055]",
    async (revision) => {
      const { server } = mirroring()
      await using strict = await serve(server, { standardHeaders: 'require' })
      await using client = await connect(strict.url, { revision })
      // Tools are known once they are listed.
      await client.listTools().all()
      expect((await client.callTool('mirror', { region: 'eu' })).text).toBe('{"region":"eu"}')
      await using lax = await serve(server, { standardHeaders: 'ignore' })
      await using peer = await Peer.open(lax.url, revision)
      const lie = await peer.call('mirror', { region: 'us' }, { headers: { 'mcp-param-region': 'eu' } })
      expect(lie.status).toBe(200)
    },
  )
})

/** A server whose names and URIs need every kind of header value. */
function named() {
  const server = new McpServer({ name: 'named', version: '1' })
  for (const name of ['plain', 'Plain', 'Größe']) server.registerTool(name, {}, () => `tool ${name}`)
  for (const name of ['plain', '日本']) server.registerPrompt(name, {}, () => `prompt ${name}`)
  for (const uri of ['note://plain', 'note://%20']) server.registerResource(uri, uri, {}, () => `resource ${uri}`)
  return server
}

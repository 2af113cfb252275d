import { metaKeys, type RevisionId, revisionIds } from 'tenon'
import { Client, connect, type PeerError, type Transport } from 'tenon/client'
import { McpServer } from 'tenon/server'
import { InMemoryTransport, record, type ScriptedAnswer, ScriptedClient, ScriptedServer, wires } from 'tenon/testing'
import { describe, expect, it } from 'vitest'
import {
  discovery,
  errorOf,
  everyRevision,
  gate,
  handshakes,
  heard,
  initialized,
  methodsOf,
  modern,
  type Said,
  said,
  scripted,
  scriptedClient,
  subsets,
  testServer,
} from './support.ts'

const newestHandshake: RevisionId = '2025-11-25'
const clientInfo = { name: 'script', version: '1' }

/** What the rules of both eras lead to; undefined when there is nothing in common that they can find. */
function expected(client: readonly RevisionId[], server: readonly RevisionId[]): RevisionId | undefined {
  const newest = (ids: readonly RevisionId[]) => [...ids].sort().at(-1)
  if (client.includes(modern)) return newest(client.filter((id) => server.includes(id)))
  const offered = server.filter((id) => id !== modern)
  const asked = newest(client)!
  const answer = offered.includes(asked) ? asked : newest(offered)
  return answer && client.includes(answer) ? answer : undefined
}

async function open(server: McpServer, revisions: readonly RevisionId[]) {
  const [ours, theirs] = InMemoryTransport.createLinkedPair()
  await server.connect(theirs)
  const transcript = record(ours)
  const client = new Client({ name: 'c', version: '1' }, { revisions })
  return { client, transcript, connecting: client.connect(ours) }
}

describe('negotiation between every set of client revisions and every set of server revisions', () => {
  const servers = subsets(everyRevision).map((revisions) => ({ revisions, ...testServer({ revisions }) }))

  for (const own of subsets(everyRevision)) {
    it(`a client of ${own.join(' + ')} ends up on the right one, or fails with a reason [VER-001, VER-009]`, async () => {
      for (const { revisions, server } of servers) {
        const goal = expected(own, revisions)
        const pair = `${own} to ${revisions}`
        const { client, connecting } = await open(server, own)
        if (goal) {
          await connecting
          expect(client.revision, pair).toBe(goal)
          expect(JSON.parse((await client.callTool('who')).text).revision, pair).toBe(goal)
          await client.close()
        } else {
          const error = await errorOf(connecting)
          expect(error.code, pair).toBe('no-common-revision')
          for (const id of own) expect(error.message, pair).toContain(id)
          expect(client.state).toBe('closed')
        }
      }
    })
  }

  it('a client without 2026-07-28 is told clearly that a server speaks nothing else', async () => {
    const { server } = testServer({ revisions: [modern] })
    for (const own of subsets(handshakes)) {
      const { client, connecting } = await open(server, own)
      const error = await errorOf(connecting)
      expect(error.message).toContain(modern)
      expect(client.state).toBe('closed')
      expect(error.code).toBe('no-common-revision')
    }
  })
})

describe('the version in initialize', () => {
  it.each(subsets(handshakes).map((set) => [set.join(' + '), set] as const))(
    'is the newest that a client of %s supports [VER-002, VER-003]',
    async (_, own) => {
      const { client, transcript, connecting } = await open(testServer().server, own)
      await connecting
      const newest = [...own].sort().at(-1)
      expect(said(transcript, 'client', 'initialize').map(({ params }) => params?.protocolVersion)).toEqual([newest])
      await client.close()
    },
  )

  it.each(handshakes)('%s is answered with exactly itself [VER-004]', async (revision) => {
    await using caller = await ScriptedClient.connect(testServer().server, { revision })
    expect(((await caller.open()) as Said).result?.protocolVersion).toBe(revision)
  })

  it.each(['2024-11-06', '2025-11-25 ', '2025-11-2', '2099-01-01', '1999-01-01', '2026-07-28', 'latest', '1.0'])(
    '"%s", which has no handshake here, is answered with the newest that has one [VER-001, VER-005, VER-006]',
    async (protocolVersion) => {
      await using caller = await ScriptedClient.connect(testServer().server)
      const params = { protocolVersion, capabilities: {}, clientInfo }
      const answer = (await caller.send({ jsonrpc: '2.0', id: 1, method: 'initialize', params })) as Said
      expect(answer.result?.protocolVersion).toBe(newestHandshake)
    },
  )

  it.each(subsets(handshakes).map((set) => [set.join(' + '), set] as const))(
    'that a server of %s cannot speak is answered with its own newest [VER-005, VER-006]',
    async (_, revisions) => {
      await using caller = await ScriptedClient.connect(testServer({ revisions }).server)
      const params = { protocolVersion: '2024-01-01', capabilities: {}, clientInfo }
      const answer = (await caller.send({ jsonrpc: '2.0', id: 1, method: 'initialize', params })) as Said
      expect(answer.result?.protocolVersion).toBe([...revisions].sort().at(-1))
    },
  )

  it.each(['2024-11-04', '2099-01-01', '2025-11-25T00:00:00Z', 20251125, null, undefined])(
    'when the server answers %s the client disconnects and says what both speak [VER-001, VER-007]',
    async (protocolVersion) => {
      const server = new ScriptedServer({
        initialize: () => ({ result: { protocolVersion, capabilities: {}, serverInfo: { name: 's', version: '1' } } }),
      })
      const client = new Client({ name: 'c', version: '1' }, { revisions: handshakes })
      let isClosed = false
      const { close } = server.transport
      server.transport.close = () => {
        isClosed = true
        return close.call(server.transport)
      }
      const error = await errorOf(client.connect(server.transport))
      expect(error.code).toBe('no-common-revision')
      expect(error.message).toContain(String(protocolVersion))
      expect(error.message).toContain('2025-11-25')
      expect(client.state).toBe('closed')
      expect(isClosed).toBe(true)
      expect(methodsOf(server.transcript, 'client')).toEqual(['initialize'])
    },
  )

  it.each(handshakes)(
    'holds for the whole session: a second initialize changes nothing (%s) [VER-008]',
    async (revision) => {
      await using caller = await ScriptedClient.connect(testServer().server, { revision })
      await caller.open()
      const other = handshakes.find((id) => id !== revision)
      const params = {
        protocolVersion: other,
        capabilities: { roots: {} },
        clientInfo: { name: 'other', version: '2' },
      }
      const again = (await caller.send({ jsonrpc: '2.0', id: 'again', method: 'initialize', params })) as Said
      expect(again.error?.code).toBe(-32600)
      const answer = (await caller.request('tools/call', { name: 'who' })) as Said
      const who = JSON.parse((answer.result!.content as [{ text: string }])[0].text)
      expect(who).toEqual({ revision, client: clientInfo, capabilities: {} })
    },
  )

  it.each(handshakes)(
    'is the only one the client names, and its calls are of that revision (%s) [VER-008]',
    async (revision) => {
      const server = scripted(revision, { 'tools/list': () => ({ result: { tools: [] } }) })
      const client = await scriptedClient(server, { revisions: handshakes })
      await client.listTools()
      await client.ping()
      expect(client.revision).toBe(revision)
      expect(methodsOf(server.transcript, 'client')).toEqual([
        'initialize',
        'notifications/initialized',
        'tools/list',
        'ping',
      ])
      expect(server.transcript.toString()).not.toContain(metaKeys.protocolVersion)
      await client.close()
    },
  )

  it.each(handshakes)(
    'of a server that refuses, but lists %s with its refusal, is followed by one that it takes',
    async (revision) => {
      const server = new ScriptedServer({
        initialize: ({ protocolVersion: requested }) =>
          requested === revision
            ? { result: initialized(revision) }
            : {
                error: {
                  code: -32602,
                  message: 'Unsupported',
                  data: { supported: ['2023-01-01', revision], requested },
                },
              },
      })
      const client = await scriptedClient(server, { revisions: handshakes })
      expect(client.revision).toBe(revision)
      const asked = said(server.transcript, 'client', 'initialize').map(({ params }) => params?.protocolVersion)
      expect(asked).toEqual([...new Set([newestHandshake, revision])])
      await client.close()
    },
  )

  it.each([-32602, -32601, -32600, -32000])(
    'of a server that refuses with %i and lists only strangers ends the attempt, with its list in the error',
    async (code) => {
      const data = { supported: ['2023-01-01', '2031-01-01'], requested: newestHandshake }
      const server = new ScriptedServer({ initialize: () => ({ error: { code, message: 'Unsupported', data } }) })
      const client = new Client({ name: 'c', version: '1' }, { revisions: handshakes })
      const error = await errorOf(client.connect(server.transport))
      expect(error.code).toBe('no-common-revision')
      expect(error.message).toContain('2031-01-01')
      expect(client.state).toBe('closed')
      expect(methodsOf(server.transcript, 'client')).toEqual(['initialize'])
    },
  )

  it('of a server that refuses without a list ends the attempt with the refusal', async () => {
    const server = new ScriptedServer({ initialize: () => ({ error: { code: -32603, message: 'broken' } }) })
    const client = new Client({ name: 'c', version: '1' }, { revisions: handshakes })
    expect(await errorOf<PeerError>(client.connect(server.transport))).toMatchObject({ code: 'peer', rpcCode: -32603 })
    expect(client.state).toBe('closed')
  })
})

describe('a version that a self-describing request names', () => {
  it.each(['2099-01-01', '2025-11-25', 'draft', '', '2026-07-28 '])(
    '"%s" is refused with -32022, what is supported and what was asked for [VER-001, VER-011]',
    async (version) => {
      await using caller = await ScriptedClient.connect(testServer().server)
      for (const method of ['server/discover', 'tools/list', 'tools/call', 'subscriptions/listen', 'no/such']) {
        const params = caller.params({
          name: 'who',
          notifications: {},
          _meta: { [metaKeys.protocolVersion]: version },
        })
        const answer = (await caller.send({ jsonrpc: '2.0', id: method, method, params })) as Said
        expect(answer.error, method).toMatchObject({
          code: -32022,
          data: { supported: [...revisionIds], requested: version },
        })
      }
    },
  )

  it.each(subsets(everyRevision).map((set) => [set.join(' + '), set] as const))(
    'is refused by a server of %s with the list of exactly these [VER-011]',
    async (_, revisions) => {
      await using caller = await ScriptedClient.connect(testServer({ revisions }).server)
      const params = caller.params({ _meta: { [metaKeys.protocolVersion]: '2031-01-01' } })
      const { error } = (await caller.send({ jsonrpc: '2.0', id: 1, method: 'tools/list', params })) as Said
      expect(error?.code).toBe(-32022)
      const { supported, requested } = error!.data as { supported: string[]; requested: string }
      expect([...supported].sort()).toEqual([...revisions].sort())
      expect(requested).toBe('2031-01-01')
    },
  )

  it('is served without any discovery before it [VER-013]', async () => {
    await using caller = await ScriptedClient.connect(testServer().server)
    const answer = (await caller.request('tools/call', { name: 'echo', arguments: { text: 'first' } })) as Said
    expect(answer.result).toMatchObject({ content: [{ type: 'text', text: 'first' }], resultType: 'complete' })
  })
})

describe('initialize at a server that speaks only 2026-07-28', () => {
  const good = { protocolVersion: newestHandshake, capabilities: {}, clientInfo }
  const meta = {
    [metaKeys.protocolVersion]: modern,
    [metaKeys.clientCapabilities]: {},
    [metaKeys.clientInfo]: clientInfo,
  }
  const cases: [string, Record<string, unknown> | undefined][] = [
    ['well-formed', good],
    ['asking for 2026-07-28', { ...good, protocolVersion: modern }],
    ['without params', undefined],
    ['without clientInfo', { protocolVersion: newestHandshake, capabilities: {} }],
    ['with a version that is no string', { ...good, protocolVersion: 5 }],
    ['that also describes itself', { ...good, _meta: meta }],
    [
      'that describes itself in another version',
      { ...good, _meta: { ...meta, [metaKeys.protocolVersion]: '2099-01-01' } },
    ],
  ]
  for (const transport of ['memory', 'stdio'] as const) {
    it.each(cases)(
      `%s: gets an error that names the versions, over ${transport} [VER-027, VER-032]`,
      async (_, params) => {
        const [wire] = wires({ transports: [transport], revisions: [modern] })
        const channel = await wire!.open(testServer({ revisions: [modern] }).server)
        await using caller = await ScriptedClient.connect(channel)
        const answer = (await caller.send({
          jsonrpc: '2.0',
          id: 1,
          method: 'initialize',
          ...(params && { params }),
        })) as Said
        expect(answer.result).toBeUndefined()
        expect(answer.error?.code).toEqual(expect.any(Number))
        expect(answer.error?.data?.supported).toEqual([modern])
      },
    )
  }
})

describe('the probe', () => {
  const slow = { probeTimeoutMs: 15, connectTimeoutMs: 3_000 }

  it('is server/discover with the newest version, before anything else [VER-015]', async () => {
    const server = scripted(modern)
    const client = await scriptedClient(server)
    const [first] = said(server.transcript, 'client')
    expect(first).toMatchObject({
      method: 'server/discover',
      params: { _meta: { [metaKeys.protocolVersion]: modern } },
    })
    expect(methodsOf(server.transcript, 'client')).toEqual(['server/discover'])
    await client.close()
  })

  it('answered with a discovery: the client stays modern and takes the version both have [VER-016]', async () => {
    const server = scripted(modern, {
      'server/discover': () => ({ result: discovery(['2031-01-01', modern, '2025-11-25']) }),
      'tools/list': () => ({ result: { resultType: 'complete', tools: [] } }),
    })
    const client = await scriptedClient(server)
    await client.listTools()
    expect(client.revision).toBe(modern)
    expect(methodsOf(server.transcript, 'client')).toEqual(['server/discover', 'tools/list'])
    expect(said(server.transcript, 'client', 'tools/list')[0]?.params?._meta?.[metaKeys.protocolVersion]).toBe(modern)
    await client.close()
  })

  it('answered with a discovery of older versions only: takes the newest of those [VER-016, DISC-008]', async () => {
    const server = scripted('2025-06-18', {
      'server/discover': () => ({ result: discovery(['2031-01-01', '2025-06-18', '2024-11-05']) }),
    })
    const client = await scriptedClient(server)
    expect(client.revision).toBe('2025-06-18')
    expect(said(server.transcript, 'client', 'initialize')[0]?.params?.protocolVersion).toBe('2025-06-18')
    await client.close()
  })

  it('answered with -32022 and versions in common: uses one of those, never another [VER-012, VER-017]', async () => {
    const server = scripted('2025-03-26', {
      'server/discover': () => ({
        error: {
          code: -32022,
          message: 'Unsupported',
          data: { supported: ['2031-01-01', '2025-03-26'], requested: modern },
        },
      }),
    })
    const client = await scriptedClient(server)
    expect(client.revision).toBe('2025-03-26')
    expect(said(server.transcript, 'client', 'initialize').map(({ params }) => params?.protocolVersion)).toEqual([
      '2025-03-26',
    ])
    await client.close()
  })

  it('answered with -32022 that names the version asked for: it is tried once more, and no handshake [VER-012, VER-017]', async () => {
    let asked = 0
    const server = scripted(modern, {
      'server/discover': () =>
        asked++ === 0
          ? { error: { code: -32022, message: 'Not yet', data: { supported: [modern], requested: modern } } }
          : { result: discovery([modern]) },
    })
    const client = await scriptedClient(server)
    expect(client.revision).toBe(modern)
    expect(methodsOf(server.transcript, 'client')).toEqual(['server/discover', 'server/discover'])
    await client.close()
  })

  it('answered with -32022 for ever: fails instead of asking for ever [VER-012]', async () => {
    const server = scripted(modern, {
      'server/discover': () => ({
        error: { code: -32022, message: 'Never', data: { supported: [modern], requested: modern } },
      }),
    })
    const error = await errorOf(scriptedClient(server))
    expect(error).toBeInstanceOf(Error)
    expect(methodsOf(server.transcript, 'client').length).toBeLessThan(5)
    expect(methodsOf(server.transcript, 'client')).not.toContain('initialize')
  })

  it.each([
    ['strangers', ['2031-01-01', '2032-01-01']],
    ['nothing', []],
    ['no versions at all', [5, null, {}]],
  ])('answered with -32022 that lists %s: an error, not a handshake [VER-012, VER-017]', async (_, supported) => {
    const server = scripted('2025-11-25', {
      'server/discover': () => ({ error: { code: -32022, message: 'No', data: { supported, requested: modern } } }),
    })
    const error = await errorOf(scriptedClient(server))
    expect(error.code).toBe('no-common-revision')
    expect(error.message).toContain(modern)
    expect(methodsOf(server.transcript, 'client')).toEqual(['server/discover'])
  })

  it.each([
    ['-32022 without data', { code: -32022, message: 'Unsupported protocol version' }],
    ['-32022 with data that is no list', { code: -32022, message: 'No', data: { supported: '2031-01-01' } }],
    ['-32021', { code: -32021, message: 'Missing', data: { requiredCapabilities: { sampling: {} } } }],
    ['-32020', { code: -32020, message: 'Header mismatch' }],
  ])('answered with %s, which only modern servers say: no handshake [VER-017]', async (_, error) => {
    const server = scripted('2025-11-25', { 'server/discover': () => ({ error }) })
    await errorOf(scriptedClient(server))
    expect(methodsOf(server.transcript, 'client')).toEqual(['server/discover'])
  })

  it.each([
    -32700, -32600, -32601, -32602, -32603, -32000, -32001, -32002, -32042, -32099, -1, 0, 1, 400, 404, 2_147_483_647,
  ])('answered with error %i: falls back to initialize [VER-018, VER-019]', async (code) => {
    const server = scripted('2025-06-18', { 'server/discover': () => ({ error: { code, message: 'odd' } }) })
    const client = await scriptedClient(server)
    expect(client.revision).toBe('2025-06-18')
    expect(methodsOf(server.transcript, 'client')).toEqual([
      'server/discover',
      'initialize',
      'notifications/initialized',
    ])
    await client.close()
  })

  it.each([
    ['empty', {}],
    ['of another shape', { protocolVersion: '2025-06-18', capabilities: {} }],
    ['with versions that are no list', { supportedVersions: modern, capabilities: {} }],
  ])('answered with a result that is %s: falls back to initialize [VER-018]', async (_, result) => {
    const server = scripted('2025-06-18', { 'server/discover': () => ({ result }) })
    const client = await scriptedClient(server)
    expect(client.revision).toBe('2025-06-18')
    await client.close()
  })

  it('not answered in time: falls back to initialize [VER-018]', async () => {
    const server = scripted('2024-11-05', { 'server/discover': () => undefined })
    const client = await scriptedClient(server, slow)
    expect(client.revision).toBe('2024-11-05')
    expect(methodsOf(server.transcript, 'client').slice(0, 2)).toEqual(['server/discover', 'initialize'])
    await client.close()
  })

  it('answered while the handshake is under way: the first answer decides, and it is the modern one', async () => {
    let asked = 0
    const server = scripted(modern, {
      'server/discover': () => (asked++ === 0 ? undefined : { result: discovery([modern]) }),
      initialize: () => undefined,
    })
    const versions: string[] = []
    server.transport.setProtocolVersion = (version) => versions.push(version)
    const client = new Client({ name: 'c', version: '1' }, slow)
    const connecting = client.connect(server.transport)
    const greeting = await heard(server.transcript, 'client', 'initialize')
    const probe = said(server.transcript, 'client', 'server/discover')[0]!
    server.say({ jsonrpc: '2.0', id: probe.id, result: discovery([modern]) })
    await connecting
    expect(client.revision).toBe(modern)
    // The handshake is answered too, after all; it no longer counts.
    server.say({ jsonrpc: '2.0', id: greeting.id, result: initialized('2025-11-25') })
    await client.ping()
    expect(client.revision).toBe(modern)
    expect(versions.at(-1)).toBe(modern)
    expect(methodsOf(server.transcript, 'client')).not.toContain('notifications/initialized')
    await client.close()
  })

  it('answered after the handshake was: the session stays, the late answer is dropped', async () => {
    const server = scripted('2025-06-18', { 'server/discover': () => undefined })
    const client = await scriptedClient(server, slow)
    const probe = said(server.transcript, 'client', 'server/discover')[0]!
    server.say({ jsonrpc: '2.0', id: probe.id, result: discovery([modern]) })
    await client.ping()
    expect(client.revision).toBe('2025-06-18')
    expect(client.state).toBe('ready')
    expect(methodsOf(server.transcript, 'client').at(-1)).toBe('ping')
    await client.close()
  })

  it('answered late by a modern server that refuses the handshake: the client waits for it', async () => {
    const server = scripted(modern, {
      'server/discover': () => undefined,
      initialize: () => ({ error: { code: -32601, message: 'no initialize', data: { supported: [modern] } } }),
    })
    const client = new Client({ name: 'c', version: '1' }, slow)
    const connecting = client.connect(server.transport)
    await heard(server.transcript, 'client', 'initialize')
    const probe = said(server.transcript, 'client', 'server/discover')[0]!
    server.say({ jsonrpc: '2.0', id: probe.id, result: discovery([modern]) })
    await connecting
    expect(client.revision).toBe(modern)
    await client.close()
  })

  it('answered with an error after the handshake began: the handshake goes on [VER-018]', async () => {
    const server = scripted('2025-03-26', { 'server/discover': () => undefined, initialize: () => undefined })
    const client = new Client({ name: 'c', version: '1' }, slow)
    const connecting = client.connect(server.transport)
    const greeting = await heard(server.transcript, 'client', 'initialize')
    const probe = said(server.transcript, 'client', 'server/discover')[0]!
    server.say({ jsonrpc: '2.0', id: probe.id, error: { code: -32601, message: 'what?' } })
    server.say({ jsonrpc: '2.0', id: greeting.id, result: initialized('2025-03-26') })
    await connecting
    expect(client.revision).toBe('2025-03-26')
    expect(methodsOf(server.transcript, 'client').filter((method) => method === 'initialize')).toHaveLength(1)
    await client.close()
  })

  it('of a server that answers nothing at all ends with a timeout, and never with a cancelled initialize', async () => {
    const server = new ScriptedServer({ '*': () => undefined })
    const client = new Client({ name: 'c', version: '1' }, { probeTimeoutMs: 10, connectTimeoutMs: 60 })
    const error = await errorOf(client.connect(server.transport))
    expect(error.code).toBe('timeout')
    expect(client.state).toBe('closed')
    const greeting = said(server.transcript, 'client', 'initialize')[0]!
    const cancelled = said(server.transcript, 'client', 'notifications/cancelled').map(
      ({ params }) => params?.requestId,
    )
    expect(cancelled).not.toContain(greeting.id)
  })

  it('is made by a modern-only client too, and fails for good at an older server [VER-020]', async () => {
    const server = scripted('2025-11-25')
    const error = await errorOf(scriptedClient(server, { revision: modern }))
    expect(error.code).toBe('no-common-revision')
    expect(error.message).toContain(modern)
    expect(methodsOf(server.transcript, 'client')).toEqual(['server/discover'])
  })

  it('of a modern-only client at a silent server ends in time, without a handshake [VER-020]', async () => {
    const server = scripted('2025-11-25', { 'server/discover': () => undefined })
    const error = await errorOf(scriptedClient(server, { revision: modern, probeTimeoutMs: 10, connectTimeoutMs: 50 }))
    expect(error.code).toBe('timeout')
    expect(methodsOf(server.transcript, 'client')).not.toContain('initialize')
  })

  it.each([true, false])('of a server that hangs up (answering first: %s) fails with a reason', async (isAnswering) => {
    const server: ScriptedServer = new ScriptedServer({
      'server/discover': () => {
        const answer: ScriptedAnswer = isAnswering ? { error: { code: -32601, message: 'bye' } } : undefined
        queueMicrotask(() => void server.close())
        return answer
      },
    })
    const client = new Client({ name: 'c', version: '1' }, slow)
    const error = await errorOf(client.connect(server.transport))
    expect(error.code).toBe('closed')
    expect(client.state).toBe('closed')
  })
})

describe('what was found out about a server', () => {
  let count = 0
  const keyed = (server: ScriptedServer, key: string): Transport => Object.assign(server.transport, { peerKey: key })
  const freshKey = () => `test peer ${count++}`
  const dial = async (transport: Transport) => {
    const client = new Client({ name: 'c', version: '1' }, { probeTimeoutMs: 15 })
    await client.connect(transport)
    return client
  }

  it('is remembered: the second connection to a handshake server does not probe [VER-025]', async () => {
    const key = freshKey()
    const first = scripted('2025-06-18')
    await (await dial(keyed(first, key))).close()
    expect(methodsOf(first.transcript, 'client')[0]).toBe('server/discover')
    const second = scripted('2025-06-18')
    const client = await dial(keyed(second, key))
    expect(client.revision).toBe('2025-06-18')
    expect(methodsOf(second.transcript, 'client')).toEqual(['initialize', 'notifications/initialized'])
    await client.close()
  })

  it('is remembered after silence as well, so that it is waited for only once [VER-025]', async () => {
    const key = freshKey()
    const silent = () => scripted('2024-11-05', { 'server/discover': () => undefined })
    await (await dial(keyed(silent(), key))).close()
    const second = silent()
    await (await dial(keyed(second, key))).close()
    expect(methodsOf(second.transcript, 'client')).toEqual(['initialize', 'notifications/initialized'])
  })

  it('belongs to one server: another is probed [VER-025]', async () => {
    await (await dial(keyed(scripted('2025-06-18'), freshKey()))).close()
    const other = scripted('2025-06-18')
    await (await dial(keyed(other, freshKey()))).close()
    expect(methodsOf(other.transcript, 'client')[0]).toBe('server/discover')
    const unnamed = scripted('2025-06-18')
    await (await dial(unnamed.transport)).close()
    expect(methodsOf(unnamed.transcript, 'client')[0]).toBe('server/discover')
  })

  it('is found out anew when it no longer holds: a server that became modern is probed [VER-026]', async () => {
    const key = freshKey()
    await (await dial(keyed(scripted('2025-06-18'), key))).close()
    const upgraded = scripted(modern)
    const client = await dial(keyed(upgraded, key))
    expect(client.revision).toBe(modern)
    await client.close()
    const third = scripted(modern)
    await (await dial(keyed(third, key))).close()
    expect(methodsOf(third.transcript, 'client')).toEqual(['server/discover'])
  })

  it('is found out anew at a modern server that refuses initialize and lists its versions, as ours does [VER-026]', async () => {
    const key = freshKey()
    await (await dial(keyed(scripted('2025-06-18'), key))).close()
    const [ours, theirs] = InMemoryTransport.createLinkedPair()
    await testServer({ revisions: [modern] }).server.connect(theirs)
    const client = await dial(Object.assign(ours, { peerKey: key }))
    expect(client.revision).toBe(modern)
    await client.close()
  })

  it('is found out anew when a modern server went back to the handshake [VER-026]', async () => {
    const key = freshKey()
    await (await dial(keyed(scripted(modern), key))).close()
    const client = await dial(keyed(scripted('2025-11-25'), key))
    expect(client.revision).toBe('2025-11-25')
    await client.close()
  })

  it('keeps the second connection of a real process from probing [VER-025]', async () => {
    const script = `
      process.stdin.setEncoding('utf8'); let text = '';
      process.stdin.on('data', (chunk) => {
        text += chunk
        for (let end; (end = text.indexOf('\\n')) >= 0; text = text.slice(end + 1)) {
          const { id, method } = JSON.parse(text.slice(0, end))
          process.stderr.write(method + ';')
          if (id === undefined) continue
          const body = method === 'initialize'
            ? { result: { protocolVersion: '2025-06-18', capabilities: {}, serverInfo: { name: 'p', version: '1' } } }
            : method === 'ping' ? { result: {} } : { error: { code: -32601, message: 'Method not found' } }
          process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, ...body }) + '\\n')
        }
      })
      process.stdin.on('end', () => process.exit(0))`
    const heardOf = async () => {
      let errors = ''
      const stderr = (text: string) => {
        errors += text
      }
      const client = await connect({ command: process.execPath, args: ['-e', script], stderr })
      await client.ping()
      await client.close()
      return errors
    }
    expect(await heardOf()).toBe('server/discover;initialize;notifications/initialized;ping;')
    expect(await heardOf()).toBe('initialize;notifications/initialized;ping;')
  })
})

describe('extensions', () => {
  it.each(everyRevision)('are off unless the developer turns them on (%s) [VER-036]', async (revision) => {
    const { server } = testServer()
    const [ours, theirs] = InMemoryTransport.createLinkedPair()
    await server.connect(theirs)
    const transcript = record(ours)
    const client = new Client({ name: 'c', version: '1' }, { revision })
    await client.connect(ours)
    await client.listTools()
    expect(client.server.capabilities).toHaveProperty('tools')
    expect(client.server.capabilities).not.toHaveProperty('extensions')
    expect(transcript.toString()).not.toContain('extensions')
    await client.close()
  })

  it('are declared by both sides when turned on, and the server can look at the settings [VER-036, VER-037]', async () => {
    const extensions = { 'com.example/colours': { depth: 8 } }
    const server = new McpServer({ name: 's', version: '1' }, { capabilities: { extensions } })
    server.registerTool('paint', {}, (_, { caller }) => {
      const settings = caller.capabilities.extensions?.['com.example/colours'] as { depth: number } | undefined
      return settings ? `in ${settings.depth} bits` : 'in black and white'
    })
    const [ours, theirs] = InMemoryTransport.createLinkedPair()
    await server.connect(theirs)
    const client = new Client({ name: 'c', version: '1' }, { revision: modern, capabilities: { extensions } })
    await client.connect(ours)
    expect(client.server.capabilities.extensions).toEqual(extensions)
    expect((await client.callTool('paint')).text).toBe('in 8 bits')
    await client.close()
    const [plain, end] = InMemoryTransport.createLinkedPair()
    await server.connect(end)
    const without = new Client({ name: 'c', version: '1' }, { revision: modern })
    await without.connect(plain)
    expect((await without.callTool('paint')).text).toBe('in black and white')
    await without.close()
  })

  it.each(['colours', '/colours', 'com..example/colours', '-com/colours', 'com.example/-'])(
    'with a name outside the grammar are refused by a server: %s [VER-033]',
    (id) => {
      const capabilities = { extensions: { [id]: {} } }
      expect(() => new McpServer({ name: 's', version: '1' }, { capabilities })).toThrow(TypeError)
    },
  )

  it('with a name outside the grammar are refused by a client [VER-033]', () => {
    for (const id of ['colours', '/colours', 'com..example/colours', '-com/colours', 'com.example/-']) {
      const capabilities = { extensions: { [id]: {} } }
      expect(() => new Client({ name: 'c', version: '1' }, { capabilities }), id).toThrow(TypeError)
    }
  })

  it('that the client did not declare are refused when a server uses them all the same [VER-034]', async () => {
    const server = scripted(modern, {
      'tools/call': () => ({ result: { resultType: 'task', taskId: 'x', status: 'working' } }),
      'prompts/get': () => ({ result: { resultType: 'com.example/odd', messages: [] } }),
    })
    const client = await scriptedClient(server)
    expect((await errorOf(client.callTool('slow'))).code).toBe('invalid-response')
    expect((await errorOf(client.getPrompt('odd'))).code).toBe('invalid-response')
    await client.close()
  })

  it('that the server does not have leave it with core behaviour: their methods do not exist [VER-034]', async () => {
    const extensions = { 'io.modelcontextprotocol/tasks': {}, 'com.example/colours': {} }
    await using caller = await ScriptedClient.connect(testServer().server, { capabilities: { extensions } })
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel', 'com.example/colours/mix']) {
      const answer = (await caller.request(method, { taskId: 'x', inputResponses: {} })) as Said
      expect(answer.error?.code, method).toBe(-32601)
    }
    const answer = (await caller.request('tools/call', { name: 'echo', arguments: { text: 'hi' } })) as Said
    expect(answer.result).toMatchObject({ resultType: 'complete', content: [{ text: 'hi' }] })
  })
})

describe('both eras at once', () => {
  it('one server serves a client of each revision at the same time [VER-009, VER-014, VER-030]', async () => {
    const { server } = testServer()
    const all = gate<string[]>()
    const clients = await Promise.all(
      everyRevision.map(async (revision) => {
        const { client, connecting } = await open(server, [revision])
        await connecting
        return client
      }),
    )
    all.open(await Promise.all(clients.map(async (client) => JSON.parse((await client.callTool('who')).text).revision)))
    expect(await all.promise).toEqual(everyRevision)
    await Promise.all(clients.map((client) => client.close()))
  })
})

describe('a server that takes its time to refuse a version', () => {
  it('is asked again with one that it names, as if it had answered at once [VER-023]', async () => {
    const [ours, theirs] = InMemoryTransport.createLinkedPair()
    const asked: string[] = []
    theirs.onmessage = (message) => {
      const { id, method } = message as { id: number; method: string }
      asked.push(method)
      const refusal = { code: -32022, message: 'Unsupported', data: { supported: [modern], requested: modern } }
      if (asked.length === 1) setTimeout(() => theirs.send({ jsonrpc: '2.0', id, error: refusal }), 60)
      else theirs.send({ jsonrpc: '2.0', id, result: discovery([modern]) })
    }
    await theirs.start()
    const client = new Client({ name: 'c', version: '1' }, { revision: modern, probeTimeoutMs: 10 })
    await client.connect(ours)
    expect(client.revision).toBe(modern)
    expect(asked).toEqual(['server/discover', 'server/discover'])
    await client.close()
  })
})

import { metaKeys, type RevisionId, revisionIds } from 'tenon'
import { Client, type PeerError } from 'tenon/client'
import type { McpServer } from 'tenon/server'
import { InMemoryTransport, record, ScriptedClient, ScriptedServer, wires } from 'tenon/testing'
import { describe, expect, it } from 'vitest'
import { errorOf } from '../kit/error-of.ts'
import { gate } from '../kit/gate.ts'
import { allRevisions, handshakeRevisions, modern } from '../kit/revisions.ts'
import { discovery, initialized, scripted, scriptedClient } from '../kit/scripted-server.ts'
import { methodsOf, type Said, said } from '../kit/transcript.ts'
import { subsets, testServer } from './support.ts'

const newestHandshake: RevisionId = '2025-11-25'
const clientInfo = { name: 'script', version: '1' }

/** Returns the revision that both eras' rules lead to, or undefined when they find none in common. */
function expected(client: readonly RevisionId[], server: readonly RevisionId[]): RevisionId | undefined {
  const newest = (ids: readonly RevisionId[]) => [...ids].sort().at(-1)
  if (client.includes(modern)) return newest(client.filter((id) => server.includes(id)))
  const offered: RevisionId[] = server.filter((id) => id !== modern)
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
  const servers = subsets(allRevisions).map((revisions) => ({ revisions, ...testServer({ revisions }) }))

  for (const own of subsets(allRevisions)) {
    it(`negotiates the right revision or fails with a reason, for a client of ${own.join(' + ')} [VER-001, VER-009]`, async () => {
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

  it('names the versions of a server that supports only 2026-07-28 to a client without it', async () => {
    const { server } = testServer({ revisions: [modern] })
    for (const own of subsets(handshakeRevisions)) {
      const { client, connecting } = await open(server, own)
      const error = await errorOf(connecting)
      expect(error.message).toContain(modern)
      expect(client.state).toBe('closed')
      expect(error.code).toBe('no-common-revision')
    }
  })
})

describe('the version in initialize', () => {
  it.each(subsets(handshakeRevisions).map((set) => [set.join(' + '), set] as const))(
    'is the newest that a client of %s supports [VER-002, VER-003]',
    async (_, own) => {
      const { client, transcript, connecting } = await open(testServer().server, own)
      await connecting
      const newest = [...own].sort().at(-1)
      expect(said(transcript, 'client', 'initialize').map(({ params }) => params?.protocolVersion)).toEqual([newest])
      await client.close()
    },
  )

  it.each(handshakeRevisions)('answers %s with the same version [VER-004]', async (revision) => {
    await using caller = await ScriptedClient.connect(testServer().server, { revision })
    expect(((await caller.open()) as Said).result?.protocolVersion).toBe(revision)
  })

  it.each(['2024-11-06', '2025-11-25 ', '2025-11-2', '2099-01-01', '1999-01-01', '2026-07-28', 'latest', '1.0'])(
    'answers "%s", which has no handshake here, with the newest handshake version [VER-001, VER-005, VER-006]',
    async (protocolVersion) => {
      await using caller = await ScriptedClient.connect(testServer().server)
      const params = { protocolVersion, capabilities: {}, clientInfo }
      const answer = (await caller.send({ jsonrpc: '2.0', id: 1, method: 'initialize', params })) as Said
      expect(answer.result?.protocolVersion).toBe(newestHandshake)
    },
  )

  it.each(subsets(handshakeRevisions).map((set) => [set.join(' + '), set] as const))(
    'answers an unsupported version with the newest version of a server of %s [VER-005, VER-006]',
    async (_, revisions) => {
      await using caller = await ScriptedClient.connect(testServer({ revisions }).server)
      const params = { protocolVersion: '2024-01-01', capabilities: {}, clientInfo }
      const answer = (await caller.send({ jsonrpc: '2.0', id: 1, method: 'initialize', params })) as Said
      expect(answer.result?.protocolVersion).toBe([...revisions].sort().at(-1))
    },
  )

  it.each(['2024-11-04', '2099-01-01', '2025-11-25T00:00:00Z', 20251125, null, undefined])(
    'disconnects and lists both sides’ versions when the server answers %s [VER-001, VER-007]',
    async (protocolVersion) => {
      const server = new ScriptedServer({
        initialize: () => ({ result: { protocolVersion, capabilities: {}, serverInfo: { name: 's', version: '1' } } }),
      })
      const client = new Client({ name: 'c', version: '1' }, { revisions: handshakeRevisions })
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

  it.each(handshakeRevisions)(
    'keeps the version for the whole session when initialize is repeated (%s) [VER-008]',
    async (revision) => {
      await using caller = await ScriptedClient.connect(testServer().server, { revision })
      await caller.open()
      const other = handshakeRevisions.find((id) => id !== revision)
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

  it.each(handshakeRevisions)(
    'names one version only, and its calls use that revision (%s) [VER-008]',
    async (revision) => {
      const server = scripted(revision, { 'tools/list': () => ({ result: { tools: [] } }) })
      const client = await scriptedClient(server, { revisions: handshakeRevisions })
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

  it.each(handshakeRevisions)(
    'retries with a supported version when the server refuses but lists %s',
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
      const client = await scriptedClient(server, { revisions: handshakeRevisions })
      expect(client.revision).toBe(revision)
      const asked = said(server.transcript, 'client', 'initialize').map(({ params }) => params?.protocolVersion)
      expect(asked).toEqual([...new Set([newestHandshake, revision])])
      await client.close()
    },
  )

  it.each([-32602, -32601, -32600, -32000])(
    'reports the server’s list when it refuses with %i and has no common version',
    async (code) => {
      const data = { supported: ['2023-01-01', '2031-01-01'], requested: newestHandshake }
      const server = new ScriptedServer({ initialize: () => ({ error: { code, message: 'Unsupported', data } }) })
      const client = new Client({ name: 'c', version: '1' }, { revisions: handshakeRevisions })
      const error = await errorOf(client.connect(server.transport))
      expect(error.code).toBe('no-common-revision')
      expect(error.message).toContain('2031-01-01')
      expect(client.state).toBe('closed')
      expect(methodsOf(server.transcript, 'client')).toEqual(['initialize'])
    },
  )

  it('reports the refusal when the server lists no versions', async () => {
    const server = new ScriptedServer({ initialize: () => ({ error: { code: -32603, message: 'broken' } }) })
    const client = new Client({ name: 'c', version: '1' }, { revisions: handshakeRevisions })
    expect(await errorOf<PeerError>(client.connect(server.transport))).toMatchObject({ code: 'peer', rpcCode: -32603 })
    expect(client.state).toBe('closed')
  })
})

describe('the version of a stateless request', () => {
  it.each(['2099-01-01', '2025-11-25', 'draft', '', '2026-07-28 '])(
    'refuses "%s" with -32022, the supported and the requested version [VER-001, VER-011]',
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

  it.each(subsets(allRevisions).map((set) => [set.join(' + '), set] as const))(
    'lists exactly the supported versions on a server of %s [VER-011]',
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

  it('serves a request without prior discovery [VER-013]', async () => {
    await using caller = await ScriptedClient.connect(testServer().server)
    const answer = (await caller.request('tools/call', { name: 'echo', arguments: { text: 'first' } })) as Said
    expect(answer.result).toMatchObject({ content: [{ type: 'text', text: 'first' }], resultType: 'complete' })
  })
})

describe('initialize at a server of 2026-07-28 only', () => {
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
      `refuses %s with an error that names the versions, over ${transport} [VER-027, VER-032]`,
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

describe('both eras at once', () => {
  it('serves a client of each revision at the same time [VER-009, VER-014, VER-030]', async () => {
    const { server } = testServer()
    const all = gate<string[]>()
    const clients = await Promise.all(
      allRevisions.map(async (revision) => {
        const { client, connecting } = await open(server, [revision])
        await connecting
        return client
      }),
    )
    all.open(await Promise.all(clients.map(async (client) => JSON.parse((await client.callTool('who')).text).revision)))
    expect(await all.opened).toEqual(allRevisions)
    await Promise.all(clients.map((client) => client.close()))
  })
})

describe('a server that refuses a version late', () => {
  it('retries with a version that the server names [VER-023]', async () => {
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

import { metaKeys, type RevisionId } from 'tenon'
import { type CapabilityError, Client } from 'tenon/client'
import { completable, McpServer, type ServerOptions } from 'tenon/server'
import { InMemoryTransport, record, ScriptedClient, ScriptedServer } from 'tenon/testing'
import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { errorOf } from '../kit/error-of.ts'
import { everyWire } from '../kit/every-wire.ts'
import { gate } from '../kit/gate.ts'
import { allRevisions, handshakeRevisions, modern } from '../kit/revisions.ts'
import { initialized, scripted, scriptedClient } from '../kit/scripted-server.ts'
import { movableTimers } from '../kit/time.ts'
import { heard, methodsOf, type Said, said } from '../kit/transcript.ts'
import { connected, testServer } from './support.ts'

const clientInfo = { name: 'script', version: '1' }

const notHandshake = (wire: { revision: { id: RevisionId } }) =>
  wire.revision.id === modern ? 'this revision has no handshake' : undefined

async function recorded(server: McpServer, revision: RevisionId, info = { name: 'c', version: '1' }) {
  const [ours, theirs] = InMemoryTransport.createLinkedPair()
  const link = await server.connect(theirs)
  const transcript = record(ours)
  const client = new Client(info, { revision })
  await client.connect(ours)
  return { client, transcript, link }
}

describe('the handshake', () => {
  everyWire(
    'performs the handshake in three steps with the required members [LIFE-001, LIFE-002, LIFE-003, LIFE-005, LIFE-008]',
    async (wire) => {
      await using pair = await wire.connect(testServer().server, { capabilities: { roots: { listChanged: true } } })
      await pair.client.callTool('echo', { text: 'x' })
      const [asked, answered, confirmed] = pair.transcript.lines.map(({ message }) => message as Said)
      expect(pair.transcript.lines.slice(0, 3).map(({ from }) => from)).toEqual(['client', 'server', 'client'])
      expect(asked).toMatchObject({
        method: 'initialize',
        params: {
          protocolVersion: wire.revision.id,
          capabilities: { roots: { listChanged: true } },
          clientInfo: { name: 'test', version: '1.0.0' },
        },
      })
      expect(answered).toMatchObject({
        id: asked!.id,
        result: {
          protocolVersion: wire.revision.id,
          capabilities: { tools: { listChanged: true }, logging: {} },
          serverInfo: { name: 'test-server', version: '3.2.1' },
        },
      })
      expect(confirmed?.method).toBe('notifications/initialized')
      expect(confirmed).not.toHaveProperty('id')
      expect(methodsOf(pair.transcript, 'client').filter((method) => method === 'initialize')).toHaveLength(1)
    },
    { skip: notHandshake },
  )

  it.each(handshakeRevisions)('requires the handshake before any other request (%s) [LIFE-001]', async (revision) => {
    for (const revisions of [undefined, handshakeRevisions]) {
      const { server } = testServer(revisions ? { revisions } : {})
      await using caller = await ScriptedClient.connect(server, { revision })
      for (const method of ['tools/list', 'tools/call', 'logging/setLevel', 'no/such']) {
        const answer = (await caller.request(method, { name: 'echo', level: 'info' })) as Said
        expect(answer.result, method).toBeUndefined()
        expect([-32600, -32602], method).toContain(answer.error?.code)
      }
      expect(((await caller.open()) as Said).result?.protocolVersion).toBe(revision)
      expect(((await caller.request('tools/list')) as Said).result?.tools).toHaveLength(3)
    }
  })

  it.each([
    ['nothing', undefined],
    ['no version', { capabilities: {}, clientInfo }],
    ['no capabilities', { protocolVersion: '2025-06-18', clientInfo }],
    ['no clientInfo', { protocolVersion: '2025-06-18', capabilities: {} }],
    ['a nameless client', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { version: '1' } }],
    ['a client without version', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'x' } }],
    ['capabilities that are a list', { protocolVersion: '2025-06-18', capabilities: [], clientInfo }],
  ])('refuses initialize with %s, and accepts a valid one afterwards [LIFE-002, LIFE-013]', async (_, params) => {
    await using caller = await ScriptedClient.connect(testServer().server, { revision: '2025-06-18' })
    const refused = (await caller.send({
      jsonrpc: '2.0',
      id: 'x',
      method: 'initialize',
      ...(params && { params }),
    })) as Said
    expect(refused.error?.code).toBe(-32602)
    expect(((await caller.open()) as Said).result?.protocolVersion).toBe('2025-06-18')
  })

  everyWire(
    'sends instructions only if they were given [LIFE-004]',
    async (wire) => {
      await using plain = await wire.connect(testServer().server)
      expect(plain.client.getInstructions()).toBeUndefined()
      expect(said(plain.transcript, 'server')[0]?.result).not.toHaveProperty('instructions')
      await using pair = await wire.connect(testServer({ instructions: 'Be brief.' }).server)
      expect(pair.client.getInstructions()).toBe('Be brief.')
      expect(said(pair.transcript, 'server')[0]?.result?.instructions).toBe('Be brief.')
    },
    { skip: notHandshake },
  )

  it.each(handshakeRevisions)('holds calls back until the handshake is complete (%s) [LIFE-006]', async (revision) => {
    const server = scripted(revision, {
      initialize: () => undefined,
      'tools/list': () => ({ result: { tools: [] } }),
    })
    const client = new Client({ name: 'c', version: '1' }, { revision })
    const connecting = client.connect(server.transport)
    const greeting = await heard(server.transcript, 'client', 'initialize')
    const early = [client.request('tools/list'), client.request('ping')].map((call) =>
      call.then(
        () => 'answered',
        (error: { code: string }) => error.code,
      ),
    )
    expect(() => client.notify('notifications/roots/list_changed')).toThrow()
    await Promise.race([Promise.all(early), new Promise((resolve) => setTimeout(resolve, 20))])
    expect(methodsOf(server.transcript, 'client').filter((method) => method !== 'ping')).toEqual(['initialize'])
    server.say({ jsonrpc: '2.0', id: greeting.id, result: initialized(revision) })
    await connecting
    await client.listTools()
    expect(methodsOf(server.transcript, 'client').slice(0, 2)).toEqual(['initialize', 'notifications/initialized'])
    await client.close()
  })

  it.each(handshakeRevisions)(
    'sends only responses until the client confirms the handshake (%s) [LIFE-007]',
    async (revision) => {
      const { server } = testServer({ listChangedDelayMs: 0 })
      server.registerResource('note', 'note://a', {}, () => 'a')
      await using caller = await ScriptedClient.connect(server, { revision })
      const params = { protocolVersion: revision, capabilities: { roots: {}, sampling: {} }, clientInfo }
      await caller.send({ jsonrpc: '2.0', id: 'init', method: 'initialize', params })
      const stir = async () => {
        server.registerTool(`later-${Math.random()}`.replace('.', ''), {}, () => 'x')
        server.sendResourceUpdated('note://a')
        server.sendPromptListChanged()
        // Change notifications are sent after a timer, so the response to a later ping alone would prove nothing.
        await new Promise((resolve) => setTimeout(resolve, 10))
        await caller.request('ping')
      }
      await stir()
      expect(methodsOf(caller.transcript, 'server')).toEqual([])
      caller.notify('notifications/initialized')
      const told = caller.nextNotification('notifications/tools/list_changed')
      await stir()
      await told
      expect(methodsOf(caller.transcript, 'server')).toContain('notifications/tools/list_changed')
    },
  )
})

describe('a question before the client confirms the handshake', () => {
  const asking = async (revision: RevisionId, options: ServerOptions = {}) => {
    const server = new McpServer({ name: 's', version: '1' }, { capabilities: { logging: {} }, ...options })
    server.registerTool('where', {}, async (_, ctx) => {
      ctx.log.warning('looking')
      return (await ctx.roots()).map(({ uri }) => uri).join()
    })
    const client = await ScriptedClient.connect(server, { revision })
    client.transcript.onLine(({ from, message }) => {
      const { id, method } = message as Said
      if (from !== 'server' || method !== 'roots/list') return
      client.say({ jsonrpc: '2.0', id, result: { roots: [{ uri: 'file:///a' }] } })
    })
    const params = { protocolVersion: revision, capabilities: { roots: {} }, clientInfo }
    await client.send({ jsonrpc: '2.0', id: 'init', method: 'initialize', params })
    const answer = client.request('tools/call', { name: 'where' })
    await client.request('ping')
    return { client, answer }
  }
  const found = { result: { content: [{ type: 'text', text: 'file:///a' }] } }

  it.each(handshakeRevisions)('waits, while log messages are sent (%s) [LIFE-007]', async (revision) => {
    const { client, answer } = await asking(revision)
    expect(methodsOf(client.transcript, 'server')).toEqual(['notifications/message'])
    client.notify('notifications/initialized')
    expect(await answer).toMatchObject(found)
    await client.close()
  })

  it('is sent after five seconds to a client that never confirms it [LIFE-007]', async () => {
    using time = movableTimers()
    const { client, answer } = await asking('2025-11-25')
    await time.advance(4_000)
    expect(methodsOf(client.transcript, 'server')).toEqual(['notifications/message'])
    expect(await time.advanceUntil(answer)).toMatchObject(found)
    await client.close()
  })

  it('is sent at once by a lenient server, as by the official SDK', async () => {
    const { client, answer } = await asking('2025-11-25', { lifecycle: 'lenient' })
    expect(await answer).toMatchObject(found)
    await client.close()
  })
})

describe('negotiated revision and capabilities', () => {
  const level = {
    '2024-11-05': 'LIFE-009',
    '2025-03-26': 'LIFE-009',
    '2025-06-18': 'LIFE-010',
    '2025-11-25': 'LIFE-010',
  }
  const foreign = {
    '2024-11-05': ['server/discover', 'subscriptions/listen', 'tasks/get', 'tasks/list'],
    '2025-03-26': ['server/discover', 'subscriptions/listen', 'tasks/get', 'tasks/list'],
    '2025-06-18': ['server/discover', 'subscriptions/listen', 'tasks/get', 'tasks/list'],
    '2025-11-25': ['server/discover', 'subscriptions/listen', 'tasks/update'],
  }

  for (const revision of handshakeRevisions as (keyof typeof level)[]) {
    it(`limits what a server serves and sends: ${revision} [${level[revision]}]`, async () => {
      const server = new McpServer({ name: 's', version: '1', title: 'S' }, { cache: { ttlMs: 1000 } })
      server.registerTool(
        't',
        { title: 'T', outputSchema: { n: z.number() }, annotations: { readOnlyHint: true } },
        () => ({
          n: 1,
        }),
      )
      server.server.setRequestHandler('tasks/get', () => ({ taskId: 'x' }) as never)
      server.server.setRequestHandler('tasks/update', () => ({}) as never)
      const { client, transcript } = await recorded(server, revision)
      const list = await client.listTools()
      const called = await client.callTool('t')
      expect(JSON.parse(called.text)).toEqual({ n: 1 })
      const tool = list.tools[0]!
      expect('annotations' in tool).toBe(revision > '2024-11-05')
      expect('title' in tool).toBe(revision > '2025-03-26')
      expect('outputSchema' in tool).toBe(revision > '2025-03-26')
      expect('structuredContent' in called).toBe(revision > '2025-03-26')
      expect(list).not.toHaveProperty('ttlMs')
      for (const method of foreign[revision]) {
        const error = await errorOf<Error & { rpcCode: number }>(
          client.request(method, { taskId: 'x', notifications: {}, inputResponses: {} }),
        )
        expect(error.rpcCode, method).toBe(-32601)
      }
      expect(transcript.toString()).not.toContain('resultType')
      await client.close()
    })

    it(`limits a client to the capabilities that the server declared: ${revision} [${level[revision]}, LIFE-012]`, async () => {
      const server = scripted(revision, {}, {})
      const client = await scriptedClient(server, { revision })
      const calls: [string, () => PromiseLike<unknown>][] = [
        ['tools', () => client.callTool('x')],
        ['tools', () => client.listTools()],
        ['prompts', () => client.listPrompts()],
        ['prompts', () => client.getPrompt('x')],
        ['resources', () => client.listResources()],
        ['resources', () => client.listResourceTemplates()],
        ['resources', () => client.readResource('a://b')],
        ['resources', () => client.subscribeResource('a://b')],
        ['logging', () => client.setLoggingLevel('info')],
      ]
      for (const [capability, call] of calls) {
        const error = await errorOf<CapabilityError>(call())
        expect(error).toMatchObject({ code: 'capability-missing', capability })
      }
      await client.ping()
      expect(methodsOf(server.transcript, 'client').filter((method) => method !== 'server/discover')).toEqual([
        'initialize',
        'notifications/initialized',
        'ping',
      ])
      await client.close()
    })

    it(`keeps a server from sending undeclared notifications: ${revision} [${level[revision]}]`, async () => {
      const server = new McpServer({ name: 's', version: '1' }, { listChangedDelayMs: 0, logging: false })
      server.registerPrompt('p', {}, () => 'x')
      await using caller = await ScriptedClient.connect(server, { revision })
      const opened = (await caller.open()) as Said
      expect(Object.keys(opened.result!.capabilities as object)).toEqual(['prompts'])
      const told = caller.nextNotification('notifications/prompts/list_changed')
      server.registerTool('t', {}, () => 'x')
      server.registerResource('r', 'a://b', {}, () => 'x')
      server.registerPrompt('q', {}, () => 'x')
      server.sendLoggingMessage({ level: 'emergency', data: 'x' })
      await told
      await caller.request('ping')
      expect(methodsOf(caller.transcript, 'server')).toEqual(['notifications/prompts/list_changed'])
      for (const method of ['logging/setLevel', 'resources/subscribe']) {
        const answer = (await caller.request(method, { level: 'info', uri: 'a://b' })) as Said
        expect(answer.error?.code, method).toBe(-32601)
      }
    })
  }

  it('limits a client of 2026-07-28 to the capabilities that the server declared [LIFE-012]', async () => {
    const server = scripted(modern, {}, {})
    const client = await scriptedClient(server, { revision: modern })
    for (const call of [
      () => client.callTool('x'),
      () => client.listPrompts(),
      () => client.readResource('a://b'),
      () => client.complete({ ref: { type: 'ref/prompt', name: 'x' }, argument: { name: 'a', value: '' } }),
    ]) {
      expect((await errorOf(call())).code).toBe('capability-missing')
    }
    // It sends server/discover again, and nothing else.
    expect(new Set(methodsOf(server.transcript, 'client'))).toEqual(new Set(['server/discover']))
    await client.close()
  })

  everyWire('exposes the caller’s capabilities to handlers [LIFE-008, LIFE-012]', async (wire) => {
    const { server } = testServer()
    await using able = await wire.connect(server, { capabilities: { roots: {} } })
    await using unable = await wire.connect(server)
    expect(JSON.parse((await able.client.callTool('who')).text).capabilities).toEqual({ roots: {} })
    expect(JSON.parse((await unable.client.callTool('who')).text).capabilities).toEqual({})
  })
})

describe('server capabilities', () => {
  everyWire('declares every registered feature, and no other [LIFE-011]', async (wire) => {
    const declared = async (server: McpServer) => {
      await using pair = await wire.connect(server)
      return pair.client.server.capabilities
    }
    const make = () => new McpServer({ name: 's', version: '1' }, { logging: false })
    expect(await declared(make())).toEqual({})
    expect(await declared(new McpServer({ name: 's', version: '1' }))).toEqual({ logging: {} })
    const tools = make()
    tools.registerTool('t', {}, () => 'x')
    expect(await declared(tools)).toEqual({ tools: { listChanged: true } })
    const resources = make()
    resources.registerResource('r', 'a://b', {}, () => 'x')
    expect(await declared(resources)).toEqual({ resources: { listChanged: true, subscribe: true } })
    const prompts = make()
    prompts.registerPrompt('p', { argsSchema: { a: completable(z.string(), () => ['x']) } }, () => 'x')
    expect(await declared(prompts)).toEqual({
      prompts: { listChanged: true },
      ...(wire.revision.announcesCompletions && { completions: {} }),
    })
    const mounted = make()
    mounted.mount(tools, { prefix: 'm' })
    expect(await declared(mounted)).toEqual({ tools: { listChanged: true } })
  })

  everyWire('answers undeclared methods with an unknown method error [LIFE-011]', async (wire) => {
    const server = new McpServer({ name: 's', version: '1' }, { logging: false })
    await using pair = await wire.connect(server)
    for (const [method, params] of [
      ['tools/list', {}],
      ['tools/call', { name: 'x' }],
      ['prompts/list', {}],
      ['prompts/get', { name: 'x' }],
      ['resources/list', {}],
      ['resources/templates/list', {}],
      ['resources/read', { uri: 'a://b' }],
      ['completion/complete', { ref: { type: 'ref/prompt', name: 'x' }, argument: { name: 'a', value: '' } }],
      ['logging/setLevel', { level: 'info' }],
      ['resources/subscribe', { uri: 'a://b' }],
    ] as [string, Record<string, unknown>][]) {
      const error = await errorOf<Error & { rpcCode: number }>(pair.client.request(method, params))
      expect(error.rpcCode, method).toBe(-32601)
    }
  })
})

describe('implementation info', () => {
  const full = {
    name: 'full',
    version: '1.2.3',
    title: 'Full',
    description: 'Has everything',
    websiteUrl: 'https://example.com/',
    icons: [{ src: 'https://example.com/i.png' }],
  }
  const since = (revision: RevisionId) => ({
    name: 'full',
    version: '1.2.3',
    ...(revision >= '2025-06-18' && { title: 'Full' }),
    ...(revision >= '2025-11-25' && {
      description: full.description,
      websiteUrl: full.websiteUrl,
      icons: full.icons,
    }),
  })

  it.each(allRevisions)('sends name and version, and the further members that %s has [LIFE-013]', async (revision) => {
    const { client, transcript } = await recorded(new McpServer(full), revision, full)
    expect(client.getServerVersion()).toEqual(since(revision))
    const asked = said(transcript, 'client')[0]!
    const answered = said(transcript, 'server')[0]!
    if (revision === modern) {
      expect(asked.params?._meta?.[metaKeys.clientInfo]).toEqual(full)
      expect(answered.result?._meta?.[metaKeys.serverInfo]).toEqual(full)
    } else {
      expect(asked.params?.clientInfo).toEqual(since(revision))
      expect(answered.result?.serverInfo).toEqual(since(revision))
    }
    await client.close()
  })

  it.each([5, 'me', null, {}, { name: 'x' }, { name: 1, version: '1' }, { name: 'x', version: 2 }])(
    'refuses or ignores %j as clientInfo of a stateless request [LIFE-013]',
    async (info) => {
      const { server } = testServer()
      await using caller = await ScriptedClient.connect(server)
      const params = caller.params({ name: 'who', _meta: { [metaKeys.clientInfo]: info } })
      const answer = (await caller.send({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })) as Said
      if (answer.error) expect(answer.error.code).toBe(-32602)
      else expect(JSON.parse((answer.result!.content as [{ text: string }])[0].text)).not.toHaveProperty('client')
    },
  )
})

describe('lifecycle errors', () => {
  it.each(handshakeRevisions)('reports a version mismatch to the caller (%s) [LIFE-020]', async (revision) => {
    const server = new ScriptedServer({ initialize: () => ({ result: initialized('2031-01-01') }) })
    const client = new Client({ name: 'c', version: '1' }, { revision })
    expect((await errorOf(client.connect(server.transport))).code).toBe('no-common-revision')
    expect(client.state).toBe('closed')
    expect((await errorOf(client.ping())).code).toBe('not-connected')
  })

  it.each(handshakeRevisions)(
    'times out an unanswered initialize without cancelling it, and closes (%s) [LIFE-020, CANC-003]',
    async (revision) => {
      const server = scripted(revision, { initialize: () => undefined })
      const client = new Client({ name: 'c', version: '1' }, { revision, connectTimeoutMs: 30 })
      const error = await errorOf(client.connect(server.transport))
      expect(error.code).toBe('timeout')
      expect(error.message).toContain('connectTimeoutMs')
      expect(client.state).toBe('closed')
      expect(methodsOf(server.transcript, 'client')).toEqual(['initialize'])
    },
  )

  it.each(handshakeRevisions)(
    'keeps the connection usable after a missing capability and a timeout (%s) [LIFE-020]',
    async (revision) => {
      const server = scripted(revision, { 'tools/call': () => undefined }, { tools: {} })
      const client = await scriptedClient(server, { revision })
      expect((await errorOf(client.listPrompts())).code).toBe('capability-missing')
      expect((await errorOf(client.callTool('x', {}, { timeoutMs: 10 }))).code).toBe('timeout')
      await client.ping()
      expect(client.state).toBe('ready')
      await client.close()
    },
  )

  it.each(handshakeRevisions)(
    'keeps the server usable after a client without a common version (%s) [LIFE-020]',
    async (revision) => {
      const { server } = testServer({ revisions: [revision] })
      const others = handshakeRevisions.filter((id) => id !== revision)
      const [ours, theirs] = InMemoryTransport.createLinkedPair()
      await server.connect(theirs)
      await errorOf(new Client({ name: 'c', version: '1' }, { revisions: others }).connect(ours))
      const client = await connected(server, { revision })
      expect((await client.callTool('echo', { text: 'still here' })).text).toBe('still here')
      await client.close()
    },
  )
})

describe('shutdown', () => {
  everyWire(
    'closes without sending a message [LIFE-021]',
    async (wire) => {
      const { server } = testServer()
      const pair = await wire.connect(server)
      await pair.client.ping()
      const before = pair.transcript.lines.length
      await pair.client.close()
      expect(pair.transcript.lines.length).toBe(before)
      await pair[Symbol.asyncDispose]()
    },
    { skip: notHandshake },
  )

  it.each(handshakeRevisions)('closes the other side, whichever side begins (%s) [LIFE-021]', async (revision) => {
    const { server } = testServer()
    const first = await recorded(server, revision)
    await first.client.close()
    expect(first.link.closed).toBe(true)
    const second = await recorded(server, revision)
    const closed = gate()
    second.client.on('state', ({ state }) => state === 'closed' && closed.open())
    const before = second.transcript.lines.length
    await server.close()
    await closed.opened
    expect(second.client.state).toBe('closed')
    expect(second.transcript.lines.length).toBe(before)
  })
})

import { metaKeys, type RevisionId } from 'tenon'
import { Client } from 'tenon/client'
import { McpServer } from 'tenon/server'
import { InMemoryTransport, ScriptedClient, wires } from 'tenon/testing'
import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { gate } from '../kit/gate.ts'
import { allRevisions, modern } from '../kit/revisions.ts'
import type { Said } from '../kit/transcript.ts'
import { testServer } from './support.ts'

/** Creates a server that answers late and out of order, so that mixed-up responses would show. */
function shuffler(): McpServer {
  const server = new McpServer({ name: 'shuffler', version: '1' })
  let waiting: (() => void)[] = []
  const letSomeGo = () => {
    const ready = waiting
    waiting = []
    for (const release of ready.reverse()) release()
  }
  server.registerTool('secret', { inputSchema: { of: z.string() } }, async ({ of }, { caller, requestId }) => {
    await new Promise<void>((resolve) => {
      waiting.push(resolve)
      setTimeout(letSomeGo, 1)
    })
    return JSON.stringify({ of, client: caller.clientInfo?.name, revision: caller.revision, id: requestId })
  })
  return server
}

describe('one server with many clients', () => {
  it('CVE-2026-25536: never mixes equal request ids of 50 clients of mixed revisions [VER-009, VER-030]', async () => {
    const server = shuffler()
    const clients = await Promise.all(
      Array.from({ length: 50 }, async (_, index) => {
        const [ours, theirs] = InMemoryTransport.createLinkedPair()
        await server.connect(theirs)
        const revision = allRevisions[index % allRevisions.length]!
        const client = new Client({ name: `client-${index}`, version: '1' }, { revision })
        await client.connect(ours)
        return client
      }),
    )
    const ids = new Map<number, number>()
    await Promise.all(
      clients.flatMap((client, index) =>
        Array.from({ length: 20 }, async (_, call) => {
          const of = `${index}/${call}`
          const answer = JSON.parse((await client.callTool('secret', { of })).text)
          ids.set(answer.id, (ids.get(answer.id) ?? 0) + 1)
          expect(answer).toMatchObject({ of, client: `client-${index}`, revision: client.revision })
        }),
      ),
    )
    // The ids are indeed equal: every client counts from 1.
    expect([...ids.values()].reduce((sum, count) => sum + count)).toBe(1000)
    expect(Math.max(...ids.values())).toBe(50)
    await Promise.all(clients.map((client) => client.close()))
  })

  it('CVE-2026-25536: sends one response to each raw client that uses the same id', async () => {
    const server = shuffler()
    const callers = await Promise.all(
      Array.from({ length: 20 }, async (_, index) => {
        const revision = allRevisions[index % allRevisions.length]!
        const caller = await ScriptedClient.connect(server, { revision })
        await caller.open()
        return caller
      }),
    )
    const answers = await Promise.all(
      callers.map((caller, index) =>
        caller.send({
          jsonrpc: '2.0',
          id: 'the same',
          method: 'tools/call',
          params: caller.params({ name: 'secret', arguments: { of: String(index) } }),
        }),
      ),
    )
    answers.forEach((answer, index) => {
      expect(JSON.stringify(answer)).toContain(`\\"of\\":\\"${index}\\"`)
    })
    await Promise.all(callers.map((caller) => caller.request('tools/list')))
    for (const caller of callers) {
      const same = (caller.transcript.from('server') as Said[]).filter(({ id }) => id === 'the same')
      expect(same).toHaveLength(1)
      await caller.close()
    }
  })

  it.each(allRevisions)(
    'refuses an id that is still in flight, and answers the first request (%s)',
    async (revision) => {
      const { server, started, release } = testServer()
      await using caller = await ScriptedClient.connect(server, { revision })
      await caller.open()
      const call = { jsonrpc: '2.0', id: 'twice', method: 'tools/call' }
      const both: Said[] = []
      const answered = gate()
      caller.transcript.onLine(({ message }) => {
        const answer = message as Said
        if (answer.id !== 'twice' || answer.method) return
        both.push(answer)
        if (both.length === 2) answered.open()
      })
      caller.say({ ...call, params: caller.params({ name: 'wait' }) })
      await started
      caller.say({ ...call, params: caller.params({ name: 'echo', arguments: { text: 'thief' } }) })
      await caller.request('tools/list')
      release()
      await answered.opened
      expect(both[0]?.error?.code).toBe(-32600)
      expect(both[1]?.result).toMatchObject({ content: [{ type: 'text', text: 'waited' }] })
    },
  )

  it('does not cancel the equal id of another client', async () => {
    const server = new McpServer({ name: 's', version: '1' })
    const hold = gate()
    let running = 0
    const bothRunning = gate()
    server.registerTool('hold', {}, async () => {
      if (++running === 2) bothRunning.open()
      await hold.opened
      return 'held'
    })
    await using one = await ScriptedClient.connect(server)
    await using two = await ScriptedClient.connect(server)
    const call = (caller: ScriptedClient) => ({
      jsonrpc: '2.0',
      id: 7,
      method: 'tools/call',
      params: caller.params({ name: 'hold' }),
    })
    one.say(call(one))
    const second = two.send(call(two))
    await bothRunning.opened
    one.notify('notifications/cancelled', { requestId: 7 })
    await one.request('tools/list')
    hold.open()
    expect(await second).toMatchObject({ id: 7, result: { content: [{ text: 'held' }] } })
    await one.request('tools/list')
    expect(one.transcript.from('server').filter((message) => (message as Said).id === 7)).toHaveLength(0)
  })
})

describe('one connection with both eras', () => {
  for (const transport of ['memory', 'stdio'] as const) {
    it(`serves handshake and stateless requests at the same time over ${transport} [VER-014, VER-028, VER-029, VER-030]`, async () => {
      const { server } = testServer()
      const [wire] = wires({ transports: [transport], revisions: [modern] })
      const channel = await wire!.open(server)
      await using caller = await ScriptedClient.connect(channel, { revision: modern })
      const legacy = (id: string, method: string, params: Record<string, unknown> = {}) =>
        caller.send({ jsonrpc: '2.0', id, method, params }) as Promise<Said>
      const revision: RevisionId = '2025-06-18'
      // A stateless request before, between and after the handshake.
      const before = (await caller.request('tools/call', { name: 'who' })) as Said
      const [greeting, between] = (await Promise.all([
        legacy('init', 'initialize', {
          protocolVersion: revision,
          capabilities: { roots: {} },
          clientInfo: { name: 'old', version: '1' },
        }),
        caller.request('tools/call', { name: 'who' }),
      ])) as [Said, Said]
      expect(greeting.result?.protocolVersion).toBe(revision)
      caller.notify('notifications/initialized')
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          index % 2
            ? legacy(`old-${index}`, 'tools/call', { name: 'who' })
            : (caller.request('tools/call', { name: 'who' }) as Promise<Said>),
        ),
      )
      const who = (answer: Said) => JSON.parse((answer.result!.content as [{ text: string }])[0].text)
      const modernAnswers = [before, between, ...answers.filter((_, index) => index % 2 === 0)]
      const legacyAnswers = answers.filter((_, index) => index % 2 === 1)
      for (const answer of modernAnswers) {
        expect(who(answer)).toEqual({ revision: modern, client: { name: 'script', version: '1' }, capabilities: {} })
        expect(answer.result).toMatchObject({ resultType: 'complete', _meta: { [metaKeys.serverInfo]: {} } })
      }
      for (const answer of legacyAnswers) {
        expect(who(answer)).toEqual({ revision, client: { name: 'old', version: '1' }, capabilities: { roots: {} } })
        expect(answer.result).not.toHaveProperty('resultType')
        expect(answer.result).not.toHaveProperty('_meta')
      }
    })
  }

  it('keeps the state of one era out of the other: removed methods, subscriptions and log levels [VER-028, VER-029]', async () => {
    const { server } = testServer({ listChangedDelayMs: 0 })
    server.registerResource('note', 'note://a', {}, () => 'a')
    server.registerTool('chatty', {}, (_, ctx) => {
      ctx.log.error('something')
      return 'done'
    })
    await using caller = await ScriptedClient.connect(server, { revision: modern })
    const legacy = (id: string, method: string, params: Record<string, unknown> = {}) =>
      caller.send({ jsonrpc: '2.0', id, method, params }) as Promise<Said>
    await legacy('init', 'initialize', {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'old', version: '1' },
    })
    caller.notify('notifications/initialized')
    expect((await legacy('set', 'logging/setLevel', { level: 'debug' })).result).toEqual({})
    expect(((await caller.request('logging/setLevel', { level: 'debug' })) as Said).error?.code).toBe(-32601)
    expect(((await caller.request('ping')) as Said).error?.code).toBe(-32601)
    expect((await legacy('ping', 'ping')).result).toEqual({})
    expect((await legacy('disc', 'server/discover')).error?.code).toBe(-32601)
    // The session requested log messages; the stateless request did not.
    await caller.request('tools/call', { name: 'chatty' })
    expect(caller.transcript.toString()).not.toContain('notifications/message')
    await legacy('chat', 'tools/call', { name: 'chatty' })
    expect(caller.transcript.toString()).toContain('notifications/message')
    // The session subscribed; the listener did not request this resource.
    await legacy('sub', 'resources/subscribe', { uri: 'note://a' })
    const acknowledged = caller.nextNotification('notifications/subscriptions/acknowledged')
    caller.say({
      jsonrpc: '2.0',
      id: 'listen',
      method: 'subscriptions/listen',
      params: caller.params({ notifications: { toolsListChanged: true } }),
    })
    await acknowledged
    server.sendResourceUpdated('note://a')
    await legacy('barrier', 'ping')
    const updates = (caller.transcript.from('server') as Said[]).filter(
      ({ method }) => method === 'notifications/resources/updated',
    )
    expect(updates).toEqual([
      { jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri: 'note://a' } },
    ])
  })
})

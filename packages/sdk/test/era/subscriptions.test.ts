import { metaKeys } from 'tenon'
import { Client } from 'tenon/client'
import { McpServer } from 'tenon/server'
import { InMemoryTransport, Judge, record, ScriptedClient, wires } from 'tenon/testing'
import { describe, expect, it } from 'vitest'
import { errorOf } from '../kit/error-of.ts'
import { everyWire } from '../kit/every-wire.ts'
import { gate } from '../kit/gate.ts'
import { officialSchema } from '../kit/official-schemas.ts'
import { RestartableTransport } from '../kit/restartable-transport.ts'
import { handshakeRevisions, modern } from '../kit/revisions.ts'
import { scripted, scriptedClient } from '../kit/scripted-server.ts'
import { heard, methodsOf, type Said, said } from '../kit/transcript.ts'
import { connected, inMemory, testServer, watchStates } from './support.ts'

const onlyModern = { revisions: [modern] }
const acknowledgement = 'notifications/subscriptions/acknowledged'

/** Creates a server with one item of each kind and a short list_changed delay. */
function changing(): McpServer {
  const server = new McpServer({ name: 's', version: '1' }, { listChangedDelayMs: 0 })
  server.registerTool('t', {}, () => 'x')
  server.registerPrompt('p', {}, () => 'x')
  server.registerResource('r', 'note://a', {}, () => 'x')
  return server
}

function changeEverything(server: McpServer): void {
  server.sendToolListChanged()
  server.sendPromptListChanged()
  server.sendResourceListChanged()
  server.sendResourceUpdated('note://a')
  server.sendResourceUpdated('note://b')
}

function listen(caller: ScriptedClient, id: string | number, notifications: Record<string, unknown>): Promise<Said> {
  const acknowledged = caller.next(
    (message) =>
      (message as Said).method === acknowledgement && (message as Said).params?._meta?.[metaKeys.subscriptionId] === id,
  )
  const params = caller.params({ notifications })
  caller.say({ jsonrpc: '2.0', id, method: 'subscriptions/listen', params })
  return acknowledged as Promise<Said>
}

/** Waits until change notifications, which are delayed by a timer of 0 ms, have been sent. */
async function settled(caller: ScriptedClient): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 10))
  await caller.request('tools/list')
}

const ofSubscription = (caller: ScriptedClient, id: unknown) =>
  said(caller.transcript, 'server').filter(
    ({ params, result }) => (params?._meta ?? result?._meta)?.[metaKeys.subscriptionId] === id,
  )

describe.each(['2025-11-25', modern] as const)('resource subscriptions of a client (%s)', (revision) => {
  /** Opens a client that is subscribed to `note://a` and `note://b`. */
  async function subscribed(server: McpServer, subject: string) {
    const client = await ScriptedClient.connect(server, { revision, auth: { subject, scopes: [] } })
    await client.open()
    const uris = ['note://a', 'note://b']
    if (revision === modern) await listen(client, 'listen', { resourceSubscriptions: uris })
    else for (const uri of uris) await client.request('resources/subscribe', { uri })
    return client
  }

  /** Records who subscribes and unsubscribes. The audience of a client is the name of its user. */
  function follow({ server }: McpServer): string[] {
    const events: string[] = []
    server.followSubscriptions(({ link }) => {
      return {
        audience: link.transport.auth?.subject ?? '',
        added: (uri) => void events.push(`+${uri}`),
        removed: (uri) => void events.push(`-${uri}`),
      }
    })
    return events
  }

  const updates = (client: ScriptedClient) =>
    said(client.transcript, 'server')
      .filter(({ method }) => method === 'notifications/resources/updated')
      .map(({ params }) => params?.uri)

  it('end with the connection, and whoever follows them is told', async () => {
    const server = changing()
    const events = follow(server)
    const client = await subscribed(server, 'ann')
    expect(events).toEqual(['+note://a', '+note://b'])
    await client.close()
    await expect.poll(() => events.slice(2)).toEqual(['-note://a', '-note://b'])
    server.sendResourceUpdated('note://a')
    expect(updates(client)).toEqual([])
  })

  it('end when the client ends them, and whoever follows them is told', async () => {
    const server = changing()
    const events = follow(server)
    await using client = await subscribed(server, 'ann')
    if (revision === modern) client.notify('notifications/cancelled', { requestId: 'listen' })
    else for (const uri of ['note://a', 'note://b']) await client.request('resources/unsubscribe', { uri })
    await client.request('tools/list')
    expect(events.slice(2)).toEqual(['-note://a', '-note://b'])
  })

  it('get an update only if the client belongs to its audience', async () => {
    const server = changing()
    await using earlier = await subscribed(server, 'ann')
    follow(server)
    await using ann = await subscribed(server, 'ann')
    await using bob = await subscribed(server, 'bob')
    server.server.changes.emit({ updated: 'note://a', audience: new Set(['ann']) })
    server.server.changes.emit({ updated: 'note://x', partOf: 'note://b', audience: new Set(['bob']) })
    server.server.changes.emit({ updated: 'note://b', audience: new Set() })
    server.server.changes.emit({ updated: 'note://b' })
    for (const client of [earlier, ann, bob]) await client.request('tools/list')
    expect(updates(earlier)).toEqual(['note://b'])
    expect(updates(ann)).toEqual(['note://a', 'note://b'])
    expect(updates(bob)).toEqual(['note://x', 'note://b'])
  })
})

describe('subscriptions/listen at a server', () => {
  const kinds = [
    ['toolsListChanged', true, 'notifications/tools/list_changed'],
    ['promptsListChanged', true, 'notifications/prompts/list_changed'],
    ['resourcesListChanged', true, 'notifications/resources/list_changed'],
    ['resourceSubscriptions', ['note://a'], 'notifications/resources/updated'],
  ] as const

  for (const transport of ['memory', 'stdio'] as const) {
    it.each(kinds)(
      `notifies of %s when only that was requested, over ${transport} [SUB-002, SUB-003, SUB-005, SUB-007]`,
      async (kind, value, method) => {
        const server = changing()
        const [wire] = wires({ transports: [transport], ...onlyModern })
        await using caller = await ScriptedClient.connect(await wire!.open(server))
        const acknowledged = await listen(caller, 'sub', { [kind]: value })
        expect(acknowledged.params).toEqual({
          notifications: { [kind]: value },
          _meta: { [metaKeys.subscriptionId]: 'sub' },
        })
        const told = caller.nextNotification(method)
        changeEverything(server)
        await told
        await settled(caller)
        expect(methodsOf(caller.transcript, 'server')).toEqual([acknowledgement, method])
        for (const { params } of said(caller.transcript, 'server', method)) {
          expect(params?._meta).toEqual({ [metaKeys.subscriptionId]: 'sub' })
          if (kind === 'resourceSubscriptions') expect(params?.uri).toBe('note://a')
        }
      },
    )
  }

  it('sends messages that match the schema [SUB-003, SUB-007, SUB-012]', async () => {
    const server = changing()
    const [ours, theirs] = InMemoryTransport.createLinkedPair()
    const link = await server.connect(theirs)
    const caller = await ScriptedClient.connect(ours)
    const schema = officialSchema(modern)
    const judge = schema && new Judge(schema)
    if (judge) caller.transcript.onLine((line) => judge.hear(line))
    await listen(caller, 'all', {
      toolsListChanged: true,
      promptsListChanged: true,
      resourcesListChanged: true,
      resourceSubscriptions: ['note://a'],
    })
    changeEverything(server)
    await settled(caller)
    await link.close()
    expect(methodsOf(caller.transcript, 'server').sort()).toEqual([
      'notifications/cancelled',
      'notifications/prompts/list_changed',
      'notifications/resources/list_changed',
      'notifications/resources/updated',
      acknowledgement,
      'notifications/tools/list_changed',
    ])
    expect(judge?.problems ?? []).toEqual([])
  })

  it('follows nothing for a subscription that ends while the server decides what to accept [SUB-010]', async () => {
    const decided = gate()
    const acceptSubscriptions = (uris: readonly string[]) => decided.opened.then(() => [...uris])
    const server = new McpServer({ name: 's', version: '1' }, { listChangedDelayMs: 0, acceptSubscriptions })
    server.registerResource('r', 'note://a', {}, () => 'x')
    const followed: string[] = []
    server.server.followSubscriptions(() => ({
      audience: '',
      added: (uri) => void followed.push(uri),
      removed: () => {},
    }))
    await using caller = await ScriptedClient.connect(server, { revision: modern })
    const filter = { notifications: { resourceSubscriptions: ['note://a'] } }
    caller.say({ jsonrpc: '2.0', id: 'gone', method: 'subscriptions/listen', params: caller.params(filter) })
    caller.notify('notifications/cancelled', { requestId: 'gone' })
    const stays = listen(caller, 'stays', { resourceSubscriptions: ['note://a'] })
    decided.open()
    await stays
    expect(followed).toEqual(['note://a'])
    expect(ofSubscription(caller, 'gone')).toEqual([])
  })

  it('sends nothing for an empty filter or without listeners [SUB-002]', async () => {
    const server = changing()
    await using caller = await ScriptedClient.connect(server)
    changeEverything(server)
    await settled(caller)
    expect(methodsOf(caller.transcript, 'server')).toEqual([])
    expect((await listen(caller, 1, {})).params?.notifications).toEqual({})
    await listen(caller, 2, { toolsListChanged: false, promptsListChanged: false, resourceSubscriptions: [] })
    changeEverything(server)
    await settled(caller)
    expect(methodsOf(caller.transcript, 'server')).toEqual([acknowledgement, acknowledgement])
  })

  it('acknowledges before the first notification, even during a change [SUB-003]', async () => {
    const server = changing()
    await using first = await ScriptedClient.connect(server)
    await listen(first, 'other', { toolsListChanged: true })
    await using caller = await ScriptedClient.connect(server)
    const told = caller.nextNotification('notifications/tools/list_changed')
    server.sendToolListChanged()
    void listen(caller, 'sub', { toolsListChanged: true })
    server.sendToolListChanged()
    await told
    expect(methodsOf(caller.transcript, 'server')[0]).toBe(acknowledgement)
    expect(ofSubscription(caller, 'sub')[0]?.method).toBe(acknowledgement)
  })

  it('may notify other subscriptions before it acknowledges a new one [SUB-004]', async () => {
    const server = changing()
    await using caller = await ScriptedClient.connect(server)
    await listen(caller, 'old', { resourceSubscriptions: ['note://a'] })
    server.sendResourceUpdated('note://a')
    await listen(caller, 'new', { resourceSubscriptions: ['note://a'] })
    server.sendResourceUpdated('note://a')
    await settled(caller)
    expect(ofSubscription(caller, 'old').map(({ method }) => method)).toEqual([
      acknowledgement,
      'notifications/resources/updated',
      'notifications/resources/updated',
    ])
    expect(ofSubscription(caller, 'new').map(({ method }) => method)).toEqual([
      acknowledgement,
      'notifications/resources/updated',
    ])
  })

  it('acknowledges only what it supports [SUB-005]', async () => {
    const server = new McpServer({ name: 's', version: '1' }, { capabilities: { tools: { listChanged: false } } })
    server.registerTool('t', {}, () => 'x')
    server.registerPrompt('p', {}, () => 'x')
    await using caller = await ScriptedClient.connect(server)
    const wish = {
      toolsListChanged: true,
      promptsListChanged: true,
      resourcesListChanged: true,
      resourceSubscriptions: ['note://a'],
      'com.example/unknown': true,
    }
    expect((await listen(caller, 1, wish)).params?.notifications).toEqual({ promptsListChanged: true })
    server.sendToolListChanged()
    server.sendResourceUpdated('note://a')
    await settled(caller)
    expect(methodsOf(caller.transcript, 'server')).toEqual([acknowledgement])
  })

  it.each(['text', '7', 7, 0, -3])(
    'marks every message with the request id in its own type: %j [SUB-007]',
    async (id) => {
      const server = changing()
      const [ours, theirs] = InMemoryTransport.createLinkedPair()
      const link = await server.connect(theirs)
      const caller = await ScriptedClient.connect(ours)
      await listen(caller, id, { toolsListChanged: true, resourceSubscriptions: ['note://a'] })
      server.sendResourceUpdated('note://a')
      server.sendToolListChanged()
      await settled(caller)
      await link.close()
      const own = said(caller.transcript, 'server').filter(
        ({ method, id: answers }) => method !== undefined || answers === id,
      )
      expect(own).toHaveLength(5)
      for (const { params, result } of own) {
        expect((params?._meta ?? result?._meta)?.[metaKeys.subscriptionId]).toBe(id)
      }
    },
  )

  it('limits the subscriptions of a connection, their resources and their tasks [SUB-001]', async () => {
    await using caller = await ScriptedClient.connect(changing())
    const refusal = async (notifications: Record<string, unknown>) => {
      const { error } = (await caller.request('subscriptions/listen', caller.params({ notifications }))) as Said
      return [error?.code, error?.message]
    }
    const uris = Array.from({ length: 10_001 }, (_, index) => `note://${index}`)
    expect(await refusal({ resourceSubscriptions: uris })).toEqual([-32602, 'At most 10000 resources at a time'])
    expect(await refusal({ taskIds: uris })).toEqual([-32602, 'At most 10000 tasks at a time'])
    for (let id = 0; id < 100; id++) await listen(caller, `s${id}`, { toolsListChanged: true })
    expect(await refusal({ toolsListChanged: true })).toEqual([-32602, 'At most 100 subscriptions at a time'])
    caller.notify('notifications/cancelled', { requestId: 's0' })
    await listen(caller, 'another', { toolsListChanged: true })
  })

  it('keeps several subscriptions on one connection apart and ends each on its own [SUB-007, SUB-009, SUB-010, SUB-011]', async () => {
    const server = changing()
    await using caller = await ScriptedClient.connect(server)
    await listen(caller, 'a', { toolsListChanged: true })
    await listen(caller, 'b', { toolsListChanged: true, resourceSubscriptions: ['note://a'] })
    caller.notify('notifications/cancelled', { requestId: 'a' })
    changeEverything(server)
    await settled(caller)
    expect(ofSubscription(caller, 'a').map(({ method }) => method)).toEqual([acknowledgement])
    expect(
      ofSubscription(caller, 'b')
        .map(({ method }) => method)
        .sort(),
    ).toEqual(['notifications/resources/updated', acknowledgement, 'notifications/tools/list_changed'])
    // Neither a notification nor a response for the subscription that ended.
    expect(said(caller.transcript, 'server').filter(({ id }) => id === 'a')).toEqual([])
  })

  it('refuses a missing or malformed filter [SUB-001]', async () => {
    await using caller = await ScriptedClient.connect(changing())
    for (const params of [
      {},
      { notifications: null },
      { notifications: 'all' },
      { notifications: [] },
      { notifications: { toolsListChanged: 'yes' } },
      { notifications: { resourceSubscriptions: 'note://a' } },
      { notifications: { resourceSubscriptions: [1] } },
    ]) {
      const answer = (await caller.request('subscriptions/listen', params)) as Said
      expect(answer.error?.code, JSON.stringify(params)).toBe(-32602)
    }
    expect(methodsOf(caller.transcript, 'server')).toEqual([])
  })

  it('answers a subscription that it ends with a result, then closes the connection [SUB-012, CANC-014]', async () => {
    const server = changing()
    const [ours, theirs] = InMemoryTransport.createLinkedPair()
    await server.connect(theirs)
    const order: string[] = []
    const caller = await ScriptedClient.connect(ours)
    await listen(caller, 'sub', { toolsListChanged: true })
    caller.transcript.onLine(({ message }) => order.push((message as Said).method ?? 'result'))
    const { onclose } = ours
    const closed = gate()
    ours.onclose = () => {
      order.push('closed')
      onclose?.()
      closed.open()
    }
    const answer = caller.next((message) => (message as Said).id === 'sub')
    await server.close()
    await closed.opened
    expect(((await answer) as Said).result).toMatchObject({
      resultType: 'complete',
      _meta: { [metaKeys.subscriptionId]: 'sub' },
    })
    expect(order).toEqual(['notifications/cancelled', 'result', 'closed'])
  })

  it('keeps no subscription after the connection closes [SUB-014]', async () => {
    const server = changing()
    const first = await ScriptedClient.connect(server)
    await listen(first, 'sub', { toolsListChanged: true })
    await first.close()
    await using second = await ScriptedClient.connect(server)
    server.sendToolListChanged()
    await settled(second)
    expect(methodsOf(second.transcript, 'server')).toEqual([])
  })

  it('notifies each of many clients only of what it requested [SUB-002]', async () => {
    const server = changing()
    const callers = await Promise.all(Array.from({ length: 8 }, () => ScriptedClient.connect(server)))
    await Promise.all(
      callers.map((caller, index) =>
        listen(caller, 1, index % 2 ? { toolsListChanged: true } : { promptsListChanged: true }),
      ),
    )
    changeEverything(server)
    for (const [index, caller] of callers.entries()) {
      await settled(caller)
      expect(methodsOf(caller.transcript, 'server')).toEqual([
        acknowledgement,
        index % 2 ? 'notifications/tools/list_changed' : 'notifications/prompts/list_changed',
      ])
      await caller.close()
    }
  })
})

describe('a client that subscribes', () => {
  everyWire(
    'requests exactly the wanted changes, emits them as events, and cancels at the end [SUB-001, SUB-010, SUB-011]',
    async (wire) => {
      const server = changing()
      await using pair = await wire.connect(server)
      const { client, transcript } = pair
      const events: string[] = []
      client.on('toolsChanged', () => events.push('tools'))
      client.on('promptsChanged', () => events.push('prompts'))
      client.on('resourceUpdated', ({ uri }) => events.push(uri))
      const subscription = await client.listen({ toolsListChanged: true, resourceSubscriptions: ['note://a'] })
      const asked = said(transcript, 'client', 'subscriptions/listen')[0]!
      expect(asked.params?.notifications).toEqual({ toolsListChanged: true, resourceSubscriptions: ['note://a'] })
      changeEverything(server)
      await heard(transcript, 'server', 'notifications/tools/list_changed')
      await client.ping()
      expect(events.sort()).toEqual(['note://a', 'tools'])
      await subscription.close()
      // Over HTTP the client closes the stream instead.
      if (wire.transport !== 'http') {
        const cancelled = await heard(transcript, 'client', 'notifications/cancelled')
        expect(cancelled.params?.requestId).toBe(asked.id)
      }
      await client.ping()
      changeEverything(server)
      await new Promise((resolve) => setTimeout(resolve, 10))
      await client.ping()
      expect(events).toHaveLength(2)
    },
    onlyModern,
  )

  it('exposes which changes the server supports [SUB-005, SUB-006]', async () => {
    const server = new McpServer({ name: 's', version: '1' }, { listChangedDelayMs: 0 })
    server.registerPrompt('p', {}, () => 'x')
    const client = await connected(server)
    const subscription = await client.listen({ toolsListChanged: true, promptsListChanged: true })
    expect(subscription.honoured).toEqual({ promptsListChanged: true })
    const changed = gate()
    client.on('promptsChanged', () => changed.open())
    server.sendPromptListChanged()
    await changed.opened
    await client.close()
  })

  it.each(handshakeRevisions)('offers the same call on %s, subscribing to resources one by one', async (revision) => {
    const server = changing()
    const [ours, theirs] = InMemoryTransport.createLinkedPair()
    await server.connect(theirs)
    const transcript = record(ours)
    const client = new Client({ name: 'c', version: '1' }, { revision })
    await client.connect(ours)
    const subscription = await client.listen({
      toolsListChanged: true,
      resourceSubscriptions: ['note://a', 'note://b'],
    })
    expect(subscription.honoured).toEqual({ toolsListChanged: true, resourceSubscriptions: ['note://a', 'note://b'] })
    const updated = gate<string>()
    client.on('resourceUpdated', ({ uri }) => updated.open(uri))
    server.sendResourceUpdated('note://b')
    expect(await updated.opened).toBe('note://b')
    await subscription.close()
    expect(said(transcript, 'client', 'resources/subscribe').map(({ params }) => params?.uri)).toEqual([
      'note://a',
      'note://b',
    ])
    expect(said(transcript, 'client', 'resources/unsubscribe').map(({ params }) => params?.uri)).toEqual([
      'note://a',
      'note://b',
    ])
    expect(methodsOf(transcript, 'client')).not.toContain('subscriptions/listen')
    await client.close()
  })

  it('distinguishes several subscriptions by id, acknowledged in any order [SUB-008, SUB-009]', async () => {
    const server = scripted(modern, { 'subscriptions/listen': () => undefined })
    const client = await scriptedClient(server)
    const opened = [client.listen({ toolsListChanged: true }), client.listen({ promptsListChanged: true })]
    await heard(server.transcript, 'client', 'subscriptions/listen', 2)
    const asked = said(server.transcript, 'client', 'subscriptions/listen')
    const acknowledge = (id: unknown, notifications: object) =>
      server.say({
        jsonrpc: '2.0',
        method: acknowledgement,
        params: { notifications, _meta: { [metaKeys.subscriptionId]: id } },
      })
    acknowledge('stranger', { resourcesListChanged: true })
    acknowledge(String(asked[0]!.id), { resourcesListChanged: true })
    acknowledge(asked[1]!.id, { promptsListChanged: true })
    const second = await opened[1]!
    expect(second.honoured).toEqual({ promptsListChanged: true })
    acknowledge(asked[0]!.id, {})
    const first = await opened[0]!
    expect(first.honoured).toEqual({})
    await second.close()
    await client.ping()
    expect(said(server.transcript, 'client', 'notifications/cancelled').map(({ params }) => params?.requestId)).toEqual(
      [asked[1]!.id],
    )
    await client.close()
  })

  it('rejects when the server refuses', async () => {
    const server = scripted(modern, { 'subscriptions/listen': () => ({ error: { code: -32601, message: 'no' } }) })
    const client = await scriptedClient(server)
    expect((await errorOf(client.listen({ toolsListChanged: true }))).code).toBe('peer')
    await client.ping()
    await client.close()
  })

  it('rejects immediately when the server ends it without acknowledging', async () => {
    const server = scripted(modern, { 'subscriptions/listen': () => ({ result: { resultType: 'complete' } }) })
    const client = await scriptedClient(server)
    await expect(client.listen({ toolsListChanged: true })).rejects.toMatchObject({
      code: 'cancelled',
      message: 'The server ended the subscription',
    })
    await client.close()
  })

  it('subscribes again on a new connection and receives changes there [SUB-013, SUB-014]', async () => {
    const server = changing()
    const starts: ReturnType<typeof record>[] = []
    const inner: { close(): Promise<void> }[] = []
    const transport = new RestartableTransport(async () => {
      const made = await inMemory(server)
      starts.push(record(made))
      inner.push(made)
      return made
    })
    const client = new Client({ name: 'c', version: '1' })
    const states = watchStates(client)
    await client.connect(transport)
    await client.listen({ toolsListChanged: true })
    await client.listen({ resourceSubscriptions: ['note://a'] })
    const closed = await client.listen({ promptsListChanged: true })
    await closed.close()
    await inner[0]!.close()
    await states.reached('ready', 2)
    expect(starts).toHaveLength(2)
    const asked = said(starts[1]!, 'client', 'subscriptions/listen').map(({ params }) => params?.notifications)
    expect(asked).toEqual([{ toolsListChanged: true }, { resourceSubscriptions: ['note://a'] }])
    const updated = gate<string>()
    client.on('resourceUpdated', ({ uri }) => updated.open(uri))
    server.sendResourceUpdated('note://a')
    expect(await updated.opened).toBe('note://a')
    await client.close()
  })

  it.each(handshakeRevisions)('subscribes again after a lost connection on %s', async (revision) => {
    const server = changing()
    const starts: ReturnType<typeof record>[] = []
    const inner: { close(): Promise<void> }[] = []
    const transport = new RestartableTransport(async () => {
      const made = await inMemory(server)
      starts.push(record(made))
      inner.push(made)
      return made
    })
    const client = new Client({ name: 'c', version: '1' }, { revision })
    const states = watchStates(client)
    await client.connect(transport)
    await client.subscribeResource('note://a')
    await inner[0]!.close()
    await states.reached('ready', 2)
    expect(said(starts[1]!, 'client', 'resources/subscribe').map(({ params }) => params?.uri)).toEqual(['note://a'])
    await client.close()
  })

  it('does not hold the client open: close ends every subscription [SUB-010]', async () => {
    const { server } = testServer()
    const [ours, theirs] = InMemoryTransport.createLinkedPair()
    await server.connect(theirs)
    const transcript = record(ours)
    const client = new Client({ name: 'c', version: '1' })
    await client.connect(ours)
    await client.listen({ toolsListChanged: true })
    await client.listen({ toolsListChanged: true })
    await client.close()
    const asked = said(transcript, 'client', 'subscriptions/listen').map(({ id }) => id)
    expect(said(transcript, 'client', 'notifications/cancelled').map(({ params }) => params?.requestId)).toEqual(asked)
  })
})

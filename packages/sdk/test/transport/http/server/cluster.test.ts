import type { RevisionId } from 'tenon'
import {
  createMcpHandler,
  type HttpOptions,
  McpServer,
  MemoryBus,
  MemoryEventStore,
  MemorySessionStore,
} from 'tenon/server'
import { describe, expect, it } from 'vitest'
import { eventually } from '../../../kit/eventually.ts'
import { gate } from '../../../kit/gate.ts'
import { type Answer, overFetch, overHttp } from '../../../kit/http-client.ts'
import { Peer, type PeerOptions } from '../../../kit/http-peer.ts'
import { eachRevision, modern, sessionRevisions } from '../../../kit/revisions.ts'
import { listenWith } from '../../../kit/serve-http.ts'
import { movableTimers } from '../../../kit/time.ts'
import { withProgress, workshop } from '../../../kit/workshop.ts'

const acknowledgement = 'notifications/subscriptions/acknowledged'

/** Starts two identical nodes, each with its own server object, like two processes. */
async function fleet(options: HttpOptions = {}, make: () => McpServer = workshop) {
  const shared = { sessionStore: new MemorySessionStore(), eventStore: new MemoryEventStore(), bus: new MemoryBus() }
  const nodes = await Promise.all([make(), make()].map((server) => node(server, { ...shared, ...options })))
  const [first, second] = nodes as [Node, Node]
  return {
    first,
    second,
    ...shared,
    [Symbol.asyncDispose]: async () => {
      for (const each of nodes) await each.close()
    },
  }
}

type Node = Awaited<ReturnType<typeof node>>

async function node(server: McpServer, options: HttpOptions) {
  const handler = createMcpHandler(server, options)
  const http = await listenWith(handler.node)
  const close = async () => {
    await handler.close(100)
    await http[Symbol.asyncDispose]()
  }
  const open = (revision: RevisionId, peer?: PeerOptions) => Peer.open(http.url, revision, peer)
  return { server, handler, url: http.url, door: overHttp(http.url), close, open }
}

const byUser: HttpOptions = { principal: (request) => request.header('x-user') }

describe('two nodes that share stores and a bus', () => {
  eachRevision(sessionRevisions, 'a session opened on one is used on the other', async (revision) => {
    await using nodes = await fleet()
    await using here = await nodes.first.open(revision)
    await using there = here.at(nodes.second.url)
    expect(await there.textOf('session')).toBe(here.sessionId)
    expect(await there.textOf('revision')).toBe(revision)
    expect(await here.textOf('echo', { text: 'back again' })).toBe('back again')
  })

  eachRevision(sessionRevisions, 'a subscription to a guarded resource is notified by both', async (revision) => {
    const auth = {
      verify: () => ({ subject: 'alice', scopes: ['read'] }),
      authorizationServers: ['https://login.example.com'],
      resource: 'http://127.0.0.1/mcp',
    }
    const guarded = () => {
      const server = workshop()
      server.registerResource('guarded', 'note://guarded', { requiredScopes: ['read'] }, () => 'text')
      return server
    }
    await using nodes = await fleet({ auth }, guarded)
    await using here = await nodes.first.open(revision, { headers: { authorization: 'Bearer x' } })
    await (await here.request('resources/subscribe', { uri: 'note://guarded' })).json()
    const stream = await here.get()
    nodes.first.server.sendResourceUpdated('note://guarded')
    expect((await stream.notified('notifications/resources/updated')).params?.uri).toBe('note://guarded')
    nodes.second.server.sendResourceUpdated('note://guarded')
    expect((await stream.notified('notifications/resources/updated')).params?.uri).toBe('note://guarded')
  })

  for (const isBatch of [false, true]) {
    const what = isBatch ? 'batch with a refused subscription' : 'refused subscription'
    it(`a ${what} does not store scopes that the process read earlier`, async () => {
      const guarded = () => {
        const server = workshop()
        server.registerResource('guarded', 'note://guarded', { requiredScopes: ['admin'] }, () => 'text')
        return server
      }
      const auth = {
        verify: (token: string) => ({ subject: 'alice', scopes: [token] }),
        authorizationServers: ['https://login.example.com'],
        resource: 'http://127.0.0.1/mcp',
      }
      const as = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })
      // Without a bus, a process does not learn what the others store.
      await using nodes = await fleet({ auth, bus: undefined }, guarded)
      await using here = await nodes.first.open('2025-03-26', as('admin'))
      await using there = here.at(nodes.second.url)
      await (await here.request('resources/subscribe', { uri: 'note://guarded' })).json()
      await there.textOf('echo')
      await (await here.request('resources/subscribe', { uri: 'note://a' }, as('basic'))).json()
      const before = nodes.sessionStore.get(here.sessionId!)
      expect(before?.state).toMatchObject({ granted: ['basic'] })
      const request = { jsonrpc: '2.0', id: 77, method: 'resources/subscribe', params: { uri: 'note://guarded' } }
      const refused = await there.post(isBatch ? [request] : request, as('basic').headers)
      expect(await refused.text()).toContain('"error"')
      expect(nodes.sessionStore.get(here.sessionId!)).toEqual(before)
      const setLevel = { jsonrpc: '2.0', id: 78, method: 'logging/setLevel', params: { level: 'error' } }
      await (await there.post(isBatch ? [request, setLevel] : setLevel, as('basic').headers)).text()
      expect(nodes.sessionStore.get(here.sessionId!)?.state).toMatchObject({ granted: ['basic'], logLevel: 'error' })
    })
  }

  it('a session that another node takes over gets no updates that the token of its subscription does not cover [RES-034]', async () => {
    const auth = {
      verify: () => ({ subject: 'alice', scopes: ['basic'] }),
      authorizationServers: ['https://login.example.com'],
      resource: 'http://127.0.0.1/mcp',
    }
    await using nodes = await fleet({ auth })
    await using here = await nodes.first.open('2025-11-25', { headers: { authorization: 'Bearer x' } })
    nodes.second.server.registerResource('news', 'note://news', { requiredScopes: ['admin'] }, () => 'text')
    for (const uri of ['note://a', 'note://news']) await (await here.request('resources/subscribe', { uri })).json()
    await using there = here.at(nodes.second.url)
    const stream = await there.get()
    nodes.second.server.sendResourceUpdated('note://news')
    nodes.second.server.sendResourceUpdated('note://a')
    expect((await stream.notified('notifications/resources/updated')).params?.uri).toBe('note://a')
  })

  it('a subscription with fewer scopes counts before it is confirmed, although another node saves the earlier ones', async () => {
    const auth = {
      verify: (token: string) => ({ subject: 'alice', scopes: [token] }),
      authorizationServers: ['https://login.example.com'],
      resource: 'http://127.0.0.1/mcp',
    }
    const guarded = () => {
      const server = workshop()
      server.registerResource('guarded', 'note://guarded', { requiredScopes: ['admin'] }, () => 'text')
      return server
    }
    await using nodes = await fleet({ auth }, guarded)
    const { first, second } = nodes
    const asked = gate()
    const confirmed = gate()
    const added = (uri: string) => {
      if (uri !== 'note://a') return
      asked.open()
      return confirmed.opened
    }
    second.server.server.followSubscriptions(() => ({ audience: '', added, removed: () => {} }))
    await using here = await first.open('2025-11-25', { headers: { authorization: 'Bearer admin' } })
    await (await here.request('resources/subscribe', { uri: 'note://guarded' })).json()
    await using there = here.at(second.url, { authorization: 'Bearer basic' })
    const stream = await there.get()
    const subscribing = there.request('resources/subscribe', { uri: 'note://a' })
    await asked.opened
    await (await here.request('logging/setLevel', { level: 'error' })).json()
    // After this call the second node has read the session again.
    await there.textOf('echo')
    second.server.sendResourceUpdated('note://guarded')
    second.server.sendPromptListChanged()
    await stream.notified('notifications/prompts/list_changed')
    expect(stream.methods).not.toContain('notifications/resources/updated')
    confirmed.open()
    expect((await (await subscribing).response()).result).toEqual({})
  })

  it('a session that another node takes over has the capabilities that initialize declared, and no others', async () => {
    const shared = { sessionStore: new MemorySessionStore(), bus: new MemoryBus() }
    const small = new McpServer({ name: 'workshop', version: '1.0.0' })
    small.registerTool('echo', {}, () => 'echo')
    const first = await node(small, shared)
    const second = await node(workshop(), shared)
    try {
      await using here = await first.open('2025-11-25')
      await using there = here.at(second.url)
      const subscribed = await there.request('resources/subscribe', { uri: 'note://a' })
      expect((await subscribed.response()).error).toMatchObject({ code: -32_601 })
      await using own = await second.open('2025-11-25')
      expect(await (await own.request('resources/subscribe', { uri: 'note://a' })).response()).toMatchObject({
        result: {},
      })
    } finally {
      await first.close()
      await second.close()
    }
  })

  eachRevision(sessionRevisions, 'the state of a session is known on both', async (revision) => {
    await using nodes = await fleet()
    await using here = await nodes.first.open(revision)
    await using there = here.at(nodes.second.url)
    await there.textOf('echo')
    await (await here.request('resources/subscribe', { uri: 'note://a' })).json()
    const stream = await there.get()
    nodes.second.server.sendResourceUpdated('note://a')
    expect((await stream.notified('notifications/resources/updated')).params?.uri).toBe('note://a')
    await (await there.request('logging/setLevel', { level: 'error' })).json()
    nodes.second.server.sendLoggingMessage({ level: 'info', data: 'too low' })
    nodes.second.server.sendLoggingMessage({ level: 'error', data: 'loud' })
    expect((await stream.notified('notifications/message')).params?.data).toBe('loud')
  })

  eachRevision(sessionRevisions, 'a change on one reaches the GET stream on the other', async (revision) => {
    await using nodes = await fleet()
    await using peer = await nodes.first.open(revision)
    const stream = await peer.get()
    nodes.second.server.registerTool('new', {}, () => 'x')
    await stream.notified('notifications/tools/list_changed')
    nodes.second.server.sendPromptListChanged()
    await stream.notified('notifications/prompts/list_changed')
    expect(stream.methods).toHaveLength(2)
  })

  it(`${modern}: a change on one reaches the listen stream on the other`, async () => {
    await using nodes = await fleet()
    await using peer = new Peer(nodes.first.url, modern)
    const stream = await peer.listen({ toolsListChanged: true, resourceSubscriptions: ['note://a'] })
    await stream.notified(acknowledgement)
    nodes.second.server.sendToolListChanged()
    await stream.notified('notifications/tools/list_changed')
    nodes.second.server.sendResourceUpdated('note://a')
    await stream.notified('notifications/resources/updated')
    nodes.first.server.sendToolListChanged()
    await stream.notified('notifications/tools/list_changed', 2)
    expect(stream.messages).toHaveLength(4)
  })

  eachRevision(
    sessionRevisions,
    'a change is delivered once to a session that both nodes know, not on a stream of each [HTTP-036]',
    async (revision) => {
      await using nodes = await fleet()
      await using here = await nodes.first.open(revision)
      await using there = here.at(nodes.second.url)
      const streams = [await here.get(), await there.get()]
      nodes.first.server.sendToolListChanged()
      const count = () => streams.flatMap(({ methods }) => methods).length
      await eventually(() => count() > 0)
      // After calls on both nodes, nothing is still in transit.
      await here.textOf('echo')
      await there.textOf('echo')
      expect(count()).toBe(1)
    },
    it,
  )

  eachRevision(
    sessionRevisions,
    'a change that one node delivered is not repeated when a stream is opened on the other [HTTP-036]',
    async (revision) => {
      await using nodes = await fleet()
      await using here = await nodes.first.open(revision)
      await using there = here.at(nodes.second.url)
      await there.textOf('echo')
      const stream = await here.get()
      nodes.first.server.sendToolListChanged()
      await stream.notified('notifications/tools/list_changed')
      const second = await there.get()
      nodes.second.server.sendPromptListChanged()
      const heard = () => [...stream.methods, ...second.methods]
      await eventually(() => heard().includes('notifications/prompts/list_changed'))
      expect(heard().filter((method) => method === 'notifications/tools/list_changed')).toHaveLength(1)
    },
    it,
  )

  eachRevision(sessionRevisions, 'DELETE on one ends the session on both [SESS-008]', async (revision) => {
    await using nodes = await fleet()
    await using here = await nodes.first.open(revision)
    await using there = here.at(nodes.second.url)
    const streams = [await here.get(), await there.get()]
    expect((await there.delete()).status).toBe(200)
    expect(await Promise.all(streams.map(({ ended }) => ended))).toEqual(['ended', 'ended'])
    expect([(await here.call('echo')).status, (await there.call('echo')).status]).toEqual([404, 404])
    expect(nodes.sessionStore.size).toBe(0)
  })

  eachRevision(
    sessionRevisions,
    'DELETE on a node that never served the session ends it too [SESS-008]',
    async (revision) => {
      await using nodes = await fleet()
      await using here = await nodes.first.open(revision)
      await using there = here.at(nodes.second.url)
      expect((await there.delete()).status).toBe(200)
      expect([(await here.call('echo')).status, (await there.call('echo')).status]).toEqual([404, 404])
    },
  )

  eachRevision(
    sessionRevisions,
    'DELETE on one node ends the session on the other without a bus too [SESS-008]',
    async (revision) => {
      await using nodes = await fleet({ bus: undefined })
      await using here = await nodes.first.open(revision)
      await using there = here.at(nodes.second.url)
      await there.delete()
      expect((await here.call('echo')).status).toBe(404)
    },
    it,
  )

  it('DELETE on one node closes the streams of the other without a bus, as soon as it is asked [SESS-008]', async () => {
    await using nodes = await fleet({ bus: undefined })
    await using here = await nodes.first.open('2025-11-25')
    const stream = await here.get()
    await using there = here.at(nodes.second.url)
    await there.delete()
    expect((await here.call('echo')).status).toBe(404)
    expect(await stream.ended).toBe('ended')
    expect(nodes.first.handler.metrics.sessions.open).toBe(0)
  })

  it('DELETE removes the events of the session from the shared store', async () => {
    await using nodes = await fleet()
    await using kept = await nodes.first.open('2025-11-25')
    await (await kept.call('steps', {}, withProgress)).ended
    const before = nodes.eventStore.usage
    await using here = await nodes.first.open('2025-11-25')
    await (await here.call('steps', {}, withProgress)).ended
    expect(nodes.eventStore.usage.events).toBeGreaterThan(before.events)
    await using there = here.at(nodes.second.url)
    expect((await there.delete()).status).toBe(200)
    expect(nodes.eventStore.usage).toEqual(before)
  })

  it('a session that reaches sessionMaxMs leaves no events in the shared store', async () => {
    using time = movableTimers()
    await using nodes = await fleet({ sessionMaxMs: 60_000 })
    await using here = await nodes.first.open('2025-11-25')
    await (await here.call('steps', {}, withProgress)).ended
    expect(nodes.eventStore.usage.events).toBeGreaterThan(0)
    await time.advance(90_000)
    expect(nodes.first.handler.metrics.sessions.open).toBe(0)
    expect([nodes.eventStore.usage.events, nodes.sessionStore.size]).toEqual([0, 0])
  })

  it('a session of another node counts towards maxSessionsPerPrincipal when it is taken over', async () => {
    await using nodes = await fleet({ ...byUser, maxSessionsPerPrincipal: 1 })
    const alice = { headers: { 'x-user': 'alice' } }
    await using here = await nodes.first.open('2025-11-25', alice)
    await using own = await nodes.second.open('2025-11-25', alice)
    await using there = here.at(nodes.second.url)
    expect((await there.call('echo')).status).toBe(429)
    await own.delete()
    expect(await there.textOf('session')).toBe(here.sessionId)
  })

  eachRevision(sessionRevisions, 'another principal is rejected on both [SESS-012, SESS-014]', async (revision) => {
    await using nodes = await fleet(byUser)
    await using alice = await nodes.first.open(revision, { headers: { 'x-user': 'alice' } })
    for (const { url } of [nodes.second, nodes.first]) {
      await using thief = alice.at(url, { 'x-user': 'mallory' })
      const answers = [await thief.call('echo'), await thief.get(), await thief.notify('x'), await thief.delete()]
      expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404])
    }
    await using there = alice.at(nodes.second.url)
    expect(await there.textOf('session')).toBe(alice.sessionId)
  })

  eachRevision(sessionRevisions, 'a stream that ended on one is replayed by the other [SSE-016]', async (revision) => {
    await using nodes = await fleet()
    await using here = await nodes.first.open(revision)
    await using there = here.at(nodes.second.url)
    const stream = await here.call('steps', {}, { ...withProgress, id: 12 })
    await stream.ended
    const from = stream.events.find(({ data }) => data)!.id!
    const resumed = await there.resume(from)
    expect(await resumed.ended).toBe('ended')
    expect(resumed.messages).toEqual(stream.messages.slice(1))
  })

  eachRevision(
    sessionRevisions,
    'streams of one session on two nodes have different event ids and are not mixed up [SSE-013, SSE-017]',
    async (revision) => {
      await using nodes = await fleet()
      await using here = await nodes.first.open(revision)
      await using there = here.at(nodes.second.url)
      const one = await here.call('steps', {}, { id: 1, meta: { progressToken: 'here' } })
      await one.ended
      const two = await there.call('steps', {}, { id: 2, meta: { progressToken: 'there' } })
      await two.ended
      expect(new Set([...one.ids, ...two.ids]).size).toBe(one.ids.length + two.ids.length)
      const resumed = await here.resume(one.ids[0]!)
      await resumed.ended
      const tokens = resumed.messages.flatMap(({ params }) => params?.progressToken ?? [])
      expect(new Set(tokens)).toEqual(new Set(['here']))
      expect(resumed.messages.filter(({ method }) => method === undefined).map(({ id }) => id)).toEqual([1])
    },
    it,
  )

  eachRevision(
    sessionRevisions,
    'a node that drops an idle session does not end it on the node that serves it [SSE-016]',
    async (revision) => {
      const expired = gate<string>()
      const onSession = (event: 'opened' | 'closed', id: string) => event === 'closed' && expired.open(id)
      const shared = {
        // The record does not expire, however long the second node takes for its first request.
        sessionStore: new MemorySessionStore({ now: () => 0 }),
        eventStore: new MemoryEventStore(),
        bus: new MemoryBus(),
      }
      // The first node has its own idle timer: it gets no more requests, while the second one is in use.
      const first = await node(workshop(), { ...shared, sessionIdleMs: 200, onSession })
      const second = await node(workshop(), shared)
      try {
        await using here = await first.open(revision)
        await using there = here.at(second.url)
        const stream = await there.call('steps', {}, withProgress)
        await stream.ended
        await (await there.request('logging/setLevel', { level: 'error' })).json()
        await eventually(() => first.handler.metrics.sessions.open === 0)
        expect(await there.textOf('echo', { text: 'still in use' })).toBe('still in use')
        const resumed = await there.resume(stream.ids[0]!)
        expect(resumed.status).toBe(200)
        expect((await resumed.response()).result?.content?.[0]?.text).toBe('three steps')
      } finally {
        await first.close()
        await second.close()
      }
    },
    it,
  )

  eachRevision(
    sessionRevisions,
    'a node that shuts down leaves its sessions and resumable streams to the other [SSE-016]',
    async (revision) => {
      await using nodes = await fleet()
      await using here = await nodes.first.open(revision)
      const stream = await here.call('steps', {}, withProgress)
      await stream.ended
      await nodes.first.handler.close()
      await using there = here.at(nodes.second.url)
      expect(await there.textOf('session')).toBe(here.sessionId)
      const resumed = await there.resume(stream.ids[0]!)
      expect(resumed.status).toBe(200)
    },
    it,
  )

  it('a response in a batch with requests reaches the node that asked [RPC-020]', async () => {
    const asking = () => {
      const server = workshop()
      server.registerTool('ask', {}, async (_, ctx) => JSON.stringify(await ctx.roots()))
      return server
    }
    await using nodes = await fleet({}, asking)
    await using here = await nodes.first.open('2025-03-26', { capabilities: { roots: {} } })
    await using there = here.at(nodes.second.url)
    const call = await here.call('ask')
    const { id } = await call.until(() => call.messages.find(({ method }) => method === 'roots/list'))
    const roots = [{ uri: 'file:///a' }]
    const answers = await there.post([
      { jsonrpc: '2.0', id: id!, result: { roots } as never },
      there.message('tools/call', { name: 'echo', arguments: { text: 'x' } }, 'batched'),
    ])
    expect(await answers.text()).toContain('"batched"')
    expect((await call.response()).result?.content?.[0]?.text).toContain('file:///a')
  })

  it(`${modern}: any node answers any request without a store`, async () => {
    const nodes = [createMcpHandler(workshop()), createMcpHandler(workshop())]
    const texts: unknown[] = []
    for (const handler of [...nodes, ...nodes]) {
      await using peer = new Peer(overFetch(handler), modern)
      texts.push(await peer.textOf('revision'))
    }
    expect(texts).toEqual(Array(4).fill(modern))
  })

  it('a session is unknown to a node that shares nothing', async () => {
    const [one, two] = [createMcpHandler(workshop()), createMcpHandler(workshop())]
    await using here = await Peer.open(overFetch(one), '2025-11-25')
    const answer: Answer = await here.at(overFetch(two)).call('echo')
    expect(answer.status).toBe(404)
  })
})

import type { RevisionId } from 'tenon'
import {
  type Bus,
  createMcpHandler,
  type HttpOptions,
  MemoryBus,
  MemoryEventStore,
  MemorySessionStore,
  type SessionStore,
} from 'tenon/server'
import { describe, expect, it, vi } from 'vitest'
import { eventually } from '../../../kit/eventually.ts'
import type { Answer } from '../../../kit/http-client.ts'
import { Peer } from '../../../kit/http-peer.ts'
import { eachRevision, sessionRevisions } from '../../../kit/revisions.ts'
import { listenWith } from '../../../kit/serve-http.ts'
import { registerSlow, withProgress, workshop } from '../../../kit/workshop.ts'

const toolsChanged = 'notifications/tools/list_changed'
const updated = 'notifications/resources/updated'

/** A bus that a process can be cut off from, as if the process had crashed. */
class CuttableBus implements Bus {
  readonly #bus: Bus
  isCut = false

  constructor(bus: Bus) {
    this.#bus = bus
  }

  publish(topic: string, message: string): void | Promise<void> {
    if (!this.isCut) return this.#bus.publish(topic, message)
  }

  subscribe(topic: string, listener: (message: string) => void) {
    return this.#bus.subscribe(topic, (message) => void (this.isCut || listener(message)))
  }
}

async function cluster(count = 2, shared: HttpOptions = {}) {
  const stores = { sessionStore: new MemorySessionStore(), eventStore: new MemoryEventStore(), ...shared }
  const memoryBus = new MemoryBus()
  const nodes = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = workshop()
      const bus = new CuttableBus(memoryBus)
      const handler = createMcpHandler(server, { bus, ...stores })
      const http = await listenWith(handler.node)
      return { server, bus, handler, url: http.url, http }
    }),
  )
  return {
    nodes: nodes as [Node, Node],
    [Symbol.asyncDispose]: async () => {
      for (const { handler, http } of nodes) {
        await handler.close(0)
        await http[Symbol.asyncDispose]()
      }
    },
  }
  type Node = (typeof nodes)[number]
}

/** Returns the id of an event of the stream; sends one if necessary. */
async function lastEventId(stream: Answer, send: () => void): Promise<string> {
  send()
  await eventually(() => stream.events.some(({ id, data }) => id && data))
  return stream.events.findLast(({ id }) => id)!.id!
}

async function openOnFirst({ nodes: [first, second] }: Awaited<ReturnType<typeof cluster>>, revision: RevisionId) {
  const here = await Peer.open(first.url, revision)
  await (await here.request('resources/subscribe', { uri: 'note://a' })).json()
  return { first, second, here, there: here.at(second.url) }
}

describe('a stream that is resumed on another process', () => {
  eachRevision(sessionRevisions, 'continues there if it was opened with GET [SSE-016]', async (revision) => {
    await using both = await cluster()
    const { first, second, here, there } = await openOnFirst(both, revision)
    const stream = await here.get()
    const id = await lastEventId(stream, () => first.server.sendToolListChanged())
    await stream[Symbol.asyncDispose]()
    const resumed = await there.resume(id)
    for (const { server } of [first, second]) server.sendResourceUpdated('note://a')
    await resumed.notified(updated, 2)
    await here[Symbol.asyncDispose]()
    await there[Symbol.asyncDispose]()
  })

  it('gets each later change once, although the first process still has the session', async () => {
    await using both = await cluster()
    const { first, second, here, there } = await openOnFirst(both, '2025-11-25')
    const stream = await here.get()
    const id = await lastEventId(stream, () => first.server.sendToolListChanged())
    const resumed = await there.resume(id)
    // The process has just started, so it repeats everything that the client may have missed.
    await resumed.notified(updated)
    first.server.sendResourceUpdated('note://a')
    await resumed.notified(updated, 2)
    second.server.sendPromptListChanged()
    await eventually(() => resumed.methods.at(-1) === 'notifications/prompts/list_changed')
    expect(resumed.methods.filter((method) => method === updated)).toHaveLength(2)
    expect(stream.methods).toEqual([toolsChanged])
    await here[Symbol.asyncDispose]()
    await there[Symbol.asyncDispose]()
  })

  it('can return to the process that opened it', async () => {
    await using both = await cluster()
    const { first, second, here, there } = await openOnFirst(both, '2025-11-25')
    const stream = await here.get()
    const id = await lastEventId(stream, () => first.server.sendToolListChanged())
    await stream[Symbol.asyncDispose]()
    const resumed = await there.resume(id)
    const next = await lastEventId(resumed, () => second.server.sendResourceUpdated('note://a'))
    await resumed[Symbol.asyncDispose]()
    const back = await here.resume(next)
    await back.notified(toolsChanged)
    second.server.sendResourceUpdated('note://a')
    await back.notified(updated)
    await here[Symbol.asyncDispose]()
    await there[Symbol.asyncDispose]()
  })

  it('gets changes that were made while no process had it', async () => {
    await using both = await cluster()
    const { first, second, here, there } = await openOnFirst(both, '2025-11-25')
    const stream = await here.get()
    const id = await lastEventId(stream, () => first.server.sendToolListChanged())
    await first.handler.close(0)
    await stream.ended
    second.server.sendResourceUpdated('note://a')
    const resumed = await there.resume(id)
    await resumed.notified(updated)
    await here[Symbol.asyncDispose]()
    await there[Symbol.asyncDispose]()
  })

  it('is rejected with the id of a GET stream of another session', async () => {
    await using both = await cluster()
    const { first, here, there } = await openOnFirst(both, '2025-11-25')
    const stranger = await Peer.open(first.url, '2025-11-25')
    const stream = await stranger.get()
    const id = await lastEventId(stream, () => first.server.sendToolListChanged())
    expect((await here.resume(id)).status).toBe(400)
    expect((await there.resume(`${stranger.sessionId}/abcdef.1/1`)).status).toBe(400)
    await stranger[Symbol.asyncDispose]()
    await here[Symbol.asyncDispose]()
    await there[Symbol.asyncDispose]()
  })

  it('gets the rest of a response that the other process is still producing [SSE-016]', async () => {
    await using both = await cluster()
    const { first, here, there } = await openOnFirst(both, '2025-11-25')
    const slow = registerSlow(first.server)
    const stream = await here.call('slow', {}, { ...withProgress, id: 'seven' })
    const id = await lastEventId(stream, () => {})
    await stream[Symbol.asyncDispose]()
    const resumed = await there.resume(id)
    slow.finish('finished')
    const answer = await resumed.response()
    expect(answer).toMatchObject({ id: 'seven', result: { content: [{ text: 'finished' }] } })
    expect(await resumed.ended).toBe('ended')
    expect(resumed.messages).toHaveLength(2)
    await here[Symbol.asyncDispose]()
    await there[Symbol.asyncDispose]()
  })

  it('ends with an error when the process that ran the call has crashed', async () => {
    await using both = await cluster()
    const { first, here, there } = await openOnFirst(both, '2025-11-25')
    registerSlow(first.server)
    const stream = await here.call('slow', {}, { ...withProgress, id: 7 })
    const id = await lastEventId(stream, () => {})
    first.bus.isCut = true
    const resumed = await there.resume(id)
    const { id: answered, error } = await resumed.response()
    expect({ answered, error }).toEqual({
      answered: 7,
      error: {
        code: -32603,
        message: 'The server process ended before it responded. The request may have been executed.',
      },
    })
    expect(await resumed.ended).toBe('ended')
    await here[Symbol.asyncDispose]()
    await there[Symbol.asyncDispose]()
  })
})

describe('a session that is changed on several processes at the same time', () => {
  it('keeps every change', async () => {
    const memory = new MemorySessionStore()
    const turn = <T>(work: () => T) => new Promise<T>((resolve) => setImmediate(() => resolve(work())))
    const sessionStore: SessionStore = {
      get: (id) => turn(() => memory.get(id)),
      set: (record, ttlMs) => turn(() => memory.set(record, ttlMs)),
      replace: (record, ttlMs, before) => turn(() => memory.replace(record, ttlMs, before)),
      touch: (id, ttlMs) => turn(() => memory.touch(id, ttlMs)),
      delete: (id) => turn(() => memory.delete(id)),
    }
    await using four = await cluster(4, { sessionStore })
    const opener = await Peer.open(four.nodes[0].url, '2025-11-25')
    const peers = four.nodes.map(({ url }) => opener.at(url))
    const uris = Array.from({ length: 12 }, (_, number) => `note://${number}`)
    const subscribe = async (uri: string, index: number) =>
      (await peers[index % 4]!.request('resources/subscribe', { uri }, { id: uri })).json()
    await Promise.all(uris.map(subscribe))
    const stream = await peers[2]!.get()
    for (const uri of uris) four.nodes[1].server.sendResourceUpdated(uri)
    await stream.notified(updated, uris.length)
    for (const peer of [opener, ...peers]) await peer[Symbol.asyncDispose]()
  })
})

describe('a session that was opened by a process whose clock is ahead', () => {
  it('does not expire while it is used at another', async () => {
    const memory = new MemorySessionStore()
    const touched: string[] = []
    const sessionStore: SessionStore = {
      get: (id) => {
        const record = memory.get(id)
        return record && { ...record, createdAt: record.createdAt + 86_400_000 }
      },
      set: (record, ttlMs) => memory.set(record, ttlMs),
      touch: (id, ttlMs) => {
        touched.push(id)
        return memory.touch(id, ttlMs)
      },
      delete: (id) => memory.delete(id),
    }
    await using both = await cluster(2, { sessionStore })
    const { here, there } = await openOnFirst(both, '2025-11-25')
    await there.textOf('echo')
    await there.textOf('echo')
    expect(touched).toEqual([here.sessionId])
    await here[Symbol.asyncDispose]()
    await there[Symbol.asyncDispose]()
  })
})

describe('an unavailable session store', () => {
  it('loses no call: the request is answered with 503 and Retry-After', async () => {
    const memory = new MemorySessionStore()
    let isAway = false
    const sessionStore: SessionStore = {
      get: (id) => {
        if (isAway) throw new Error('The store is away')
        return memory.get(id)
      },
      set: (record, ttlMs) => memory.set(record, ttlMs),
      touch: (id, ttlMs) => memory.touch(id, ttlMs),
      delete: (id) => memory.delete(id),
    }
    await using both = await cluster(2, { sessionStore })
    const { here, there } = await openOnFirst(both, '2025-11-25')
    isAway = true
    vi.spyOn(console, 'error').mockImplementation(() => {})
    const refused = await there.call('echo', { text: 'first' })
    expect([refused.status, refused.headers['retry-after']]).toEqual([503, '1'])
    isAway = false
    expect(await there.textOf('echo', { text: 'second' })).toBe('second')
    vi.restoreAllMocks()
    await here[Symbol.asyncDispose]()
    await there[Symbol.asyncDispose]()
  })
})

describe('a message that is sent right after a client connected', () => {
  it.each(sessionRevisions)('is delivered when the client is ready and opens its stream (%s)', async (revision) => {
    await using both = await cluster()
    const [first, second] = both.nodes
    const here = new Peer(first.url, revision)
    here.opening = await here.request('initialize', here.greeting())
    here.sessionId = here.opening.headers['mcp-session-id']
    const there = here.at(second.url)
    first.server.sendLoggingMessage({ level: 'error', data: 'early' })
    first.server.sendToolListChanged()
    await there.notify('notifications/initialized')
    const stream = await there.get()
    await stream.notified(toolsChanged)
    const logged = await stream.notified('notifications/message')
    expect(logged.params?.data).toBe('early')
    await here[Symbol.asyncDispose]()
    await there[Symbol.asyncDispose]()
  })
})

import {
  createMcpHandler,
  MemoryBus,
  MemoryEventStore,
  MemorySessionStore,
  type SessionRecord,
  type SessionStore,
} from 'tenon/server'
import { describe, expect, it } from 'vitest'
import { eventually } from '../../../kit/eventually.ts'
import { type Gate, gate } from '../../../kit/gate.ts'
import { type Answer, overFetch } from '../../../kit/http-client.ts'
import { Peer } from '../../../kit/http-peer.ts'
import { listenWith } from '../../../kit/serve-http.ts'
import { workshop } from '../../../kit/workshop.ts'

type Operation = 'get' | 'replace'

interface Delay {
  /** Resolves when the store has executed the operation. */
  readonly executed: Gate
  /** Open it to pass the result on. */
  readonly arrives: Gate
}

/** The store as one process sees it. The results of single operations can be delayed, as they are on a network. */
class NodeStore implements SessionStore {
  readonly #store: MemorySessionStore
  readonly #delays: Array<Delay & { readonly operation: Operation }> = []

  #held: { readonly asked: Gate; readonly continues: Gate } | undefined

  constructor(store: MemorySessionStore) {
    this.#store = store
  }

  delayNext(operation: Operation): Delay {
    const delay = { operation, executed: gate(), arrives: gate() }
    this.#delays.push(delay)
    return delay
  }

  /** Lets the next `get` wait before it reaches the store. */
  holdNextGet(): { readonly asked: Gate; readonly continues: Gate } {
    this.#held = { asked: gate(), continues: gate() }
    return this.#held
  }

  async get(id: string): Promise<SessionRecord | undefined> {
    const held = this.#held
    this.#held = undefined
    held?.asked.open()
    await held?.continues.opened
    return this.#pass('get', this.#store.get(id))
  }

  async set(record: SessionRecord, ttlMs: number): Promise<void> {
    this.#store.set(record, ttlMs)
  }

  replace(record: SessionRecord, ttlMs: number, before: SessionRecord): Promise<boolean> {
    return this.#pass('replace', this.#store.replace(record, ttlMs, before))
  }

  async touch(id: string, ttlMs: number): Promise<boolean> {
    return this.#store.touch(id, ttlMs)
  }

  async delete(id: string): Promise<boolean> {
    return this.#store.delete(id)
  }

  async #pass<T>(operation: Operation, result: T): Promise<T> {
    const index = this.#delays.findIndex((delay) => delay.operation === operation)
    const [delay] = index < 0 ? [] : this.#delays.splice(index, 1)
    delay?.executed.open()
    await delay?.arrives.opened
    return result
  }
}

/** Two processes that share sessions, and a client whose session was opened at the first. */
async function open() {
  const sessions = new MemorySessionStore()
  const errors: unknown[] = []
  const bus = new MemoryBus({ onError: (error) => errors.push(error) })
  const shared = { eventStore: new MemoryEventStore(), bus }
  const nodes = await Promise.all(
    [0, 1].map(async () => {
      const server = workshop()
      const store = new NodeStore(sessions)
      const handler = createMcpHandler(server, { ...shared, sessionStore: store })
      const http = await listenWith(handler.node)
      return { server, store, handler, http }
    }),
  )
  const [first, second] = nodes as [Node, Node]
  const here = await Peer.open(first.http.url, '2025-11-25')
  const there = here.at(second.http.url)
  return {
    first,
    second,
    here,
    there,
    /** Thrown by those who receive messages of the bus. */
    errors,
    [Symbol.asyncDispose]: async () => {
      await here[Symbol.asyncDispose]()
      await there[Symbol.asyncDispose]()
      for (const { handler, http } of nodes) {
        await handler.close(0)
        await http[Symbol.asyncDispose]()
      }
    },
  }
  type Node = (typeof nodes)[number]
}

async function subscribe(peer: Peer, uri: string): Promise<void> {
  expect(await (await peer.request('resources/subscribe', { uri }, { id: uri })).response()).toMatchObject({
    result: {},
  })
}

function updatesIn(stream: Answer): unknown[] {
  return stream.messages
    .filter(({ method }) => method === 'notifications/resources/updated')
    .map(({ params }) => params?.uri)
}

/** Sends an update, then another change. Streams are in order, so the update came before that, or was lost. */
async function updatesAfter(stream: Answer, update: () => void, mark: () => void): Promise<unknown[]> {
  update()
  mark()
  await stream.notified('notifications/prompts/list_changed')
  return updatesIn(stream)
}

describe('a client that subscribes at one process and listens at another', () => {
  it('gets updates although the subscription was saved while the other process took the session over', async () => {
    await using nodes = await open()
    const { first, second, here, there } = nodes
    const read = second.store.delayNext('get')
    const listening = there.get()
    await read.executed.opened
    await subscribe(here, 'note://a')
    read.arrives.open()
    const stream = await listening
    const update = () => first.server.sendResourceUpdated('note://a')
    expect(await updatesAfter(stream, update, () => first.server.sendPromptListChanged())).toEqual(['note://a'])
  })

  it('keeps a subscription that was saved after one of the other process, whose result came late', async () => {
    await using nodes = await open()
    const { first, second, here, there } = nodes
    const stream = await there.get()
    const replaced = second.store.delayNext('replace')
    const subscribing = subscribe(there, 'note://a')
    await replaced.executed.opened
    await subscribe(here, 'note://b')
    replaced.arrives.open()
    await subscribing
    const update = () => {
      first.server.sendResourceUpdated('note://a')
      first.server.sendResourceUpdated('note://b')
    }
    const updates = await updatesAfter(stream, update, () => first.server.sendPromptListChanged())
    expect(updates).toEqual(['note://a', 'note://b'])
  })

  it('keeps a subscription if the other process reads two versions of the session in the wrong order', async () => {
    await using nodes = await open()
    const { first, second, here, there } = nodes
    const stream = await there.get()
    const read = second.store.delayNext('get')
    await subscribe(here, 'note://a')
    await read.executed.opened
    await subscribe(here, 'note://b')
    read.arrives.open()
    await there.textOf('echo')
    const update = () => first.server.sendResourceUpdated('note://b')
    expect(await updatesAfter(stream, update, () => first.server.sendPromptListChanged())).toEqual(['note://b'])
  })

  it('gets an update that is made before the other process has read the subscription', async () => {
    await using nodes = await open()
    const { first, second, here, there } = nodes
    const stream = await there.get()
    const read = second.store.delayNext('get')
    await subscribe(here, 'note://a')
    await read.executed.opened
    first.server.sendResourceUpdated('note://a')
    read.arrives.open()
    await eventually(() => updatesIn(stream).length > 0)
    expect(updatesIn(stream)).toEqual(['note://a'])
  })
})

describe('a subscription that is confirmed while another process changes the session', () => {
  /** Lets the second process wait in its handler until the test confirms the subscription. */
  function confirmLater({ second }: Awaited<ReturnType<typeof open>>) {
    const asked = gate()
    const confirmed = gate()
    const aborted = gate()
    second.server.server.setRequestHandler('resources/subscribe', async (_, ctx) => {
      ctx.signal.addEventListener('abort', () => aborted.open())
      asked.open()
      await confirmed.opened
      return {}
    })
    return { asked: asked.opened, confirm: confirmed.open, aborted: aborted.opened }
  }

  it('is kept', async () => {
    await using nodes = await open()
    const { first, here, there } = nodes
    const stream = await there.get()
    const { asked, confirm } = confirmLater(nodes)
    const subscribing = subscribe(there, 'note://a')
    await asked
    await subscribe(here, 'note://b')
    confirm()
    await subscribing
    const update = () => {
      first.server.sendResourceUpdated('note://a')
      first.server.sendResourceUpdated('note://b')
    }
    const updates = await updatesAfter(stream, update, () => first.server.sendPromptListChanged())
    expect(updates).toEqual(['note://a', 'note://b'])
  })

  it('ends when the client unsubscribes at the other process before the first has the result', async () => {
    await using nodes = await open()
    const { first, second, here, there } = nodes
    const stream = await there.get()
    const replaced = second.store.delayNext('replace')
    const subscribing = subscribe(there, 'note://a')
    await replaced.executed.opened
    await (await here.request('resources/unsubscribe', { uri: 'note://a' })).response()
    replaced.arrives.open()
    await subscribing
    const update = () => first.server.sendResourceUpdated('note://a')
    expect(await updatesAfter(stream, update, () => first.server.sendPromptListChanged())).toEqual([])
  })

  it('does not hide later changes of the other process if it was cancelled', async () => {
    await using nodes = await open()
    const { first, here, there } = nodes
    const stream = await there.get()
    const { asked, confirm, aborted } = confirmLater(nodes)
    const subscribing = there.request('resources/subscribe', { uri: 'note://a' }, { id: 'cancelled' })
    await asked
    await there.notify('notifications/cancelled', { requestId: 'cancelled' })
    await aborted
    await subscribing
    confirm()
    await subscribe(here, 'note://a')
    await (await here.request('resources/unsubscribe', { uri: 'note://a' })).response()
    const update = () => first.server.sendResourceUpdated('note://a')
    expect(await updatesAfter(stream, update, () => first.server.sendPromptListChanged())).toEqual([])
  })
})

describe('a log level that is set at one process', () => {
  it('holds at a process that took the session over at the same time', async () => {
    await using nodes = await open()
    const { second, here, there } = nodes
    const read = second.store.delayNext('get')
    const listening = there.get()
    await read.executed.opened
    await (await here.request('logging/setLevel', { level: 'error' })).response()
    read.arrives.open()
    const stream = await listening
    second.server.sendLoggingMessage({ level: 'info', data: 'too low' })
    second.server.sendLoggingMessage({ level: 'error', data: 'loud' })
    expect((await stream.notified('notifications/message')).params?.data).toBe('loud')
  })

  it('is kept while the other process changes the session', async () => {
    await using nodes = await open()
    const { second, here, there } = nodes
    const stream = await there.get()
    const asked = gate()
    const done = gate()
    second.server.server.setRequestHandler('logging/setLevel', async () => {
      asked.open()
      await done.opened
      return {}
    })
    const setting = there.request('logging/setLevel', { level: 'error' })
    await asked.opened
    await subscribe(here, 'note://b')
    done.open()
    await (await setting).response()
    second.server.sendLoggingMessage({ level: 'info', data: 'too low' })
    second.server.sendLoggingMessage({ level: 'error', data: 'loud' })
    expect((await stream.notified('notifications/message')).params?.data).toBe('loud')
  })
})

describe('a session that ends while another process takes it over', () => {
  it('does not exist there either [SESS-008]', async () => {
    await using nodes = await open()
    const { second, here, there } = nodes
    const read = second.store.delayNext('get')
    const calling = there.call('echo', { text: 'too late' })
    await read.executed.opened
    expect((await here.delete()).status).toBe(200)
    read.arrives.open()
    expect((await calling).status).toBe(404)
    expect(second.handler.metrics.sessions.open).toBe(0)
  })
})

describe('a message that changes a session', () => {
  it('is answered only after the session is saved, because the next request may go to another process', async () => {
    await using nodes = await open()
    const { first, second, here } = nodes
    await using peer = here.at(overFetch(first.handler))
    const messages = [
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      { jsonrpc: '2.0', id: 'subscribe', method: 'resources/subscribe', params: { uri: 'note://a' } },
      { jsonrpc: '2.0', id: 'level', method: 'logging/setLevel', params: { level: 'error' } },
    ] as const
    for (const message of messages) {
      const saving = first.store.delayNext('replace')
      let isAnswered = false
      const answering = peer.post(message).then((answer) => {
        isAnswered = true
        return answer
      })
      await saving.executed.opened
      // An answer that does not wait for the store arrives before this one.
      await peer.textOf('echo')
      expect(isAnswered, message.method).toBe(false)
      saving.arrives.open()
      expect((await answering).status).toBe('id' in message ? 200 : 202)
    }
    await using there = here.at(overFetch(second.handler))
    expect(await there.textOf('session')).toBe(here.sessionId)
  })

  it('that opens it is answered only after the session is saved', async () => {
    await using nodes = await open()
    const { first, second } = nodes
    await using peer = new Peer(overFetch(first.handler), '2025-11-25')
    const read = first.store.delayNext('get')
    let isAnswered = false
    const answering = peer.request('initialize', peer.greeting()).then((answer) => {
      isAnswered = true
      return answer
    })
    await read.executed.opened
    await using other = nodes.here.at(overFetch(first.handler))
    await other.textOf('echo')
    expect(isAnswered).toBe(false)
    read.arrives.open()
    peer.sessionId = (await answering).headers['mcp-session-id']
    await using there = peer.at(overFetch(second.handler))
    expect((await there.notify('notifications/initialized')).status).toBe(202)
  })
})

describe('a session that ends while one of its messages is being saved', () => {
  it('is not stored again [SESS-008]', async () => {
    await using nodes = await open()
    const { first, here, there } = nodes
    const read = first.store.holdNextGet()
    const subscribing = here.request('resources/subscribe', { uri: 'note://a' })
    await read.asked.opened
    expect((await here.delete()).status).toBe(200)
    read.continues.open()
    await (await subscribing).text()
    expect(await first.store.get(here.sessionId!)).toBeUndefined()
    expect((await there.call('echo', { text: 'too late' })).status).toBe(404)
  })
})

describe('an update that is for some callers of a process only', () => {
  it('is sent to them once, and not to other processes, which find out by themselves', async () => {
    await using nodes = await open()
    const { first, second, here, there, errors } = nodes
    for (const { server } of [first, second]) {
      server.server.followSubscriptions(() => ({ audience: 'alice', added: () => {}, removed: () => {} }))
    }
    await subscribe(here, 'note://a')
    const stream = await there.get()
    const update = () => {
      for (const { server } of [first, second]) {
        server.server.changes.emit({ updated: 'note://a', audience: new Set(['alice']) })
      }
    }
    const updates = await updatesAfter(stream, update, () => first.server.sendPromptListChanged())
    expect([updates, errors]).toEqual([['note://a'], []])
  })
})

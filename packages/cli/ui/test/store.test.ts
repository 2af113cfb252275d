import { effect } from '@preact/signals'
import { describe, expect, it } from 'vitest'
import type { InspectorFact } from '../../src/inspector/protocol.ts'
import { parseTranscript } from '../src/store/event-log.ts'
import { Inlet } from '../src/store/inlet.ts'
import { Store } from '../src/store/store.ts'
import { durationOf, methodOf } from '../src/store/wire.ts'
import { added, eventsOf, message, ready, storeOf } from './events.ts'

describe('the store of the inspector', () => {
  it('derives servers from the log, and forgets the error when one is ready again', () => {
    const error = { code: 'timeout', message: 'Too slow' }
    const store = storeOf(added, { kind: 'server-state', server: 's', state: 'failed', error })
    expect(store.servers.get('s')).toMatchObject({ name: 'demo', state: 'failed', error })
    for (const event of eventsOf([added, added, ready]).slice(2)) store.apply(event)
    expect(store.servers.get('s')).toMatchObject({ state: 'ready', revision: '2026-07-28', error: undefined })
  })

  it('numbers servers with the same name', () => {
    const store = storeOf(added, { ...added, server: 't' }, { ...added, server: 'u' })
    expect(store.servers.all().map(({ name }) => name)).toEqual(['demo', 'demo 2', 'demo 3'])
  })

  it('calls a server by its title, unless a config file names it', () => {
    const info = { name: 'bookshop', version: '1.0.0', title: 'Bookshop back office' }
    const isReady = (server: string) => ({ ...ready, server, info }) as InspectorFact
    const store = storeOf(
      { ...added, name: '127.0.0.1:3000' },
      { ...added, server: 't', name: '127.0.0.1:4000' },
      { ...added, server: 'u', name: 'staging', isNamed: true },
      ...['s', 't', 'u', 's', 't'].map(isReady),
    )
    expect(store.servers.all().map(({ name }) => name)).toEqual([
      'Bookshop back office',
      'Bookshop back office 2',
      'staging',
    ])
    const untitled = { ...ready, info: { name: 'bookshop', version: '1.0.0' } } as InspectorFact
    expect(storeOf(added, untitled).servers.get('s')?.name).toBe('bookshop')
  })

  it('removes servers with their open questions', () => {
    const request = {
      method: 'elicitation/create',
      params: { message: '?', requestedSchema: { type: 'object', properties: {} } },
    } as const
    const store = storeOf(
      added,
      { kind: 'question', server: 's', question: 'q', request },
      { kind: 'server-removed', server: 's' },
    )
    expect(store.servers.all()).toEqual([])
    expect(store.questions.open()).toEqual([])
  })

  it('puts a list together that arrives in pieces, and replaces it when it is read again', () => {
    const piece = (offset: number, ...names: string[]) =>
      ({ kind: 'list', server: 's', list: 'tools', items: names.map((name) => ({ name })), offset, total: 3 }) as const
    const store = storeOf(piece(0, 'a', 'b'), piece(2, 'c'))
    expect(store.lists.get('s', 'tools').items.map(({ name }) => name)).toEqual(['a', 'b', 'c'])
    expect(storeOf(piece(0, 'a', 'b'), piece(0, 'd')).lists.get('s', 'tools').items).toEqual([{ name: 'd' }])
  })

  it('follows an operation from its start to its end, with its messages', () => {
    const store = storeOf(
      added,
      { kind: 'operation', server: 's', operation: 'o', method: 'tools/call', params: { name: 'add' } },
      message('sent', { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'add' } }, { operation: 'o' }),
      { kind: 'progress', operation: 'o', progress: 1, total: 2 },
      message('received', { jsonrpc: '2.0', id: 1, result: {} }, { operation: 'o' }),
      { kind: 'operation-ended', operation: 'o', result: {}, durationMs: 3 },
    )
    const operation = store.operations.get('o')
    expect(operation).toMatchObject({ progress: { progress: 1 }, ended: { durationMs: 3 }, startedAt: 1_001 })
    expect(operation?.messages).toHaveLength(2)
  })

  it('gives the handshake of a compared connection to the comparison', () => {
    const start = {
      kind: 'operation',
      server: 's',
      operation: 'o',
      method: 'ping',
      params: {},
      revision: '2025-06-18',
      comparison: 'c',
    } as const
    const hello = message('sent', { jsonrpc: '2.0', id: 0, method: 'initialize' }, { comparedRevision: '2025-06-18' })
    const store = storeOf(start, hello, { kind: 'operation-ended', operation: 'o', durationMs: 1 }, hello)
    expect(store.operations.compared('c')[0]?.messages).toHaveLength(1)
  })

  it('matches responses with requests by direction and id, and measures their time', () => {
    const store = storeOf(
      message('sent', { jsonrpc: '2.0', id: 1, method: 'tools/list' }),
      message('received', { jsonrpc: '2.0', id: 1, method: 'roots/list' }),
      message('sent', { jsonrpc: '2.0', id: 1, result: { roots: [] } }),
      message('received', { jsonrpc: '2.0', id: 1, result: { tools: [] } }),
    )
    const rows = store.wire.rows.items
    expect(rows.map(methodOf)).toEqual(['tools/list', 'roots/list', 'roots/list', 'tools/list'])
    expect(rows.map(durationOf)).toEqual([undefined, undefined, 1, 3])
  })

  it('joins both events of an HTTP exchange', () => {
    const request = {
      kind: 'http',
      server: 's',
      http: 'h',
      method: 'GET',
      url: 'http://x',
      requestHeaders: {},
    } as const
    const { wire } = storeOf(request, { ...request, http: 'i' }, { ...request, status: 405, durationMs: 2 })
    expect(wire.exchanges.items).toEqual(['h', 'i'])
    expect(wire.exchange('h')).toMatchObject({ status: 405 })
  })

  it('reads the facts of a message that was shortened', () => {
    const store = storeOf(
      message('sent', { jsonrpc: '2.0', id: 'x', method: 'tools/call', params: { name: 'huge' } }),
      message('received', '{"jsonrpc":"2.0","id":"x","result":{"content":[{"type":"text","text":"xxx', {
        isShortened: true,
      }),
    )
    expect(store.wire.rows.items[1]).toMatchObject({ kind: 'response', id: 'x', request: { subject: 'huge' } })
  })

  it('counts the updates of a subscription, and forgets it when the server is gone', () => {
    const subscribe = [
      { kind: 'operation', server: 's', operation: 'o', method: 'resources/subscribe', params: { uri: 'a://b' } },
      { kind: 'operation-ended', operation: 'o', result: {}, durationMs: 1 },
      { kind: 'changed', server: 's', what: 'resource', uri: 'a://b' },
      { kind: 'changed', server: 's', what: 'resource', uri: 'a://other' },
    ] as const
    expect(storeOf(...subscribe).subscriptions.get('s', 'a://b')).toMatchObject({ updates: 1, lastUpdateAt: 1_002 })
    const closed = storeOf(...subscribe, { kind: 'server-state', server: 's', state: 'closed' })
    expect(closed.subscriptions.of('s')).toEqual([])
  })

  it('keeps the history of a task', () => {
    const task = { taskId: 't', createdAt: '', lastUpdatedAt: '', ttlMs: null }
    const store = storeOf(
      { kind: 'task', server: 's', task: { ...task, status: 'working', statusMessage: 'half' }, operation: 'o' },
      { kind: 'task', server: 's', task: { ...task, status: 'completed' } },
    )
    expect(store.tasks.of('s')).toMatchObject([
      { operation: 'o', history: [{ message: 'half' }, { status: 'completed' }] },
    ])
  })

  it('ignores the state of a task that arrives late', () => {
    const task = { taskId: 't', createdAt: '', ttlMs: null }
    const at = (second: number) => new Date(second * 1_000).toISOString()
    const state = (status: 'working' | 'input_required' | 'completed', second: number) =>
      ({ kind: 'task', server: 's', task: { ...task, status, lastUpdatedAt: at(second) } }) as const
    const statusOf = (...states: ReturnType<typeof state>[]) => storeOf(...states).tasks.of('s')[0]?.task.status
    expect(statusOf(state('completed', 2), state('working', 2))).toBe('completed')
    expect(statusOf(state('input_required', 2), state('working', 1))).toBe('input_required')
    expect(statusOf(state('input_required', 2), state('working', 2))).toBe('working')
  })

  it('applies an event once, though a stream that was interrupted repeats it', () => {
    const store = storeOf(added, message('sent', { jsonrpc: '2.0', method: 'x' }))
    for (const event of eventsOf([added, message('sent', {})])) store.apply(event)
    expect(store.wire.rows.items).toHaveLength(1)
  })

  it('notifies a component once per batch, and only of models that changed', () => {
    const store = new Store()
    let [wire, tasks] = [0, 0]
    effect(() => {
      store.wire.changes.watch()
      wire++
    })
    effect(() => {
      store.tasks.changes.watch()
      tasks++
    })
    for (const event of eventsOf([message('sent', {}), message('sent', {})])) store.apply(event)
    store.publish()
    store.publish()
    expect([wire, tasks]).toEqual([2, 1])
  })

  it('saves a transcript that gives the same store again', () => {
    const facts = [added, ready, message('sent', { jsonrpc: '2.0', id: 1, method: 'ping' })]
    const text = JSON.stringify(storeOf(...facts).log.toTranscript())
    const { events } = parseTranscript(text)
    expect(events).toEqual(eventsOf(facts))
    expect(() => parseTranscript('no')).toThrow('not JSON')
    expect(() => parseTranscript('{"format":"tenon-inspector","version":2,"events":[]}')).toThrow('Not a transcript')
  })

  it('applies a long queue in several turns', () => {
    const store = new Store()
    const turns: (() => void)[] = []
    const inlet = new Inlet(store, (turn) => turns.push(turn))
    inlet.push(eventsOf(Array.from({ length: 5_000 }, () => message('sent', { jsonrpc: '2.0', method: 'x' }))))
    expect(inlet.waiting).toBe(5_000)
    for (let turn = turns.shift(); turn; turn = turns.shift()) turn()
    expect(store.wire.rows.items).toHaveLength(5_000)
    expect(inlet.waiting).toBe(0)
  })
})

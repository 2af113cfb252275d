import { metaKeys } from 'tenon'
import type { Client } from 'tenon/client'
import type { ScriptedServer } from 'tenon/testing'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { connected } from '../era/support.ts'
import { errorOf } from '../kit/error-of.ts'
import { modern } from '../kit/revisions.ts'
import { scripted, scriptedClient } from '../kit/scripted-server.ts'
import { methodsOf, said } from '../kit/transcript.ts'
import { serverWith } from './cache-support.ts'

const reads: Record<string, (client: Client) => Promise<unknown>> = {
  'tools/list': async (client) => client.listTools(),
  'prompts/list': async (client) => client.listPrompts(),
  'resources/list': async (client) => client.listResources(),
  'resources/templates/list': async (client) => client.listResourceTemplates(),
  'resources/read': (client) => client.readResource('note://a'),
}

const asked = (server: ScriptedServer, method: string) => said(server.transcript, 'client', method).length

afterEach(() => {
  vi.useRealTimers()
})

describe('the cache of a client', () => {
  it.each(Object.keys(reads))('caches %s until its TTL expires [CACHE-008]', async (method) => {
    vi.useFakeTimers()
    const server = counting(1_000)
    const client = await scriptedClient(server)
    const read = reads[method]!
    const first = await read(client)
    await vi.advanceTimersByTimeAsync(999)
    expect(await read(client)).toEqual(first)
    expect(asked(server, method)).toBe(1)
    await vi.advanceTimersByTimeAsync(1)
    expect(await read(client)).not.toEqual(first)
    expect(asked(server, method)).toBe(2)
    await client.close()
  })

  it('counts the TTL from the arrival of the response [CACHE-008]', async () => {
    vi.useFakeTimers()
    const server = scripted(modern, { 'tools/list': () => undefined })
    const client = await scriptedClient(server)
    const listing = client.listTools().all()
    await vi.advanceTimersByTimeAsync(5_000)
    const { id } = said(server.transcript, 'client', 'tools/list')[0]!
    server.say({
      jsonrpc: '2.0',
      id,
      result: { resultType: 'complete', tools: [], ttlMs: 1_000, cacheScope: 'private' },
    })
    await listing
    await vi.advanceTimersByTimeAsync(900)
    await client.listTools()
    expect(asked(server, 'tools/list')).toBe(1)
    await client.close()
  })

  it.each([0, undefined, -1, -1_000, null, '60000', Number.NaN])(
    'caches nothing with a TTL of %j [CACHE-007, CACHE-009]',
    async (ttlMs) => {
      const server = counting(ttlMs)
      const client = await scriptedClient(server)
      for (const [method, read] of Object.entries(reads)) {
        await read(client)
        await read(client)
        expect(asked(server, method), method).toBe(2)
      }
      await client.close()
    },
  )

  it('distinguishes methods, URIs and cursors [CACHE-005]', async () => {
    const server = counting(60_000)
    const client = await scriptedClient(server)
    for (const read of Object.values(reads)) await read(client)
    const a = await client.readResource('note://a')
    const b = await client.readResource('note://b')
    expect(a.contents[0]).not.toEqual(b.contents[0])
    const first = await client.listTools()
    const second = await client.listTools({ cursor: 'page 2' })
    const other = await client.listTools({ cursor: 'page 3' })
    const empty = await client.listTools({ cursor: '' })
    const names = [first, second, other, empty].map(({ tools }) => tools[0]?.name)
    expect(new Set(names).size).toBe(4)
    expect(await client.readResource('note://a')).toEqual(a)
    expect(asked(server, 'resources/read')).toBe(2)
    expect(asked(server, 'tools/list')).toBe(4)
    await client.close()
  })

  it('caches no tool calls, prompts or other requests, whatever their hints', async () => {
    const server = counting(60_000)
    const client = await scriptedClient(server)
    await client.callTool('x')
    await client.callTool('x')
    await client.getPrompt('x')
    await client.getPrompt('x')
    await client.request('tools/list')
    await client.request('tools/list')
    expect(methodsOf(server.transcript, 'client').slice(1)).toEqual([
      'tools/call',
      'tools/call',
      'prompts/get',
      'prompts/get',
      'tools/list',
      'tools/list',
    ])
    await client.close()
  })

  it('can be disabled [CACHE-012]', async () => {
    const server = counting(60_000)
    const client = await scriptedClient(server, { cache: false })
    await client.listTools()
    await client.listTools()
    expect(asked(server, 'tools/list')).toBe(2)
    await client.close()
  })

  it('never sends a request by itself [CACHE-010]', async () => {
    vi.useFakeTimers()
    const server = counting(100)
    const client = await scriptedClient(server)
    for (const read of Object.values(reads)) await read(client)
    const before = server.transcript.lines.length
    await vi.advanceTimersByTimeAsync(3_600_000)
    expect(server.transcript.lines.length).toBe(before)
    await client.close()
  })

  it('caches public and private results [CACHE-013]', async () => {
    const server = counting(60_000, { cacheScope: 'public' })
    const client = await scriptedClient(server)
    await client.listTools()
    await client.listTools()
    expect(asked(server, 'tools/list')).toBe(1)
    await client.close()
  })

  const stale: [string, Record<string, unknown>, string[]][] = [
    ['notifications/tools/list_changed', {}, ['tools/list']],
    ['notifications/prompts/list_changed', {}, ['prompts/list']],
    ['notifications/resources/list_changed', {}, ['resources/list', 'resources/templates/list']],
    ['notifications/resources/updated', { uri: 'note://a' }, ['resources/read']],
    ['notifications/resources/updated', { uri: 'note://a/part' }, ['resources/read']],
    ['notifications/resources/updated', { uri: 'note://other' }, []],
  ]
  it.each(stale)('invalidates on %s %j exactly: %j [CACHE-015]', async (method, params, expected) => {
    const server = counting(60_000)
    const client = await scriptedClient(server)
    for (const read of Object.values(reads)) await read(client)
    server.say({ jsonrpc: '2.0', method, params: { ...params, _meta: { [metaKeys.subscriptionId]: 1 } } })
    await client.ping()
    for (const read of Object.values(reads)) await read(client)
    const again = Object.keys(reads).filter((name) => asked(server, name) === 2)
    expect(again).toEqual(expected)
    await client.close()
  })

  it('invalidates every page of a changed list [CACHE-015]', async () => {
    const server = counting(60_000)
    const client = await scriptedClient(server)
    await client.listTools()
    await client.listTools({ cursor: 'page 2' })
    server.say({ jsonrpc: '2.0', method: 'notifications/tools/list_changed', params: {} })
    await client.ping()
    await client.listTools()
    await client.listTools({ cursor: 'page 2' })
    expect(asked(server, 'tools/list')).toBe(4)
    await client.close()
  })

  it('does not cache a response that a change notification overtook [CACHE-015]', async () => {
    for (const order of ['answer first', 'change first']) {
      const server = scripted(modern, { 'tools/list': () => undefined })
      const client = await scriptedClient(server)
      const answer = (name: string) => {
        const { id } = said(server.transcript, 'client', 'tools/list').at(-1)!
        const tools = [{ name, inputSchema: { type: 'object' } }]
        server.say({
          jsonrpc: '2.0',
          id,
          result: { resultType: 'complete', tools, ttlMs: 60_000, cacheScope: 'private' },
        })
      }
      const change = () => server.say({ jsonrpc: '2.0', method: 'notifications/tools/list_changed', params: {} })
      const listing = client.listTools().all()
      await client.ping()
      if (order === 'change first') change()
      answer('old')
      if (order === 'answer first') change()
      await listing
      await client.ping()
      const again = client.listTools().all()
      await client.ping()
      expect(asked(server, 'tools/list'), order).toBe(2)
      answer('new')
      expect((await again)[0]?.name).toBe('new')
      await client.close()
    }
  })

  it('expires each page by its own TTL and refetches it by its cursor [CACHE-017, CACHE-018, CACHE-020]', async () => {
    vi.useFakeTimers()
    const server = scripted(modern, {
      'tools/list': ({ cursor }) => ({
        result: {
          resultType: 'complete',
          tools: [{ name: `t ${cursor ?? 1}`, inputSchema: { type: 'object' } }],
          ...(cursor === undefined ? { nextCursor: 'two', ttlMs: 10_000 } : { ttlMs: 100 }),
          cacheScope: 'private',
        },
      }),
    })
    const client = await scriptedClient(server)
    expect((await client.listTools().all()).map(({ name }) => name)).toEqual(['t 1', 't two'])
    await client.listTools().all()
    expect(asked(server, 'tools/list')).toBe(2)
    await vi.advanceTimersByTimeAsync(100)
    expect((await client.listTools().all()).map(({ name }) => name)).toEqual(['t 1', 't two'])
    const cursors = said(server.transcript, 'client', 'tools/list').map(({ params }) => params?.cursor)
    expect(cursors).toEqual([undefined, 'two', 'two'])
    await vi.advanceTimersByTimeAsync(10_000)
    await client.listTools().all()
    expect(said(server.transcript, 'client', 'tools/list').map(({ params }) => params?.cursor)).toEqual([
      undefined,
      'two',
      'two',
      undefined,
      'two',
    ])
    await client.close()
  })

  it('starts over when a cached cursor is no longer valid [CACHE-021]', async () => {
    vi.useFakeTimers()
    let generation = 1
    const server = scripted(modern, {
      'tools/list': ({ cursor }) => {
        const own = `cursor ${generation}`
        if (cursor !== undefined && cursor !== own)
          return { error: { code: -32602, message: 'params.cursor is not one of ours' } }
        const tools = [{ name: `${generation}/${cursor === undefined ? 1 : 2}`, inputSchema: { type: 'object' } }]
        const page = cursor === undefined ? { nextCursor: own, ttlMs: 60_000 } : { ttlMs: 10 }
        return { result: { resultType: 'complete', tools, ...page, cacheScope: 'private' } }
      },
    })
    const client = await scriptedClient(server)
    expect((await client.listTools().all()).map(({ name }) => name)).toEqual(['1/1', '1/2'])
    generation = 2
    await vi.advanceTimersByTimeAsync(20)
    // The cached first page leads to a cursor that the server no longer knows.
    const names = client
      .listTools()
      .all()
      .then((tools) => tools.map(({ name }) => name))
    // Whatever this iteration returns, the next one starts over.
    await names.catch(() => undefined)
    expect((await client.listTools().all()).map(({ name }) => name)).toEqual(['2/1', '2/2'])
    await client.close()
  })

  it('returns copies that the caller can modify', async () => {
    const server = counting(60_000)
    const client = await scriptedClient(server)
    const first = await client.readResource('note://a')
    const before = structuredClone(first)
    first.contents.length = 0
    expect(await client.readResource('note://a')).toEqual(before)
    await client.close()
  })

  it('is not shared between clients', async () => {
    const server = serverWith({ cache: { ttlMs: 60_000 } })
    let lists = 0
    server.use(({ method }, next) => {
      if (method === 'tools/list') lists++
      return next()
    })
    const one = await connected(server)
    const two = await connected(server)
    await one.listTools()
    await one.listTools()
    await two.listTools()
    expect(lists).toBe(2)
    await one.close()
    await two.close()
  })

  it('does not cache errors', async () => {
    let isFailing = true
    const server = scripted(modern, {
      'tools/list': () =>
        isFailing
          ? { error: { code: -32603, message: 'not now' } }
          : { result: { resultType: 'complete', tools: [], ttlMs: 60_000, cacheScope: 'private' } },
    })
    const client = await scriptedClient(server)
    expect((await errorOf(client.listTools())).code).toBe('peer')
    isFailing = false
    expect((await client.listTools()).tools).toEqual([])
    await client.close()
  })
})

/** Creates a server that numbers its responses and sets their TTL. */
function counting(ttlMs: unknown, extra: Record<string, unknown> = {}) {
  let count = 0
  const hints = { resultType: 'complete', ...(ttlMs !== undefined && { ttlMs }), cacheScope: 'private', ...extra }
  const list = (member: string) => (params: Record<string, unknown>) => ({
    result: {
      ...hints,
      [member]: [
        {
          name: `n${++count}`,
          uri: `note://${count}`,
          uriTemplate: `note://${count}/{x}`,
          inputSchema: { type: 'object' },
        },
      ],
      ...(params.cursor === undefined && { nextCursor: 'page 2' }),
    },
  })
  return scripted(modern, {
    'tools/list': list('tools'),
    'prompts/list': list('prompts'),
    'resources/list': list('resources'),
    'resources/templates/list': list('resourceTemplates'),
    'resources/read': ({ uri }) => ({ result: { ...hints, contents: [{ uri, text: `${++count}` }] } }),
    'tools/call': () => ({ result: { ...hints, content: [{ type: 'text', text: `${++count}` }] } }),
    'prompts/get': () => ({ result: { ...hints, messages: [] } }),
  })
}

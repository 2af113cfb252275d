import { metaKeys } from 'tenon'
import type { Client } from 'tenon/client'
import { McpServer, ResourceTemplate, Server } from 'tenon/server'
import { ScriptedClient, type ScriptedServer } from 'tenon/testing'
import { afterEach, describe, expect, it, vi } from 'vitest'
import {
  connected,
  errorOf,
  handshakes,
  methodsOf,
  modern,
  type Said,
  said,
  scripted,
  scriptedClient,
} from '../era/support.ts'
import { everyWire } from '../kit/every-wire.ts'

afterEach(() => {
  vi.useRealTimers()
})

const cacheable: [string, Record<string, unknown>][] = [
  ['server/discover', {}],
  ['tools/list', {}],
  ['prompts/list', {}],
  ['resources/list', {}],
  ['resources/templates/list', {}],
  ['resources/read', { uri: 'note://a' }],
  ['resources/read', { uri: 'note://b/x' }],
]

function serverWith(options = {}) {
  const server = new McpServer({ name: 's', version: '1' }, options)
  for (const name of ['a', 'b', 'c']) {
    server.registerTool(name, {}, () => name)
    server.registerPrompt(name, {}, () => name)
    server.registerResource(name, `note://${name}`, {}, () => name)
    server.registerResource(`t-${name}`, new ResourceTemplate(`note://${name}/{id}`, {}), {}, () => name)
  }
  return server
}

describe('caching hints of a server', () => {
  it.each([
    undefined,
    { ttlMs: 5_000 },
    { ttlMs: 1, cacheScope: 'public' as const },
    { cacheScope: 'public' as const },
  ])('are in every result that has them, with %j set [CACHE-001, CACHE-003, CACHE-004, CACHE-016]', async (cache) => {
    const still = { listChanged: false }
    for (const capabilities of [{}, { tools: still, prompts: still, resources: still }]) {
      await using caller = await ScriptedClient.connect(serverWith({ capabilities, ...(cache && { cache }) }))
      for (const [method, params] of cacheable) {
        const { result } = (await caller.request(method, params)) as Said
        expect(result?.ttlMs, method).toBe(cache?.ttlMs ?? 0)
        expect(result?.cacheScope, method).toBe(cache?.cacheScope ?? 'private')
      }
    }
  })

  it('can be set for one resource, or come with what was read [CACHE-001]', async () => {
    const server = new McpServer({ name: 's', version: '1' }, { cache: { ttlMs: 100 } })
    server.registerResource('own', 'note://own', { ttlMs: 7, cacheScope: 'public' }, () => 'x')
    server.registerResource('told', 'note://told', {}, (uri) => ({
      contents: [{ uri: uri.href, text: 'x' }],
      ttlMs: 9,
    }))
    await using caller = await ScriptedClient.connect(server)
    const own = (await caller.request('resources/read', { uri: 'note://own' })) as Said
    expect(own.result).toMatchObject({ ttlMs: 7, cacheScope: 'public' })
    const told = (await caller.request('resources/read', { uri: 'note://told' })) as Said
    expect(told.result).toMatchObject({ ttlMs: 9, cacheScope: 'private' })
  })

  it.each([-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '5' as never])(
    'cannot be %s milliseconds: that is refused, or made a whole number of at least 0 [CACHE-003]',
    async (ttlMs) => {
      let server: McpServer
      try {
        server = serverWith({ cache: { ttlMs } })
        server.registerResource('own', 'note://own', { ttlMs }, () => 'x')
      } catch (error) {
        expect(error).toBeInstanceOf(TypeError)
        return
      }
      await using caller = await ScriptedClient.connect(server)
      for (const [method, params] of [...cacheable, ['resources/read', { uri: 'note://own' }] as const]) {
        const { result } = (await caller.request(method, params)) as Said
        expect(Number.isInteger(result?.ttlMs) && (result?.ttlMs as number) >= 0, `${method}: ${result?.ttlMs}`).toBe(
          true,
        )
      }
    },
  )

  it('have no scope but public and private [CACHE-004]', async () => {
    let server: McpServer
    try {
      server = serverWith({ cache: { cacheScope: 'everyone' as never } })
    } catch (error) {
      expect(error).toBeInstanceOf(TypeError)
      return
    }
    await using caller = await ScriptedClient.connect(server)
    const { result } = (await caller.request('tools/list')) as Said
    expect(['public', 'private']).toContain(result?.cacheScope)
  })

  it('are there for a server of bare handlers too, which may not know of them [CACHE-001]', async () => {
    const server = new Server({ name: 's', version: '1' }, { capabilities: { tools: {}, resources: {} } })
    server.setRequestHandler('tools/list', () => ({ tools: [] }))
    server.setRequestHandler('resources/read', ({ uri }) => ({ contents: [{ uri, text: 'x' }] }))
    await using caller = await ScriptedClient.connect(server)
    for (const [method, params] of [
      ['tools/list', {}],
      ['resources/read', { uri: 'note://a' }],
    ] as const) {
      const { result } = (await caller.request(method, params)) as Said
      expect(result, method).toMatchObject({ ttlMs: 0, cacheScope: 'private' })
    }
  })

  it('have one scope over all pages of a list [CACHE-019]', async () => {
    for (const cacheScope of ['public', 'private'] as const) {
      await using caller = await ScriptedClient.connect(serverWith({ pageSize: 1, cache: { ttlMs: 50, cacheScope } }))
      for (const method of ['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list']) {
        let pages = 0
        let cursor: unknown
        do {
          const { result } = (await caller.request(method, cursor === undefined ? {} : { cursor })) as Said
          expect(result?.cacheScope, method).toBe(cacheScope)
          cursor = result?.nextCursor
          pages++
        } while (cursor !== undefined)
        expect(pages).toBe(3)
      }
    }
  })

  it('may differ between pages in their time [CACHE-018]', async () => {
    const server = new Server({ name: 's', version: '1' }, { capabilities: { tools: {} } })
    server.setRequestHandler('tools/list', ({ cursor }) =>
      cursor === undefined
        ? { tools: [], nextCursor: '2', ttlMs: 10, cacheScope: 'private' }
        : { tools: [], ttlMs: 99, cacheScope: 'private' },
    )
    await using caller = await ScriptedClient.connect(server)
    expect(((await caller.request('tools/list')) as Said).result?.ttlMs).toBe(10)
    expect(((await caller.request('tools/list', { cursor: '2' })) as Said).result?.ttlMs).toBe(99)
  })

  it('open no door: what a caller may not see it does not see, public or not [CACHE-022]', async () => {
    for (const cacheScope of ['public', 'private'] as const) {
      const server = serverWith({ cache: { ttlMs: 60_000, cacheScope } })
      // Access is decided by the application, here for each request; neither scope gets round it.
      server.use(({ method, ctx }, next) => {
        if (method === 'resources/read' && ctx.meta['com.example/key'] !== 'right') throw new Error('not for you')
        return next()
      })
      const quiet = vi.spyOn(console, 'error').mockImplementation(() => {})
      await using caller = await ScriptedClient.connect(server)
      const read = (key: string) =>
        caller.request('resources/read', { uri: 'note://a', _meta: { 'com.example/key': key } }) as Promise<Said>
      expect((await read('right')).result?.cacheScope).toBe(cacheScope)
      expect((await read('wrong')).error).toBeDefined()
      expect((await read('right')).result).toBeDefined()
      quiet.mockRestore()
    }
  })

  everyWire(
    'are not sent to revisions that do not know them',
    async (wire) => {
      await using pair = await wire.connect(serverWith({ cache: { ttlMs: 1_000, cacheScope: 'public' } }))
      await pair.client.listTools()
      await pair.client.listPrompts()
      await pair.client.listResources()
      await pair.client.listResourceTemplates()
      await pair.client.readResource('note://a')
      expect(pair.transcript.toString()).not.toContain('ttlMs')
      expect(pair.transcript.toString()).not.toContain('cacheScope')
    },
    { revisions: handshakes },
  )
})

/** A server that counts: each answer has a number of its own, and the time that it may be kept. */
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

const reads: Record<string, (client: Client) => Promise<unknown>> = {
  'tools/list': async (client) => client.listTools(),
  'prompts/list': async (client) => client.listPrompts(),
  'resources/list': async (client) => client.listResources(),
  'resources/templates/list': async (client) => client.listResourceTemplates(),
  'resources/read': (client) => client.readResource('note://a'),
}

const asked = (server: ScriptedServer, method: string) => said(server.transcript, 'client', method).length

describe('the cache of a client', () => {
  it.each(Object.keys(reads))(
    'keeps %s for as long as the server says, then asks again [CACHE-008]',
    async (method) => {
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
    },
  )

  it('counts from the moment the answer came [CACHE-008]', async () => {
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
    'keeps nothing with a time of %j [CACHE-007, CACHE-009]',
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

  it('tells apart methods, URIs and cursors [CACHE-005]', async () => {
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

  it('keeps no calls, prompts or other requests, whatever they say', async () => {
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

  it('can be turned off, so that everything is fetched early [CACHE-012]', async () => {
    const server = counting(60_000)
    const client = await scriptedClient(server, { cache: false })
    await client.listTools()
    await client.listTools()
    expect(asked(server, 'tools/list')).toBe(2)
    await client.close()
  })

  it('never asks by itself: time alone sends nothing [CACHE-010]', async () => {
    vi.useFakeTimers()
    const server = counting(100)
    const client = await scriptedClient(server)
    for (const read of Object.values(reads)) await read(client)
    const before = server.transcript.lines.length
    await vi.advanceTimersByTimeAsync(3_600_000)
    expect(server.transcript.lines.length).toBe(before)
    await client.close()
  })

  it('keeps public results as well as private ones [CACHE-013]', async () => {
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
  it.each(stale)('forgets with %s %j exactly: %j [CACHE-015]', async (method, params, expected) => {
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

  it('forgets every page of a list that changed [CACHE-015]', async () => {
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

  it('does not keep an answer that a change has overtaken, right behind it or before it [CACHE-015]', async () => {
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

  it('gives each page its own clock, and fetches an expired one by its cursor [CACHE-017, CACHE-018, CACHE-020]', async () => {
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

  it('starts over when a cursor it kept is no longer valid [CACHE-021]', async () => {
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
    // The first page is still kept and leads to a cursor that the server no longer knows.
    const names = client
      .listTools()
      .all()
      .then((tools) => tools.map(({ name }) => name))
    // Whatever this one gives, the next begins anew.
    await names.catch(() => undefined)
    expect((await client.listTools().all()).map(({ name }) => name)).toEqual(['2/1', '2/2'])
    await client.close()
  })

  it('cannot be spoiled by who reads from it', async () => {
    const server = counting(60_000)
    const client = await scriptedClient(server)
    const first = await client.readResource('note://a')
    const before = structuredClone(first)
    first.contents.length = 0
    expect(await client.readResource('note://a')).toEqual(before)
    await client.close()
  })

  it('is one per client: another asks for itself', async () => {
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

  it('keeps no failures', async () => {
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

import { McpServer, Server } from 'tenon/server'
import { ScriptedClient } from 'tenon/testing'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { everyWire } from '../kit/every-wire.ts'
import { handshakeRevisions } from '../kit/revisions.ts'
import type { Said } from '../kit/transcript.ts'
import { serverWith } from './cache-support.ts'

const cacheable: [string, Record<string, unknown>][] = [
  ['server/discover', {}],
  ['tools/list', {}],
  ['prompts/list', {}],
  ['resources/list', {}],
  ['resources/templates/list', {}],
  ['resources/read', { uri: 'note://a' }],
  ['resources/read', { uri: 'note://b/x' }],
]

afterEach(() => {
  vi.useRealTimers()
})

describe('caching hints of a server', () => {
  it.each([
    undefined,
    { ttlMs: 5_000 },
    { ttlMs: 1, cacheScope: 'public' as const },
    { cacheScope: 'public' as const },
  ])(
    'adds caching hints to every cacheable result, with %j set [CACHE-001, CACHE-003, CACHE-004, CACHE-016]',
    async (cache) => {
      const still = { listChanged: false }
      for (const capabilities of [{}, { tools: still, prompts: still, resources: still }]) {
        await using caller = await ScriptedClient.connect(serverWith({ capabilities, ...(cache && { cache }) }))
        for (const [method, params] of cacheable) {
          const { result } = (await caller.request(method, params)) as Said
          expect(result?.ttlMs, method).toBe(cache?.ttlMs ?? 0)
          expect(result?.cacheScope, method).toBe(cache?.cacheScope ?? 'private')
        }
      }
    },
  )

  it('sets caching hints for one resource, or from the read callback [CACHE-001]', async () => {
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
    'refuses %s milliseconds, or rounds them to a whole number of at least 0 [CACHE-003]',
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

  it('accepts only the scopes public and private [CACHE-004]', async () => {
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

  it('adds caching hints to results of low-level handlers [CACHE-001]', async () => {
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

  it('uses one scope for all pages of a list [CACHE-019]', async () => {
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

  it('allows a different TTL per page [CACHE-018]', async () => {
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

  it('never reveals results to callers without permission, public or not [CACHE-022]', async () => {
    for (const cacheScope of ['public', 'private'] as const) {
      const server = serverWith({ cache: { ttlMs: 60_000, cacheScope } })
      // The application decides about access per request; neither scope bypasses that.
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
    'sends no caching hints on revisions without them',
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
    { revisions: handshakeRevisions },
  )
})

import { ErrorCode, ProtocolError } from 'tenon/server'
import { describe, expect, it } from 'vitest'
import { Peer } from '../../../kit/http-peer.ts'
import { eachRevision, modern, sessionRevisions } from '../../../kit/revisions.ts'
import { serve } from '../../../kit/serve-http.ts'
import { workshop } from '../../../kit/workshop.ts'

const cacheable = [
  ['server/discover', {}],
  ['tools/list', {}],
  ['prompts/list', {}],
  ['resources/list', {}],
  ['resources/templates/list', {}],
  ['resources/read', { uri: 'note://a' }],
] as const

describe(`${modern}: caching hints over HTTP`, () => {
  for (const [method, params] of cacheable) {
    it(`${method} returns a TTL and a cache scope [CACHE-001, CACHE-003, CACHE-004]`, async () => {
      await using http = await serve(workshop())
      await using peer = new Peer(http.url, modern)
      const { result } = await (await peer.request(method, params)).json()
      expect(Number.isInteger(result?.ttlMs) && Number(result?.ttlMs) >= 0).toBe(true)
      expect(['public', 'private']).toContain(result?.cacheScope)
    })
  }

  it('all pages of a list have the same scope [CACHE-019]', async () => {
    const server = workshop({ pageSize: 1, cache: { ttlMs: 60_000, cacheScope: 'public' } })
    await using http = await serve(server)
    await using peer = new Peer(http.url, modern)
    const scopes: unknown[] = []
    let cursor: unknown
    do {
      const { result } = await (await peer.request('tools/list', cursor === undefined ? {} : { cursor })).json()
      scopes.push(result?.cacheScope)
      cursor = result?.nextCursor
    } while (cursor !== undefined)
    expect(scopes.length).toBeGreaterThan(1)
    expect(new Set(scopes)).toEqual(new Set(['public']))
  })

  it('access is decided by the caller, not by the cache scope of a result [CACHE-022]', async () => {
    const server = workshop({ cache: { ttlMs: 60_000, cacheScope: 'public' } })
    server.use(async ({ method, params, ctx }, next) => {
      const isAlice = ctx.request?.principal === 'alice'
      if (method === 'tools/call' && !isAlice) throw new ProtocolError(ErrorCode.InvalidParams, 'Unknown tool')
      const result = await next(params)
      return method === 'tools/list' && !isAlice ? { ...result, tools: [] } : result
    })
    await using http = await serve(server, { principal: (request) => request.header('x-user') })
    await using alice = new Peer(http.url, modern, { headers: { 'x-user': 'alice' } })
    await using bob = new Peer(http.url, modern, { headers: { 'x-user': 'bob' } })
    for (const [peer, sees] of [
      [alice, true],
      [bob, false],
      [alice, true],
      [bob, false],
    ] as const) {
      const { result } = await (await peer.request('tools/list')).json()
      const isShown = (result?.tools as unknown[] | undefined)?.length !== 0
      expect([result?.cacheScope, isShown]).toEqual(['public', sees])
      expect((await (await peer.call('echo')).json()).error === undefined).toBe(sees)
    }
  })

  eachRevision(sessionRevisions, 'sessions get no caching hints', async (revision) => {
    await using http = await serve(workshop())
    await using peer = await Peer.open(http.url, revision)
    for (const [method, params] of cacheable.slice(1)) {
      const { result } = await (await peer.request(method, params)).json()
      expect([result?.ttlMs, result?.cacheScope]).toEqual([undefined, undefined])
    }
  })
})

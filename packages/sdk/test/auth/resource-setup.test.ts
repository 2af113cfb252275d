import { createMcpHandler, serveHttp } from 'tenon/server'
import { describe, expect, it } from 'vitest'
import { jwtVerifier } from '../../src/auth/resource/jwt-verifier.ts'
import type { AuthOptions } from '../../src/auth/resource/options.ts'
import { overFetch, overHttp } from '../kit/http-client.ts'
import { Peer } from '../kit/http-peer.ts'
import { modern } from '../kit/revisions.ts'
import { SseClient } from '../kit/sse-peer.ts'
import { workshop } from '../kit/workshop.ts'

import { challengeOf, guarded, Issuer, now, protectedServer, withToken } from './resource-support.ts'

const wellKnown = '/.well-known/oauth-protected-resource'

describe('auth on the HTTP+SSE transport', () => {
  it('answers 401 without a token on both endpoints [AUTH-006]', async () => {
    await using other = await protectedServer({ sse: true })
    for (const [method, path] of [
      ['GET', '/sse'],
      ['POST', '/messages'],
    ] as const) {
      const answer = await overHttp(other.url)({ method, path, headers: { accept: 'text/event-stream' } })
      expect(answer.status).toBe(401)
      expect(challengeOf(answer).resource_metadata).toBe(`${other.origin}${wellKnown}/sse`)
    }
    const metadata = await overHttp(other.url)({ method: 'GET', path: `${wellKnown}/sse` })
    expect(await metadata.json()).toMatchObject({ resource: `${other.origin}/sse` })
  })

  it('accepts tokens for its own URL, and posts only of the user who opened the stream', async () => {
    await using other = await protectedServer({ sse: true })
    const headers = async (sub: string) => {
      const token = await other.token({ sub, aud: `${other.origin}/sse` })
      return { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    }
    await using ann = await SseClient.open(other.url, { headers: await headers('ann') })
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })
    const post = async (sub: string) => overHttp(other.url)({ path: ann.endpoint, body, headers: await headers(sub) })
    expect((await post('bob')).status).toBe(404)
    expect((await post('ann')).status).toBe(202)
  })
})

describe('handlers on the HTTP+SSE transport', () => {
  it('see the user who posted, and can require more scopes', async () => {
    await using other = await protectedServer({ sse: true })
    const authorization = `Bearer ${await other.token({ aud: `${other.origin}/sse`, scope: 'files:read' })}`
    await using client = await SseClient.open(other.url, { headers: { authorization } })
    await client.initialize()
    expect(JSON.parse((await client.textOf('who'))!)).toMatchObject({ subject: 'ann', scopes: ['files:read'] })
    const { error } = await client.request(9, 'tools/call', { name: 'delete', arguments: {} })
    expect(error?.data).toMatchObject({ error: 'insufficient_scope' })
  })
})

describe('auth with createMcpHandler', () => {
  const resource = 'https://mcp.example.com/mcp'

  it('checks tokens and serves metadata over fetch [AUTH-006] [AUTH-013] [AUTH-027]', async () => {
    await using issuer = await Issuer.start()
    const verify = jwtVerifier({ issuer: issuer.url })
    const handler = createMcpHandler(guarded(), {
      allowedHosts: ['mcp.example.com'],
      auth: { verify, resource, authorizationServers: [issuer.url] },
    })
    const way = overFetch(handler, 'https://mcp.example.com')
    await using without = new Peer(way, modern)
    expect(challengeOf(await without.call('who')).resource_metadata).toBe(`https://mcp.example.com${wellKnown}/mcp`)
    await using peer = new Peer(way, modern, withToken(await issuer.token({ aud: resource })))
    expect(JSON.parse((await peer.textOf('who'))!)).toMatchObject({ subject: 'ann' })
    const metadata = await way({ method: 'GET', path: `${wellKnown}/mcp` })
    expect(await metadata.json()).toMatchObject({ resource })
    const token = await issuer.token({ aud: resource })
    const joined = await way({ headers: { authorization: `Bearer ${token}, Bearer ${token}` } })
    expect(joined.status).toBe(400)
  })

  it('requires auth.resource at construction', () => {
    const auth = { verify: () => undefined, authorizationServers: ['https://as.example'] }
    expect(() => createMcpHandler(workshop(), { auth })).toThrow('auth.resource is required')
  })
})

describe('invalid `auth` options', () => {
  const good: AuthOptions = { verify: () => undefined, authorizationServers: ['https://as.example'] }

  it.each([
    [{ ...good, authorizationServers: [] }, 'auth.authorizationServers'],
    [{ ...good, authorizationServers: ['as.example'] }, 'auth.authorizationServers'],
    [{ ...good, resource: 'mcp.example.com' }, 'auth.resource'],
    [{ ...good, resource: 'https://mcp.example.com/#a' }, 'fragment'],
    [{ ...good, requiredScopes: ['a b'] }, 'auth.requiredScopes'],
    [{ ...good, requiredScopes: ['a"b'] }, 'auth.requiredScopes'],
    [{ ...good, verify: undefined as never }, 'auth.verify'],
  ])('reports the invalid option before it serves: %j [AUTH-028]', async (auth, message) => {
    await expect(serveHttp(workshop(), { port: 0, exit: false, auth })).rejects.toThrow(message)
  })

  it.each([{ host: '0.0.0.0' }, { allowedHosts: ['mcp.example.com'] }, { allowAnyHost: true }])(
    'requires auth.resource on a server reachable from elsewhere (%j)',
    async (options) => {
      const serving = serveHttp(workshop(), { port: 0, exit: false, auth: good, ...options })
      await expect(serving).rejects.toThrow('auth.resource is required')
    },
  )

  it('reports a verifier whose scopes are not an array', async () => {
    const errors: unknown[] = []
    const server = workshop({ onError: (error) => void errors.push(error) })
    const verify = () => ({ clientId: 'c', scopes: 'mcp' as never })
    await using other = await protectedServer({ server, auth: { verify } })
    await using peer = new Peer(other.url, modern, withToken('x'))
    expect((await peer.call('echo')).status).toBe(500)
    expect(String(errors[0])).toContain('auth.verify must return `scopes`')
  })
})

describe('failing token checks', () => {
  it('answers 503 and reports the error when the verifier fails', async () => {
    const errors: unknown[] = []
    const server = workshop({ onError: (error) => void errors.push(error) })
    const verify = () => Promise.reject(new Error('database is down'))
    await using other = await protectedServer({ server, auth: { verify } })
    await using peer = new Peer(other.url, modern, withToken('x'))
    const answer = await peer.call('echo')
    expect(answer.status).toBe(503)
    expect(answer.headers['retry-after']).toBeDefined()
    expect(answer.headers['www-authenticate']).toBeUndefined()
    expect(await answer.text()).not.toContain('database')
    expect(errors).toEqual([new Error('database is down')])
  })

  it.each([{ errorCode: 'invalid_token' }, { code: 'ERR_JWT_EXPIRED' }, { code: 'ERR_JWS_INVALID' }])(
    'answers 401 to the verifier error %j [AUTH-006]',
    async (details) => {
      const verify = () => Promise.reject(Object.assign(new Error('no'), details))
      await using other = await protectedServer({ auth: { verify } })
      await using peer = new Peer(other.url, modern, withToken('x'))
      expect((await peer.call('echo')).status).toBe(401)
    },
  )

  it('checks expiry and resource for a verifier that does not [AUTH-006] [AUTH-013]', async () => {
    const found: Record<string, object> = {
      good: { scopes: [], clientId: 'c', expiresAt: now() + 60 },
      old: { scopes: [], clientId: 'c', expiresAt: now() - 1 },
      odd: { scopes: [], clientId: 'c', expiresAt: Number.NaN },
      foreign: { scopes: [], clientId: 'c', resource: new URL('https://b.example/mcp') },
    }
    await using other = await protectedServer({ auth: { verify: (token) => found[token] as never } })
    for (const [token, status] of [
      ['good', 200],
      ['old', 401],
      ['odd', 401],
      ['foreign', 401],
    ] as const) {
      await using peer = new Peer(other.url, modern, withToken(token))
      expect((await peer.call('echo')).status).toBe(status)
    }
  })
})

describe('servers without auth', () => {
  it('serves callers without a token and reports no identity [AUTH-002]', async () => {
    await using serving = await serveHttp(guarded(), { port: 0, exit: false, graceMs: 100 })
    await using peer = new Peer(serving.url, modern, withToken('whatever'))
    expect(await peer.textOf('who')).toBe('null')
    expect((await (await peer.call('delete')).response()).error?.data).toMatchObject({ error: 'insufficient_scope' })
  })
})

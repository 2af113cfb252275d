import { serveHttp } from 'tenon/server'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { overHttp } from '../kit/http-client.ts'
import { Peer } from '../kit/http-peer.ts'
import { modern } from '../kit/revisions.ts'
import { workshop } from '../kit/workshop.ts'

import { challengeOf, protectedServer } from './resource-support.ts'

const wellKnown = '/.well-known/oauth-protected-resource'

let place: Awaited<ReturnType<typeof protectedServer>>
beforeEach(async () => {
  place = await protectedServer({ auth: { requiredScopes: ['mcp'], impliedScopes: { admin: ['mcp', 'files'] } } })
})
afterEach(() => place[Symbol.asyncDispose]())

describe('protected resource metadata', () => {
  it.each([`${wellKnown}/mcp`, wellKnown])(
    'serves resource metadata at %s without a token [AUTH-027] [AUTH-028] [AUTH-031]',
    async (path) => {
      const answer = await overHttp(place.url)({ method: 'GET', path, headers: { origin: 'https://anywhere.example' } })
      expect(answer.status).toBe(200)
      expect(answer.headers['access-control-allow-origin']).toBe('*')
      expect(answer.headers['cache-control']).toMatch(/public, max-age=\d+/)
      expect(await answer.json()).toEqual({
        resource: place.url,
        authorization_servers: [place.issuer.url],
        scopes_supported: ['mcp'],
        bearer_methods_supported: ['header'],
      })
    },
  )

  it('names the server by the loopback name that the client used', async () => {
    const host = `localhost:${place.serving.port}`
    const answer = await overHttp(place.url)({ method: 'GET', path: wellKnown, headers: { host } })
    expect(await answer.json()).toMatchObject({ resource: `http://${host}/mcp` })
    const other = await overHttp(place.url)({ method: 'GET', path: wellKnown, headers: { host: 'evil.example' } })
    expect(await other.json()).toMatchObject({ resource: place.url })
  })

  it('allows CORS preflight and read requests only', async () => {
    const headers = { origin: 'https://a.example', 'access-control-request-headers': 'mcp-protocol-version' }
    const asked = await overHttp(place.url)({ method: 'OPTIONS', path: wellKnown, headers })
    expect(asked.status).toBe(204)
    expect(asked.headers['access-control-allow-headers']).toBe('mcp-protocol-version')
    expect((await overHttp(place.url)({ method: 'POST', path: wellKnown })).status).toBe(405)
  })

  it('contains everything configured, and never offline_access [AUTH-101]', async () => {
    await using other = await protectedServer({
      auth: {
        resource: 'https://mcp.example.com',
        requiredScopes: ['mcp', 'offline_access'],
        scopesSupported: ['mcp', 'files:read', 'offline_access'],
        resourceName: 'Files',
        resourceDocumentation: 'https://docs.example.com/',
      },
    })
    const answer = await overHttp(other.url)({ method: 'GET', path: wellKnown })
    expect(await answer.json()).toMatchObject({
      resource: 'https://mcp.example.com',
      scopes_supported: ['mcp', 'files:read'],
      resource_name: 'Files',
      resource_documentation: 'https://docs.example.com/',
    })
    await using peer = new Peer(other.url, modern)
    const refused = await peer.call('who')
    expect(challengeOf(refused)).toEqual({ scope: 'mcp', resource_metadata: `https://mcp.example.com${wellKnown}` })
  })

  it('serves resource metadata at the public path behind a proxy', async () => {
    await using other = await protectedServer({ auth: { resource: 'https://mcp.example.com/v1/mcp' } })
    for (const path of [`${wellKnown}/v1/mcp`, `${wellKnown}/mcp`, wellKnown]) {
      const answer = await overHttp(other.url)({ method: 'GET', path })
      expect(await answer.json()).toMatchObject({ resource: 'https://mcp.example.com/v1/mcp' })
    }
    expect((await overHttp(other.url)({ method: 'GET', path: `${wellKnown}/else` })).status).toBe(404)
  })

  it('serves no resource metadata without auth', async () => {
    await using serving = await serveHttp(workshop(), { port: 0, exit: false })
    expect((await overHttp(serving.url)({ method: 'GET', path: wellKnown })).status).toBe(404)
  })
})

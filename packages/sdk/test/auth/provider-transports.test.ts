import type { OAuthClientProvider, ProviderTokens } from 'tenon/auth/client'
import { Client, SSEClientTransport, StreamableHTTPClientTransport } from 'tenon/client'
import { describe, expect, it, onTestFinished } from 'vitest'
import { authErrorIn, followRedirect, protectedServer } from './protected-server.ts'
import { Keeper } from './provider-support.ts'

const transports = [
  ['StreamableHTTPClientTransport', StreamableHTTPClientTransport, ''],
  ['SSEClientTransport', SSEClientTransport, '/sse'],
] as const

/** A `fetch` that notes where it goes. */
function noting() {
  const asked: string[] = []
  const fetchIt = (url: string, init: object) => {
    asked.push(url)
    return fetch(url, init as RequestInit)
  }
  return { asked, fetch: fetchIt }
}

function newClient(): Client {
  const client = new Client({ name: 'test', version: '1.0.0' })
  onTestFinished(() => client.close())
  return client
}

describe.each(transports)('authProvider of %s', (_name, Transport, path) => {
  async function start() {
    const vault = await protectedServer({ refreshTokens: 'always' }, {}, { sse: true })
    onTestFinished(() => vault[Symbol.asyncDispose]())
    return { ...vault, url: path === '' ? vault.url : new URL(path, vault.url).href }
  }

  it('redirects the user, redeems the code and connects', async () => {
    const vault = await start()
    const authProvider = new Keeper()
    const first = new Transport(vault.url, { authProvider })
    const error = await newClient()
      .connect(first)
      .catch((reason) => reason)
    expect(authErrorIn(error)?.message).toMatch(/user was sent to .* finishAuth/)
    await first.finishAuth((await followRedirect(authProvider.pages[0]!)).searchParams)
    const client = newClient()
    await client.connect(new Transport(vault.url, { authProvider }))
    expect((await client.callTool('whoami')).text).toContain('alice')
    expect(authProvider.pages).toHaveLength(1)
  })

  it('uses `fetch` for every OAuth request, refreshes included', async () => {
    const vault = await start()
    const authProvider = new Keeper()
    const { asked, fetch } = noting()
    const first = new Transport(vault.url, { authProvider, fetch })
    await newClient()
      .connect(first)
      .catch(() => {})
    await first.finishAuth((await followRedirect(authProvider.pages[0]!)).searchParams)
    authProvider.held = { ...authProvider.held!, access_token: 'outdated' }
    const client = newClient()
    await client.connect(new Transport(vault.url, { authProvider, fetch }))
    expect((await client.callTool('whoami')).text).toContain('alice')
    const { issuer } = vault.as
    expect(asked).toContain(`${issuer}/.well-known/oauth-authorization-server`)
    for (const endpoint of ['register', 'token']) {
      const reached = vault.as.requests.filter((request) => request.endpoint === endpoint)
      expect(reached.length).toBeGreaterThan(0)
      expect(asked.filter((url) => url === `${issuer}/${endpoint}`)).toHaveLength(reached.length)
    }
    const { origin, pathname } = new URL(vault.url)
    expect(asked).toContain(`${origin}/.well-known/oauth-protected-resource${pathname}`)
  })

  it('contacts no private authorization server, also through `fetch` [SEC-001]', async () => {
    const asked: string[] = []
    const fetchIt = async (url: string) => {
      asked.push(url)
      if (!url.includes('/.well-known/')) return new Response('', { status: 401 })
      return Response.json({ resource: 'https://mcp.example/mcp', authorization_servers: ['https://10.0.0.1/'] })
    }
    const authProvider = new Keeper()
    const transport = new Transport('https://mcp.example/mcp', { authProvider, fetch: fetchIt })
    const error = await newClient()
      .connect(transport)
      .catch((reason) => reason)
    expect(authErrorIn(error)?.message).toContain('10.0.0.1')
    expect(asked.filter((url) => !url.startsWith('https://mcp.example/'))).toEqual([])
    expect(authProvider.pages).toEqual([])
  })

  it('requires an authProvider for finishAuth', async () => {
    await expect(new Transport('https://mcp.example/mcp').finishAuth('code')).rejects.toThrow('requires `authProvider`')
  })
})

describe('saveTokens()', () => {
  it.each(['Bearer', 'bearer', 'BEARER'])('receives the token type as the server spells it: %s', async (spelled) => {
    const vault = await protectedServer({ refreshTokens: 'always' })
    onTestFinished(() => vault[Symbol.asyncDispose]())
    const saved: string[] = []
    const authProvider: OAuthClientProvider & Keeper = new Keeper()
    authProvider.saveTokens = (tokens: ProviderTokens) => {
      saved.push(tokens.token_type)
      authProvider.held = tokens
    }
    const fetchIt = async (url: string, init: object) => {
      const response = await fetch(url, init as RequestInit)
      if (!url.endsWith('/token')) return response
      return Response.json({ ...((await response.json()) as object), token_type: spelled })
    }
    const first = new StreamableHTTPClientTransport(vault.url, { authProvider, fetch: fetchIt })
    await newClient()
      .connect(first)
      .catch(() => {})
    await first.finishAuth((await followRedirect(authProvider.pages[0]!)).searchParams)
    authProvider.held = { ...authProvider.held!, access_token: 'outdated' }
    const client = newClient()
    await client.connect(new StreamableHTTPClientTransport(vault.url, { authProvider, fetch: fetchIt }))
    expect((await client.callTool('whoami')).text).toContain('alice')
    expect(saved).toEqual([spelled, spelled])
  })
})

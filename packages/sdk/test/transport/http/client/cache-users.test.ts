import { bearer, type OAuthClientProvider } from 'tenon/auth/client'
import { Client, type ConnectOptions, connect, StreamableHTTPClientTransport } from 'tenon/client'
import { startAuthorizationServer } from 'tenon/testing'
import { describe, expect, it, vi } from 'vitest'
import { Gate, join, tokenOf, User } from '../../../auth/client-support.ts'
import { modern, type Received, type Scripted } from './support.ts'

const uri = 'note://mine'

/** Returns the user of a request, whichever header names it. */
function userOf({ headers }: Received): string {
  return String(headers.authorization ?? headers['x-api-key'] ?? headers.cookie ?? 'nobody')
}

/** A server with one resource that contains the name of the caller. */
function mirror(cacheScope: string | undefined = 'private'): Promise<Scripted> {
  return modern((received) => {
    if (received.message.method !== 'resources/read') return false
    received.result({
      resultType: 'complete',
      ttlMs: 60_000,
      ...(cacheScope && { cacheScope }),
      contents: [{ uri, text: userOf(received) }],
    })
    return true
  })
}

async function textOf(client: Client): Promise<unknown> {
  const { contents } = await client.readResource(uri)
  return (contents[0] as { text?: string }).text
}

interface Way {
  options: ConnectOptions
  become(user: string): void
}

const ways: Record<string, () => Way> = {
  'a headers function': () => {
    let user = ''
    return {
      options: { headers: () => ({ authorization: user }) },
      become: (name) => {
        user = name
      },
    }
  },
  'a headers function that sets an API key': () => {
    let user = ''
    return {
      options: { headers: async () => [['X-Api-Key', user]] as const },
      become: (name) => {
        user = name
      },
    }
  },
  'a headers function that sets a cookie': () => {
    let user = ''
    return {
      options: { headers: () => new Headers({ cookie: user }) },
      become: (name) => {
        user = name
      },
    }
  },
  'headers in requestInit that are modified in place': () => {
    const headers: Record<string, string> = {}
    return {
      options: { requestInit: { headers } },
      become: (name) => {
        headers.Authorization = name
      },
    }
  },
  'bearer() with a function': () => {
    let user = ''
    return {
      options: { auth: bearer(() => user) },
      become: (name) => {
        user = name
      },
    }
  },
  'an auth object': () => {
    let user = ''
    return {
      options: { auth: { headers: () => ({ authorization: user }), onUnauthorized: async () => false } },
      become: (name) => {
        user = name
      },
    }
  },
}

describe('private results in the client cache', () => {
  it.each(Object.keys(ways))('are not served to another user with %s [CACHE-014]', async (name) => {
    await using server = await mirror()
    const { options, become } = ways[name]!()
    become('Bearer alice')
    await using client = await connect(server.url, options)
    const alice = await textOf(client)
    expect(alice).toContain('alice')
    expect(await textOf(client)).toBe(alice)
    expect(server.of('resources/read')).toHaveLength(1)
    become('Bearer bob')
    expect(await textOf(client)).toContain('bob')
    expect(server.of('resources/read')).toHaveLength(2)
    become('Bearer alice')
    expect(await textOf(client)).toBe(alice)
    expect(server.of('resources/read')).toHaveLength(2)
  })

  it('are not served to another user with authProvider [CACHE-014]', async () => {
    await using server = await mirror()
    let user = 'alice'
    const provider = {
      redirectUrl: undefined,
      clientMetadata: { redirect_uris: [] },
      tokens: () => ({ access_token: user, token_type: 'Bearer' }),
    } as unknown as OAuthClientProvider
    await using client = new Client({ name: 'test', version: '1' })
    await client.connect(new StreamableHTTPClientTransport(server.url, { authProvider: provider }))
    expect([await textOf(client), await textOf(client)]).toEqual(['Bearer alice', 'Bearer alice'])
    expect(server.of('resources/read')).toHaveLength(1)
    user = 'bob'
    expect(await textOf(client)).toBe('Bearer bob')
  })

  it('are not served after oauth() logged in again [CACHE-014]', async () => {
    await using as = await startAuthorizationServer()
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    const revoked = new Set<string | undefined>([undefined])
    gate.judge = (token, { body }) => {
      if (revoked.has(token)) return gate.refusal
      if (!body.includes('"tools/list"')) return undefined
      const tools = [{ name: token, inputSchema: { type: 'object' } }]
      const result = { resultType: 'complete', ttlMs: 60_000, cacheScope: 'private', tools }
      return { body: { jsonrpc: '2.0', id: JSON.parse(body).id, result } }
    }
    await using client = await join(gate, new User().auth(), '2026-07-28')
    const first = tokenOf(gate.calls.at(-1)!)
    expect((await client.listTools()).tools[0]?.name).toBe(first)
    const seen = gate.calls.length
    expect((await client.listTools()).tools[0]?.name).toBe(first)
    expect(gate.calls).toHaveLength(seen)
    revoked.add(first)
    // A token that is rejected right after it was issued does not cause another login.
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 10_000 })
    await client.callTool('ping').finally(() => vi.useRealTimers())
    const second = tokenOf(gate.calls.at(-1)!)
    expect(second).not.toBe(first)
    expect((await client.listTools()).tools[0]?.name).toBe(second)
  })

  it('are cached with headers that never change', async () => {
    await using server = await mirror()
    await using client = await connect(server.url, { headers: { authorization: 'Bearer alice' } })
    expect([await textOf(client), await textOf(client)]).toEqual(['Bearer alice', 'Bearer alice'])
    expect(server.of('resources/read')).toHaveLength(1)
  })

  it('are cached although every request has its own request id and trace', async () => {
    await using server = await mirror()
    let count = 0
    const headers = () => ({ authorization: 'Bearer alice', 'x-request-id': `${++count}`, traceparent: `00-${count}` })
    await using client = await connect(server.url, { headers })
    expect([await textOf(client), await textOf(client)]).toEqual(['Bearer alice', 'Bearer alice'])
    expect(server.of('resources/read')).toHaveLength(1)
  })

  it('are stored for the user of the request, even if the user changes meanwhile [CACHE-014]', async () => {
    let user = 'Bearer alice'
    await using server = await modern((received) => {
      if (received.message.method !== 'resources/read') return false
      const text = userOf(received)
      // The user is Alice again before the client receives the response for Bob.
      user = 'Bearer alice'
      received.result({ resultType: 'complete', ttlMs: 60_000, cacheScope: 'private', contents: [{ uri, text }] })
      return true
    })
    await using client = await connect(server.url, { headers: () => ({ authorization: user }) })
    user = 'Bearer bob'
    expect(await textOf(client)).toBe('Bearer bob')
    expect(await textOf(client)).toBe('Bearer alice')
  })

  it('are stored for the credentials that the server accepted, not those that it rejected [CACHE-014]', async () => {
    let user = 'Bearer alice'
    await using server = await modern((received) => {
      if (received.message.method !== 'resources/read') return false
      if (userOf(received) === 'Bearer alice') received.status(401)
      else {
        const contents = [{ uri, text: userOf(received) }]
        received.result({ resultType: 'complete', ttlMs: 60_000, cacheScope: 'private', contents })
      }
      return true
    })
    const auth = {
      headers: () => ({ authorization: user }),
      onUnauthorized: async () => {
        if (user === 'Bearer bob') return false
        user = 'Bearer bob'
        return true
      },
    }
    await using client = await connect(server.url, { auth })
    expect(await textOf(client)).toBe('Bearer bob')
    user = 'Bearer carol'
    expect(await textOf(client)).toBe('Bearer carol')
    user = 'Bearer bob'
    expect(await textOf(client)).toBe('Bearer bob')
    expect(server.of('resources/read')).toHaveLength(3)
  })

  it('are the default when the server does not specify a cache scope [CACHE-014]', async () => {
    for (const scope of ['', 'secret', 'PUBLIC']) {
      await using server = await mirror(scope)
      let user = 'Bearer alice'
      await using client = await connect(server.url, { headers: () => ({ authorization: user }) })
      await textOf(client)
      user = 'Bearer bob'
      expect(await textOf(client)).toBe('Bearer bob')
    }
  })

  it('replace a public result that was cached for everyone [CACHE-014]', async () => {
    let scope = 'public'
    await using server = await modern((received) => {
      if (received.message.method !== 'resources/read') return false
      const contents = [{ uri, text: userOf(received) }]
      received.result({ resultType: 'complete', ttlMs: scope === 'public' ? 1 : 60_000, cacheScope: scope, contents })
      return true
    })
    let user = 'Bearer alice'
    await using client = await connect(server.url, { headers: () => ({ authorization: user }) })
    await textOf(client)
    scope = 'private'
    await expect.poll(() => textOf(client).then(() => server.of('resources/read').length)).toBe(2)
    user = 'Bearer bob'
    expect(await textOf(client)).toBe('Bearer bob')
  })

  it('are not cached with a custom fetch unless the application opts in [CACHE-014]', async () => {
    await using server = await mirror()
    let user = 'Bearer alice'
    const signed: NonNullable<ConnectOptions['fetch']> = (url, init) =>
      fetch(url, { ...init, headers: { ...(init?.headers as object), authorization: user } } as RequestInit) as never
    await using client = await connect(server.url, { fetch: signed })
    expect(await textOf(client)).toBe('Bearer alice')
    user = 'Bearer bob'
    expect(await textOf(client)).toBe('Bearer bob')
    await using single = await connect(server.url, { fetch: signed, cache: true })
    await textOf(single)
    const before = server.of('resources/read').length
    await textOf(single)
    expect(server.of('resources/read')).toHaveLength(before)
  })

  it('are not cached when requests carry browser cookies [CACHE-014]', async () => {
    await using server = await mirror()
    await using client = await connect(server.url, { requestInit: { credentials: 'include' } })
    await textOf(client)
    await textOf(client)
    expect(server.of('resources/read')).toHaveLength(2)
  })
})

describe('public results in the client cache', () => {
  it('are served to every user [CACHE-013]', async () => {
    await using server = await mirror('public')
    let user = 'Bearer alice'
    await using client = await connect(server.url, { headers: () => ({ authorization: user }) })
    expect(await textOf(client)).toBe('Bearer alice')
    user = 'Bearer bob'
    expect(await textOf(client)).toBe('Bearer alice')
  })
})

import { GuardError, guardedFetch, MemoryTokenStore } from 'tenon/auth/client'
import { startAuthorizationServer } from 'tenon/testing'
import { describe, expect, it } from 'vitest'
import { at, failureOf, Gate, grants, join, Site, tokenOf, User, wellKnown } from './client-support.ts'

/** As by default for a server on this machine, but less patient. */
const impatient = () => guardedFetch({ allowLoopback: 'http', timeoutMs: 300 })

function rulesOf(error: unknown): string[] {
  const rules: string[] = []
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof GuardError) rules.push(cause.rule)
  }
  return rules
}

const innerPlaces = [
  'https://10.0.0.1/x',
  'https://192.168.1.1/x',
  'https://169.254.169.254/latest/meta-data/',
  'https://[fd00:ec2::254]/x',
  'https://[fe80::1]/x',
  'https://0.0.0.0/x',
  'https://[::ffff:10.0.0.1]/x',
  'https://100.64.0.1/x',
]

describe('authorization servers in private networks', () => {
  it.each(innerPlaces)('does not contact a private address as an issuer: %s [SEC-001, SEC-003]', async (place) => {
    await using gate = await Gate.start({ authorizationServers: [place] })
    expect(rulesOf(await failureOf(join(gate, new User().auth())))).toEqual(['address'])
  })

  it.each(innerPlaces)(
    'does not contact a private address for resource metadata: %s [SEC-001, SEC-003]',
    async (place) => {
      await using gate = await Gate.start()
      gate.challenge = `Bearer resource_metadata="${place}"`
      expect(rulesOf(await failureOf(join(gate, new User().auth())))).toEqual(['address'])
    },
  )

  it.each(['registration_endpoint', 'token_endpoint'])(
    'sends nothing to a private address as %s [SEC-001, SEC-003]',
    async (name) => {
      await using as = await startAuthorizationServer()
      as.faults.always('metadata', { patch: { [name]: 'https://169.254.169.254/x' } })
      await using gate = await Gate.start({ authorizationServers: [as.issuer] })
      expect(rulesOf(await failureOf(join(gate, new User().auth())))).toEqual(['address'])
    },
  )

  it.each(['https://169.254.169.254/x', 'https://10.0.0.1/x', 'http://as.example/x', 'file:///etc/passwd'])(
    'does not follow a redirect to the private address %s [SEC-001, SEC-002, SEC-003]',
    async (location) => {
      await using site = await Site.start(() => ({ status: 302, headers: { location } }))
      await using gate = await Gate.start({ authorizationServers: [site.origin] })
      expect(rulesOf(await failureOf(join(gate, new User().auth())))).toHaveLength(1)
      gate.challenge = `Bearer resource_metadata="${site.origin}/x"`
      expect(rulesOf(await failureOf(join(gate, new User().auth())))).toHaveLength(1)
    },
  )
})

describe('plain http', () => {
  it.each(['registration_endpoint', 'token_endpoint'])(
    'refuses plain http for the %s [AUTH-089, SEC-002]',
    async (name) => {
      await using as = await startAuthorizationServer()
      as.faults.always('metadata', { patch: { [name]: 'http://as.example/x' } })
      await using gate = await Gate.start({ authorizationServers: [as.issuer] })
      expect(rulesOf(await failureOf(join(gate, new User().auth())))).toEqual(['scheme'])
    },
  )

  it('refuses plain http for issuers and resource metadata [SEC-002]', async () => {
    await using gate = await Gate.start({ authorizationServers: ['http://as.example'] })
    expect(rulesOf(await failureOf(join(gate, new User().auth())))).toEqual(['scheme'])
    gate.challenge = 'Bearer resource_metadata="http://mcp.example/x"'
    expect(rulesOf(await failureOf(join(gate, new User().auth())))).toEqual(['scheme'])
  })

  it('allows plain http through a custom fetch [SEC-002]', async () => {
    await using gate = await Gate.start({ authorizationServers: ['http://as.example'] })
    const asked: string[] = []
    const fetch = async (url: string) => {
      if (url.startsWith(gate.site.origin)) return globalThis.fetch(url)
      asked.push(url)
      return new Response('', { status: 404 })
    }
    await failureOf(join(gate, new User().auth({ fetch })))
    expect(asked[0]).toBe('http://as.example/.well-known/oauth-authorization-server')
  })
})

describe('hostile documents', () => {
  it.each(['metadata', 'register', 'token'] as const)('does not read documents of 100 MB: %s', async (endpoint) => {
    await using as = await startAuthorizationServer()
    as.faults.always(endpoint, 'huge')
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    expect(rulesOf(await failureOf(join(gate, new User().auth())))).toEqual(['size'])
  })

  it.each(['hang', 'trickle'] as const)('does not wait endlessly for a document: %s', async (fault) => {
    for (const endpoint of ['metadata', 'register', 'token'] as const) {
      await using as = await startAuthorizationServer()
      as.faults.always(endpoint, fault)
      await using gate = await Gate.start({ authorizationServers: [as.issuer] })
      const error = await failureOf(join(gate, new User().auth({ fetch: impatient() })))
      expect(error.message).toContain('did not answer within 300 ms')
    }
  })

  it.each([
    ['metadata', 'html'],
    ['metadata', 'reset'],
    ['metadata', 'server-error'],
    ['register', 'html'],
    ['register', 'reset'],
    ['register', 'server-error'],
    ['token', 'html'],
    ['token', 'reset'],
    ['token', 'lose-reply'],
    ['token', 'server-error'],
  ] as const)('reports a response that is not a document: %s, %s', async (endpoint, fault) => {
    await using as = await startAuthorizationServer()
    as.faults.always(endpoint, fault)
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    const error = await failureOf(join(gate, new User().auth()))
    expect(String(error.trace)).toMatch(/^[!-] /m)
  })

  it.each([
    ['lists that are none', { code_challenge_methods_supported: { includes: 'S256' } }],
    ['scopes that are none', { scopes_supported: 7 }],
    ['methods that are none', { token_endpoint_auth_methods_supported: { includes: 1 } }],
    ['a token endpoint that is no URL', { token_endpoint: 'x' }],
    ['a registration endpoint that is no text', { registration_endpoint: { toString: 1 } }],
    ['a prototype', JSON.parse('{"__proto__":{"token_endpoint":"https://attacker.example"},"token_endpoint":null}')],
  ])('reports or ignores documents with %s', async (_, patch) => {
    await using as = await startAuthorizationServer()
    as.faults.always('metadata', { patch })
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    gate.challenge += ', scope="read"'
    const outcome = await join(gate, new User().auth()).then(
      (client) => client.close(),
      (error: unknown) => failureOf(Promise.reject(error)),
    )
    expect(outcome === undefined || outcome.name === 'AuthError').toBe(true)
  })

  it('keeps control characters out of errors and traces', async () => {
    await using as = await startAuthorizationServer()
    const evil = '\u001b]0;owned\u0007\r\nfake line\u202e'
    as.faults.always('register', { status: 400, body: { error: evil, error_description: evil } })
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    const error = await failureOf(join(gate, new User().auth()))
    expect(error.message).not.toMatch(/[\p{Cc}]/u)
    expect(String(error.trace).replaceAll('\n', '')).not.toMatch(/[\p{Cc}]/u)
  })
})

describe('requests to the token endpoint', () => {
  it.each([301, 302, 303, 307, 308])(
    'does not follow a redirect from the token endpoint (%i) [AUTH-097]',
    async (status) => {
      await using thief = await Site.start(() => ({ body: { access_token: 'x', token_type: 'Bearer' } }))
      for (const place of ['register', 'token'] as const) {
        await using as = await startAuthorizationServer()
        as.faults.always(place, { status, headers: { location: `${thief.origin}/${place}` } })
        await using gate = await Gate.start({ authorizationServers: [as.issuer] })
        await failureOf(join(gate, new User().auth()))
      }
      expect(thief.visits).toEqual([])
    },
  )
})

describe('tokens with header injection', () => {
  it.each(['x\r\nX-Injected: 1', 'x\u0000', 'x y', ''])('does not send the token %j', async (access_token) => {
    await using as = await startAuthorizationServer()
    as.faults.always('token', { body: { access_token, token_type: 'Bearer' } })
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    gate.judge = (token) => (/^[\w.~+/-]+=*$/.test(token ?? '') ? undefined : gate.refusal)
    await expect(join(gate, new User().auth())).rejects.toThrow()
    expect(gate.calls.filter(({ headers }) => headers['x-injected'])).toEqual([])
  })
})

describe('mix-up attacks', () => {
  /** Sends users to the honest server and wants their codes for itself. */
  async function attacker(honest: { issuer: string }) {
    const site: Site = await Site.start(({ path }) => {
      if (path !== '/.well-known/oauth-authorization-server')
        return { body: { access_token: 'x', token_type: 'Bearer' } }
      return {
        body: {
          issuer: site.origin,
          authorization_endpoint: `${honest.issuer}/authorize`,
          token_endpoint: `${site.origin}/token`,
          code_challenge_methods_supported: ['S256'],
        },
      }
    })
    return site
  }

  it('sends no code of an honest server to another that it identifies itself from [AUTH-084, AUTH-103]', async () => {
    const clients = [{ client_id: 'known', redirect_uris: ['http://127.0.0.1:7/callback'] }]
    await using honest = await startAuthorizationServer({ clients })
    await using evil = await attacker(honest)
    await using gate = await Gate.start({ authorizationServers: [evil.origin] })
    const user = new User()
    const error = await failureOf(join(gate, user.auth({ register: () => ({ clientId: 'known' }) })))
    expect(user.pages).toHaveLength(1)
    expect(error.message).toContain('without authorization')
    expect(evil.paths()).toEqual(['/.well-known/oauth-authorization-server'])
  })

  it('sends a client id only to the server that issued it [AUTH-061]', async () => {
    await using honest = await startAuthorizationServer()
    await using evil = await attacker(honest)
    await using gate = await Gate.start({ authorizationServers: [evil.origin] })
    const user = new User()
    await failureOf(join(gate, user.auth({ clientId: 'known', clientSecret: 's', issuer: honest.issuer })))
    expect(user.pages).toEqual([])
    expect(evil.paths()).toEqual(['/.well-known/oauth-authorization-server'])
  })

  it('sends a refresh token only to its own authorization server [AUTH-042, AUTH-097]', async () => {
    await using honest = await startAuthorizationServer({ refreshTokens: 'always' })
    await using evil = await attacker(honest)
    await using gate = await Gate.start({ authorizationServers: [honest.issuer] })
    const store = new MemoryTokenStore()
    await (await join(gate, new User().auth({ store }))).close()
    gate.authorizationServers = [evil.origin]
    gate.judge = () => gate.refusal
    await failureOf(join(gate, new User().auth({ store })))
    expect(evil.visits.every(({ method }) => method === 'GET')).toBe(true)
  })
})

describe('servers that ask without end', () => {
  it.each([
    ['with a challenge', (gate: Gate) => gate.challenge],
    ['without a challenge', () => undefined],
    ['with another scheme', () => 'Basic realm="x"'],
    ['with an empty challenge', () => ''],
  ])('does not prompt the user again and again for tokens (401 %s)', async (_, challenge) => {
    await using as = await startAuthorizationServer({ refreshTokens: 'never' })
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    gate.challenge = challenge(gate)
    gate.judge = () => gate.refusal
    const user = new User()
    await expect(join(gate, user.auth())).rejects.toThrow(/401/)
    expect(user.pages).toHaveLength(1)
    expect(gate.calls.length).toBeLessThan(4)
  })

  it('does not refresh again and again', async () => {
    await using as = await startAuthorizationServer({ refreshTokens: 'always' })
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    const store = new MemoryTokenStore()
    const user = new User()
    await (await join(gate, user.auth({ store }))).close()
    gate.judge = () => gate.refusal
    await expect(join(gate, user.auth({ store }))).rejects.toThrow(/401/)
    expect(grants(as, 'refresh_token').length).toBeLessThan(2)
    expect(user.pages.length).toBeLessThan(3)
  })

  it('does not prompt the user again and again for new scopes within a call [AUTH-081]', async () => {
    await using as = await startAuthorizationServer()
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    const user = new User()
    await using client = await join(gate, user.auth())
    let count = 0
    gate.judge = (_token, { body }) => {
      if (!body.includes('tools/call')) return undefined
      const scope = `more${++count}`
      return { status: 403, headers: { 'www-authenticate': `Bearer error="insufficient_scope", scope="${scope}"` } }
    }
    await expect(client.callTool('ping')).rejects.toThrow(/403/)
    expect(user.pages.length).toBeLessThan(4)
  })

  it('prompts once at most when a server asks for scopes without naming any [AUTH-081]', async () => {
    await using as = await startAuthorizationServer()
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    const user = new User()
    await using client = await join(gate, user.auth())
    gate.judge = () => ({ status: 403, headers: { 'www-authenticate': 'Bearer error="insufficient_scope"' } })
    for (let round = 0; round < 3; round++) await expect(client.callTool('ping')).rejects.toThrow(/403/)
    expect(user.pages.length).toBeLessThan(3)
  })

  it.each(['"'.repeat(100_000), 'Bearer '.repeat(2_000), `Bearer x="${'\\'.repeat(7_000)}`, 'Bearer =,=,="', ',,,,'])(
    'parses a long challenge quickly [AUTH-032]',
    async (challenge) => {
      const url = new URL('https://10.0.0.1/mcp')
      const session = new User().auth()(url)
      const header = (name: string) => (name === 'www-authenticate' ? challenge : undefined)
      const refusal = { method: 'POST', url, revision: '2026-07-28', status: 401, header, sent: {}, count: 1 }
      const error = await failureOf(session.onUnauthorized(refusal))
      expect(rulesOf(error)).toEqual(['address'])
    },
  )
})

describe('metadata requests', () => {
  it('sends no token with metadata requests [AUTH-014]', async () => {
    await using as = await startAuthorizationServer({ refreshTokens: 'never' })
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    const store = new MemoryTokenStore()
    await (await join(gate, new User().auth({ store }))).close()
    const seen = new Set(gate.calls.map(tokenOf))
    gate.judge = (token) => (seen.has(token) ? gate.refusal : undefined)
    await (await join(gate, new User().auth({ store }))).close()
    const asked = gate.site.visits.filter(({ path }) => path.startsWith(wellKnown))
    expect(asked.length).toBeGreaterThan(1)
    expect(asked.map(tokenOf).filter((token) => token !== undefined)).toEqual([])
    expect(at(as, 'metadata').every(({ headers }) => headers.authorization === undefined)).toBe(true)
  })
})

import { generateKeyPairSync } from 'node:crypto'
import { inspect } from 'node:util'
import { createLocalJWKSet, decodeJwt, decodeProtectedHeader, exportJWK, jwtVerify } from 'jose'
import { bearer, clientCredentials, enterpriseManaged, MemoryTokenStore, workloadIdentity } from 'tenon/auth/client'
import { connect } from 'tenon/client'
import { startAuthorizationServer } from 'tenon/testing'
import { describe, expect, it, vi } from 'vitest'
import {
  at,
  failureOf,
  forbidden,
  Gate,
  grants,
  join,
  redirectUrl,
  Site,
  scopeOf,
  tokenOf,
  User,
  type Visit,
} from './client-support.ts'

/** The server takes no token any more that it has seen so far. */
function revokeAll(gate: Gate): void {
  const seen = new Set(gate.calls.map(tokenOf))
  gate.judge = (token) => (seen.has(token) || token === undefined ? gate.refusal : undefined)
}

const isCallOf = ({ body }: Visit, tool: string) => body.includes('"tools/call"') && body.includes(`"${tool}"`)

describe('a token', () => {
  it.each(['2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28'] as const)(
    'is in the header of every request, and in no address (%s) [AUTH-009, AUTH-010, AUTH-011]',
    async (revision) => {
      await using as = await startAuthorizationServer()
      await using gate = await Gate.start({ authorizationServers: [as.issuer] })
      const client = await join(gate, new User().auth(), revision)
      await client.listTools()
      await client.callTool('ping')
      await client.close()
      const first = gate.calls.findIndex((visit) => tokenOf(visit) !== undefined)
      const later = gate.calls.slice(first)
      expect(later.length).toBeGreaterThan(2)
      const token = tokenOf(later[0]!)!
      for (const { headers } of later) expect(headers.authorization).toBe(`Bearer ${token}`)
      const everywhere = [...gate.site.paths(), ...as.requests.map(({ url }) => url)].join('\n')
      expect(everywhere).not.toContain(token)
      expect(everywhere).not.toContain('access_token')
    },
  )

  it('goes to the one server that it is for, although the store is shared [AUTH-014, AUTH-042]', async () => {
    await using as = await startAuthorizationServer()
    await using one = await Gate.start({ authorizationServers: [as.issuer] })
    await using two = await Gate.start({ authorizationServers: [as.issuer] })
    const auth = new User().auth({ store: new MemoryTokenStore() })
    await using _first = await join(one, auth)
    await using _second = await join(two, auth)
    const tokens = [one, two].map(({ calls }) => new Set(calls.map(tokenOf).filter((token) => token !== undefined)))
    expect(tokens[0]!.isDisjointFrom?.(tokens[1]!) ?? ![...tokens[0]!].some((it) => tokens[1]!.has(it))).toBe(true)
    for (const [index, gate] of [one, two].entries()) {
      for (const token of tokens[index]!) expect([decodeJwt(token).aud].flat()).toEqual([gate.url.href])
    }
  })

  it('does not follow a redirect to another origin [AUTH-014]', async () => {
    await using as = await startAuthorizationServer()
    await using thief = await Site.start(() => ({ status: 200, body: {} }))
    for (const status of [301, 302, 303, 307, 308]) {
      await using gate = await Gate.start({ authorizationServers: [as.issuer] })
      const location = `${thief.origin}/mcp`
      gate.judge = (token) => (token === undefined ? gate.refusal : { status, headers: { location } })
      await expect(join(gate, new User().auth())).rejects.toThrow(/redirects/)
    }
    expect(thief.visits).toEqual([])
  })

  it('of an authorization server that the server no longer names is neither refreshed nor kept [AUTH-014, AUTH-042]', async () => {
    await using first = await startAuthorizationServer({ refreshTokens: 'always' })
    await using second = await startAuthorizationServer()
    await using gate = await Gate.start({ authorizationServers: [first.issuer] })
    const store = new MemoryTokenStore()
    await (await join(gate, new User().auth({ store }))).close()
    revokeAll(gate)
    gate.authorizationServers = [second.issuer]
    await using _client = await join(gate, new User().auth({ store }))
    expect(grants(first, 'refresh_token')).toEqual([])
    expect(grants(second, 'refresh_token')).toEqual([])
    expect(decodeJwt(tokenOf(gate.calls.at(-1)!)!).iss).toBe(second.issuer)
  })

  it('is in no error when the answer it comes in cannot be used [AUTH-097]', async () => {
    await using as = await startAuthorizationServer()
    as.faults.always('token', { body: { access_token: 'acc3ss', refresh_token: 'r3fresh', token_type: 7 } })
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    const error = await failureOf(join(gate, new User().auth()))
    expect(`${error.trace} ${inspect(error, { depth: 9, showHidden: true })}`).not.toMatch(/acc3ss|r3fresh/)
  })

  it('may come from elsewhere, as the parties agreed [AUTH-005]', async () => {
    await using gate = await Gate.start()
    const own = await connect(gate.url, { revision: '2025-11-25', auth: bearer('of-my-own') })
    expect((await own.callTool('ping')).text).toBe('pong')
    await own.close()
    gate.judge = (_token, { headers }) => (headers['x-api-key'] === 'k' ? undefined : { status: 401 })
    await using keyed = await connect(gate.url, { revision: '2025-11-25', headers: { 'x-api-key': 'k' } })
    expect((await keyed.callTool('ping')).text).toBe('pong')
  })
})

describe('a server that is a process', () => {
  const script = `
    let text = ''
    process.stdin.on('data', (chunk) => {
      text += chunk
      for (let end; (end = text.indexOf('\\n')) >= 0; text = text.slice(end + 1)) {
        const { id, method } = JSON.parse(text.slice(0, end))
        const serverInfo = { name: process.env.API_KEY ?? 'none', version: '1' }
        const result = { protocolVersion: process.env.REVISION, capabilities: {}, serverInfo }
        if (method === 'initialize') process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result }) + '\\n')
      }
    })`

  it.each(['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'] as const)(
    'has its credentials from the environment, and nobody is asked (%s) [AUTH-001, AUTH-004]',
    async (revision) => {
      let isAsked = false
      const auth = (server: URL) => {
        isAsked = true
        return new User().auth()(server)
      }
      const env = { API_KEY: 'from-outside', REVISION: revision }
      const target = { command: process.execPath, args: ['-e', script], env }
      await using client = await connect(target, { revision, auth })
      expect(client.getServerVersion()?.name).toBe('from-outside')
      expect(isAsked).toBe(false)
    },
  )
})

describe('a refresh token', () => {
  it('is used when the token is refused, for the same resource, and seen by nobody else [AUTH-067, AUTH-097]', async () => {
    await using as = await startAuthorizationServer({ refreshTokens: 'always' })
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    const store = new MemoryTokenStore()
    const user = new User()
    await (await join(gate, user.auth({ store }))).close()
    revokeAll(gate)
    await using client = await join(gate, user.auth({ store }))
    expect((await client.callTool('ping')).text).toBe('pong')
    expect(user.pages).toHaveLength(1)
    const [refresh] = grants(as, 'refresh_token')
    expect(refresh!.params.resource).toBe(gate.url.href)
    const secret = refresh!.params.refresh_token!
    expect(inspect(gate.site.visits, { depth: 9, maxStringLength: null })).not.toContain(secret)
    expect(as.requests.map(({ url }) => url).join()).not.toContain(secret)
  })

  it('is kept when the answer has no new one, and replaced when it has', async () => {
    for (const rotateRefreshTokens of [true, false]) {
      await using as = await startAuthorizationServer({ refreshTokens: 'always', rotateRefreshTokens })
      await using gate = await Gate.start({ authorizationServers: [as.issuer] })
      const store = new MemoryTokenStore()
      const user = new User()
      await (await join(gate, user.auth({ store }))).close()
      if (!rotateRefreshTokens) as.faults.noRefreshToken = true
      for (let round = 0; round < 2; round++) {
        revokeAll(gate)
        await (await join(gate, user.auth({ store }))).close()
      }
      const used = grants(as, 'refresh_token').map(({ params }) => params.refresh_token)
      expect(new Set(used).size).toBe(rotateRefreshTokens ? 2 : 1)
      expect(user.pages).toHaveLength(1)
    }
  })

  it('is used each time the server rejects an expired token, without another login', async () => {
    await using as = await startAuthorizationServer({ refreshTokens: 'always' })
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    const user = new User()
    await using client = await join(gate, user.auth())
    try {
      for (const minutes of [1, 2, 3]) {
        revokeAll(gate)
        vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + minutes * 60_000 })
        expect((await client.callTool('ping')).text).toBe('pong')
        vi.useRealTimers()
      }
    } finally {
      vi.useRealTimers()
    }
    expect(user.pages).toHaveLength(1)
    expect(grants(as, 'refresh_token')).toHaveLength(3)
  })

  it('is not counted on: without one the user is asked again [AUTH-100]', async () => {
    await using as = await startAuthorizationServer({ refreshTokens: 'never' })
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    const store = new MemoryTokenStore()
    const user = new User()
    await (await join(gate, user.auth({ store }))).close()
    revokeAll(gate)
    await using client = await join(gate, user.auth({ store }))
    expect((await client.callTool('ping')).text).toBe('pong')
    expect(user.pages).toHaveLength(2)
  })

  it('that is no good any more leads to the user [AUTH-100]', async () => {
    await using as = await startAuthorizationServer({ refreshTokens: 'always' })
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    const store = new MemoryTokenStore()
    const user = new User()
    await (await join(gate, user.auth({ store }))).close()
    revokeAll(gate)
    as.faults.next('token', { status: 400, body: { error: 'invalid_grant' } })
    await using client = await join(gate, user.auth({ store }))
    expect((await client.callTool('ping')).text).toBe('pong')
    expect(user.pages).toHaveLength(2)
  })

  it.each(['none', 'client_secret_basic', 'client_secret_post'] as const)(
    'of a client that the server has forgotten leads to a new registration, not to an error for ever (%s)',
    async (method) => {
      await using as = await startAuthorizationServer({ refreshTokens: 'always', tokenEndpointAuthMethods: [method] })
      await using gate = await Gate.start({ authorizationServers: [as.issuer] })
      const store = new MemoryTokenStore()
      await (await join(gate, new User().auth({ store }))).close()
      as.removeClient(JSON.parse((await store.get(`client ${as.issuer}`))!).client_id)
      revokeAll(gate)
      await using client = await join(gate, new User().auth({ store }))
      expect((await client.callTool('ping')).text).toBe('pong')
      expect(at(as, 'register')).toHaveLength(2)
    },
  )
})

describe('a request that needs more than the token allows', () => {
  async function stepwise(as: { issuer: string }) {
    const gate = await Gate.start({ authorizationServers: [as.issuer] })
    gate.challenge += ', scope="read"'
    gate.judge = (token, visit) => {
      if (token === undefined) return gate.refusal
      return isCallOf(visit, 'write') && !scopeOf(token).includes('write') ? forbidden('write') : undefined
    }
    return gate
  }

  it('is made again with what was asked for before and what is missing [AUTH-079, AUTH-080]', async () => {
    await using as = await startAuthorizationServer()
    await using gate = await stepwise(as)
    const user = new User()
    await using client = await join(gate, user.auth(), '2026-07-28')
    expect((await client.callTool('write')).text).toBe('written')
    expect(user.scopes).toEqual(['read', 'read write'])
  })

  it('asks the user once and not again when that does not help [AUTH-081]', async () => {
    await using as = await startAuthorizationServer()
    await using gate = await stepwise(as)
    const user = new User()
    await using client = await join(gate, user.auth())
    as.faults.grantedScope = 'read'
    for (let round = 0; round < 3; round++) await expect(client.callTool('write')).rejects.toThrow(/403/)
    expect(user.pages).toHaveLength(2)
    expect((await client.callTool('ping')).text).toBe('pong')
  })

  it('may step up again when permission was lost meanwhile [AUTH-079]', async () => {
    await using as = await startAuthorizationServer({ refreshTokens: 'never' })
    await using gate = await stepwise(as)
    const { judge } = gate
    const user = new User()
    await using client = await join(gate, user.auth())
    await client.callTool('write')
    const seen = new Set(gate.calls.map(tokenOf))
    gate.judge = (token, visit) => (seen.has(token) ? gate.refusal : judge(token, visit))
    // A token that was given just now is not replaced.
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 60_000 })
    try {
      expect((await client.callTool('write')).text).toBe('written')
    } finally {
      vi.useRealTimers()
    }
  })

  it('shares one question to the user with others that need the same [AUTH-079]', async () => {
    await using as = await startAuthorizationServer()
    await using gate = await stepwise(as)
    const user = new User()
    await using client = await join(gate, user.auth())
    const results = await Promise.all(Array.from({ length: 5 }, () => client.callTool('write')))
    expect(results.map(({ text }) => text)).toEqual(Array(5).fill('written'))
    expect(user.pages).toHaveLength(2)
  })

  it('gets what it needs although another needs something else at the same time [AUTH-079, AUTH-080]', async () => {
    await using as = await startAuthorizationServer()
    await using gate = await stepwise(as)
    const { judge } = gate
    gate.judge = (token, visit) => {
      const isMissing = token !== undefined && isCallOf(visit, 'ping') && !scopeOf(token).includes('ping')
      return isMissing ? forbidden('ping') : judge(token, visit)
    }
    const user = new User()
    await using client = await join(gate, user.auth())
    const results = await Promise.all([client.callTool('write'), client.callTool('ping')])
    expect(results.map(({ text }) => text)).toEqual(['written', 'pong'])
    expect(user.pages.length).toBeLessThan(4)
  })

  it('does not need to hear again where the metadata is [AUTH-079]', async () => {
    await using as = await startAuthorizationServer()
    await using gate = await Gate.start({ authorizationServers: [as.issuer], places: ['/elsewhere'] })
    gate.judge = (token, visit) => {
      if (token === undefined) return gate.refusal
      return isCallOf(visit, 'write') && !scopeOf(token).includes('write') ? forbidden('write') : undefined
    }
    await using client = await join(gate, new User().auth())
    expect((await client.callTool('write')).text).toBe('written')
  })

  it('of a machine is made again as well, or given up [AUTH-079]', async () => {
    const machine = { client_id: 'machine', client_secret: 's', grant_types: ['client_credentials'] }
    await using as = await startAuthorizationServer({ clients: [machine] })
    await using gate = await stepwise(as)
    await using client = await join(gate, clientCredentials({ clientId: 'machine', clientSecret: 's' }))
    expect((await client.callTool('write')).text).toBe('written')
    expect(at(as, 'token').map(({ params }) => params.scope)).toEqual(['read', 'read write'])
  })

  it('that is forbidden for another reason asks nobody', async () => {
    await using as = await startAuthorizationServer()
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    const user = new User()
    await using client = await join(gate, user.auth())
    gate.judge = () => ({ status: 403 })
    await expect(client.callTool('write')).rejects.toThrow(/403/)
    expect(user.pages).toHaveLength(1)
  })
})

describe('what is kept', () => {
  it('and cannot be read is as if it were not there', async () => {
    await using as = await startAuthorizationServer()
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    const store = new MemoryTokenStore()
    await store.set(`tokens ${gate.url}`, '{"accessToken":')
    await store.set(`client ${as.issuer}`, 'null and void')
    await using client = await join(gate, new User().auth({ store }))
    expect((await client.callTool('ping')).text).toBe('pong')
  })

  it('is read anew when that failed once', async () => {
    await using as = await startAuthorizationServer()
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    let isBroken = true
    class Sleepy extends MemoryTokenStore {
      override get(key: string) {
        if (!isBroken) return super.get(key)
        isBroken = false
        throw new Error('The disk is asleep')
      }
    }
    const store = new Sleepy()
    const session = new User().auth({ store })(gate.url)
    const auth = () => session
    await expect(join(gate, auth)).rejects.toThrow(/asleep/)
    await using client = await join(gate, auth)
    expect((await client.callTool('ping')).text).toBe('pong')
  })

  it('of a registration whose secret has run out is not used', async () => {
    await using as = await startAuthorizationServer({ tokenEndpointAuthMethods: ['client_secret_basic'] })
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    as.faults.next('register', { patch: { client_secret_expires_at: 1 } })
    const store = new MemoryTokenStore()
    await (await join(gate, new User().auth({ store }))).close()
    await store.delete(`tokens ${gate.url}`)
    await using _client = await join(gate, new User().auth({ store }))
    expect(at(as, 'register')).toHaveLength(2)
  })
})

describe('machines', () => {
  const grant_types = ['client_credentials', 'urn:ietf:params:oauth:grant-type:jwt-bearer']

  it('show their secret, and register nowhere [AUTH-104, AUTH-105]', async () => {
    const machine = { client_id: 'machine', client_secret: 'a secret: ü', grant_types }
    await using as = await startAuthorizationServer({ clients: [machine] })
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    gate.challenge += ', scope="read"'
    await using client = await join(gate, clientCredentials({ clientId: 'machine', clientSecret: 'a secret: ü' }))
    expect((await client.callTool('ping')).text).toBe('pong')
    const [{ params }] = at(as, 'token') as [ReturnType<typeof at>[number]]
    expect(params).toMatchObject({ grant_type: 'client_credentials', resource: gate.url.href, scope: 'read' })
    expect([...at(as, 'register'), ...at(as, 'authorize')]).toEqual([])
  })

  it('sign an assertion for the authorization server [AUTH-104, AUTH-105]', async () => {
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const jwks = { keys: [{ ...(await exportJWK(publicKey)), alg: 'ES256' }] }
    const machine = { client_id: 'machine', token_endpoint_auth_method: 'private_key_jwt' as const, jwks, grant_types }
    await using as = await startAuthorizationServer({ clients: [machine] })
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
    await using client = await join(gate, clientCredentials({ clientId: 'machine', privateKey: pem }))
    expect((await client.callTool('ping')).text).toBe('pong')
    const [{ params }] = at(as, 'token') as [ReturnType<typeof at>[number]]
    expect(params).toMatchObject({
      grant_type: 'client_credentials',
      resource: gate.url.href,
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    })
    const { payload } = await jwtVerify(params.client_assertion!, createLocalJWKSet(jwks), { audience: as.issuer })
    expect(payload).toMatchObject({ iss: 'machine', sub: 'machine' })
    expect(params.client_secret).toBeUndefined()
    expect(at(as, 'register')).toEqual([])
  })

  it('exchange what their platform says of them [AUTH-113]', async () => {
    await using platform = await startAuthorizationServer()
    const trustedIssuers = [{ issuer: platform.issuer, jwks: platform.jwks }]
    const workload = { client_id: 'workload', grant_types }
    await using as = await startAuthorizationServer({ trustedIssuers, clients: [workload] })
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    const assertion = await platform.signJwt({ sub: 'workload', aud: as.issuer })
    await using client = await join(gate, workloadIdentity({ clientId: 'workload', assertion }))
    expect((await client.callTool('ping')).text).toBe('pong')
    expect(at(as, 'token')[0]!.params).toMatchObject({
      grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
      assertion,
      resource: gate.url.href,
    })
  })

  it('neither repeat nor replace an assertion that is refused [AUTH-114]', async () => {
    await using as = await startAuthorizationServer({ clients: [{ client_id: 'workload', grant_types }] })
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    as.faults.always('token', { status: 400, body: { error: 'invalid_grant', error_description: 'Unknown workload' } })
    const auth = workloadIdentity({ clientId: 'workload', assertion: 'a.b.c' })
    const error = await failureOf(join(gate, auth))
    expect(error.message).toMatch(/invalid_grant|Unknown workload/)
    expect(at(as, 'token')).toHaveLength(1)
    expect([...at(as, 'register'), ...at(as, 'authorize')]).toEqual([])
    expect(inspect(error, { depth: 9, showHidden: true })).not.toContain('a.b.c')
  })

  it('of an enterprise are vouched for by its identity provider [AUTH-107, AUTH-108, AUTH-110]', async () => {
    const atProvider = { client_id: 'app-there', client_secret: 'there' }
    const atServer = { client_id: 'app-here', client_secret: 'here' }
    await using provider = await startAuthorizationServer({ clients: [atProvider], clientIdAt: () => 'app-here' })
    const trustedIssuers = [{ issuer: provider.issuer, jwks: provider.jwks }]
    await using as = await startAuthorizationServer({ trustedIssuers, clients: [atServer] })
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    const idToken = await provider.signJwt({ sub: 'alice', aud: 'app-there' })
    const auth = enterpriseManaged({
      clientId: 'app-here',
      clientSecret: 'here',
      identityProvider: {
        tokenEndpoint: `${provider.issuer}/token`,
        issuer: provider.issuer,
        clientId: 'app-there',
        clientSecret: 'there',
        idToken,
      },
    })
    await using client = await join(gate, auth)
    expect((await client.callTool('ping')).text).toBe('pong')
    expect(at(provider, 'token')[0]!.params).toMatchObject({
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      requested_token_type: 'urn:ietf:params:oauth:token-type:id-jag',
      audience: as.issuer,
      resource: gate.url.href,
      subject_token: idToken,
      subject_token_type: 'urn:ietf:params:oauth:token-type:id_token',
    })
    const [{ params, headers }] = at(as, 'token') as [ReturnType<typeof at>[number]]
    expect(params.grant_type).toBe('urn:ietf:params:oauth:grant-type:jwt-bearer')
    expect(decodeProtectedHeader(params.assertion!).typ).toBe('oauth-id-jag+jwt')
    expect(headers.authorization).toBe(`Basic ${btoa('app-here:here')}`)
    expect([...at(as, 'authorize'), ...at(as, 'register')]).toEqual([])
  })
})

describe('tokens that are bound to a key', () => {
  it('come with a fresh proof on every request [AUTH-111]', async () => {
    await using as = await startAuthorizationServer({ dpop: 'required' })
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    const client = await join(gate, new User().auth({ dpop: true }), '2026-07-28')
    await client.callTool('ping')
    await client.close()
    const posts = gate.calls.filter((visit) => visit.method === 'POST' && tokenOf(visit) !== undefined)
    expect(posts.length).toBeGreaterThan(1)
    for (const { headers } of posts) {
      expect(headers.authorization).toMatch(/^DPoP /)
      expect(decodeJwt(headers.dpop as string)).toMatchObject({ htm: 'POST', htu: gate.url.href })
    }
    expect(new Set(posts.map(({ headers }) => decodeJwt(headers.dpop as string).jti)).size).toBe(posts.length)
    expect(decodeJwt(at(as, 'token')[0]!.headers.dpop as string)).toMatchObject({
      htm: 'POST',
      htu: `${as.issuer}/token`,
    })
  })

  it('carry the nonce that the token endpoint or the server wants, after one more try [AUTH-112]', async () => {
    await using as = await startAuthorizationServer({ dpop: 'required', dpopNonce: true })
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    gate.judge = (token, { headers }) => {
      if (token === undefined) return gate.refusal
      if (decodeJwt(headers.dpop as string).nonce === 'n0nce') return undefined
      return { status: 401, headers: { 'www-authenticate': 'DPoP error="use_dpop_nonce"', 'dpop-nonce': 'n0nce' } }
    }
    await using client = await join(gate, new User().auth({ dpop: true }))
    expect((await client.callTool('ping')).text).toBe('pong')
    expect(at(as, 'token')).toHaveLength(2)
    const without = gate.calls.filter(({ headers }) => headers.dpop && !decodeJwt(headers.dpop as string).nonce)
    expect(without).toHaveLength(1)
  })

  it('are not asked for nonces without end [AUTH-112]', async () => {
    await using as = await startAuthorizationServer()
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    gate.judge = (token) => {
      if (token === undefined) return gate.refusal
      const nonce = crypto.randomUUID()
      return { status: 401, headers: { 'www-authenticate': 'DPoP error="use_dpop_nonce"', 'dpop-nonce': nonce } }
    }
    const user = new User()
    await expect(join(gate, user.auth({ dpop: true, redirectUrl }))).rejects.toThrow(/401/)
    expect(gate.calls.length).toBeLessThan(6)
    expect(user.pages).toHaveLength(1)
  })
})

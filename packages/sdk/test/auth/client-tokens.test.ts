import { inspect } from 'node:util'
import { decodeJwt } from 'jose'
import { bearer, clientCredentials, MemoryTokenStore } from 'tenon/auth/client'
import { connect } from 'tenon/client'
import { startAuthorizationServer } from 'tenon/testing'
import { describe, expect, it, vi } from 'vitest'
import { movableDate } from '../kit/time.ts'
import {
  at,
  failureOf,
  forbidden,
  Gate,
  grants,
  join,
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

describe('access tokens', () => {
  it.each(['2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28'] as const)(
    'sends the token in the header of every request and in no URL (%s) [AUTH-009, AUTH-010, AUTH-011]',
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

  it('sends a token only to its own server, although the store is shared [AUTH-014, AUTH-042]', async () => {
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

  it('does not send a token across a redirect to another origin [AUTH-014]', async () => {
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

  it('drops tokens of an authorization server that the server no longer names [AUTH-014, AUTH-042]', async () => {
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

  it('includes no token in the error for an unusable token response [AUTH-097]', async () => {
    await using as = await startAuthorizationServer()
    as.faults.always('token', { body: { access_token: 'acc3ss', refresh_token: 'r3fresh', token_type: 7 } })
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    const error = await failureOf(join(gate, new User().auth()))
    expect(`${error.trace} ${inspect(error, { depth: 9, showHidden: true })}`).not.toMatch(/acc3ss|r3fresh/)
  })

  it('asks a function for another token once, and a fixed token is not sent again', async () => {
    await using gate = await Gate.start()
    gate.judge = () => gate.refusal
    let asked = 0
    const attempts = async (auth: ReturnType<typeof bearer>) => {
      const before = gate.calls.length
      await connect(gate.url, { revision: '2025-11-25', auth }).catch(() => {})
      return gate.calls.slice(before).map(({ headers }) => headers.authorization)
    }
    expect(await attempts(bearer(() => `token ${++asked}`))).toEqual(['Bearer token 1', 'Bearer token 2'])
    expect(await attempts(bearer('fixed'))).toEqual(['Bearer fixed'])
  })

  it('accepts a token from elsewhere [AUTH-005]', async () => {
    await using gate = await Gate.start()
    const own = await connect(gate.url, { revision: '2025-11-25', auth: bearer('of-my-own') })
    expect((await own.callTool('ping')).text).toBe('pong')
    await own.close()
    gate.judge = (_token, { headers }) => (headers['x-api-key'] === 'k' ? undefined : { status: 401 })
    await using keyed = await connect(gate.url, { revision: '2025-11-25', headers: { 'x-api-key': 'k' } })
    expect((await keyed.callTool('ping')).text).toBe('pong')
  })
})

describe('servers over stdio', () => {
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
    'passes credentials through the environment and prompts nobody (%s) [AUTH-001, AUTH-004]',
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

describe('refresh tokens', () => {
  it('refreshes a refused token for the same resource, at the token endpoint only [AUTH-067, AUTH-097]', async () => {
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

  it('keeps the refresh token when the response has no new one, and replaces it otherwise', async () => {
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

  it('is used when a short-lived token expires on its way to the server, without another login', async () => {
    const date = movableDate()
    await using as = await startAuthorizationServer({ refreshTokens: 'always', accessTokenSeconds: 2 })
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    const user = new User()
    await using client = await join(gate, user.auth(), '2026-07-28')
    const late = new Set<string>()
    gate.judge = (token, visit) => {
      if (token === undefined) return gate.refusal
      // The first two tokens of calls take longer than they live: the one of the login, and the first refreshed one.
      if (isCallOf(visit, 'ping') && late.size < 2) {
        late.add(token)
        date.advance(2_000)
      }
      return late.has(token) ? gate.refusal : undefined
    }
    expect((await client.callTool('ping')).text).toBe('pong')
    expect(late.size).toBe(2)
    expect(grants(as, 'refresh_token')).toHaveLength(2)
    expect(user.pages).toHaveLength(1)
  })

  it('prompts the user again when there is no refresh token [AUTH-100]', async () => {
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

  it('prompts the user when the refresh token is no longer valid [AUTH-100]', async () => {
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
    'registers again when the server has forgotten the client (%s)',
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

describe('step-up authorization', () => {
  async function stepwise(as: { issuer: string }) {
    const gate = await Gate.start({ authorizationServers: [as.issuer] })
    gate.challenge += ', scope="read"'
    gate.judge = (token, visit) => {
      if (token === undefined) return gate.refusal
      return isCallOf(visit, 'write') && !scopeOf(token).includes('write') ? forbidden('write') : undefined
    }
    return gate
  }

  it('repeats the request with the previous scopes plus the missing ones [AUTH-079, AUTH-080]', async () => {
    await using as = await startAuthorizationServer()
    await using gate = await stepwise(as)
    const user = new User()
    await using client = await join(gate, user.auth(), '2026-07-28')
    expect((await client.callTool('write')).text).toBe('written')
    expect(user.scopes).toEqual(['read', 'read write'])
  })

  it('prompts the user once when more scopes do not help [AUTH-081]', async () => {
    await using as = await startAuthorizationServer()
    await using gate = await stepwise(as)
    const user = new User()
    await using client = await join(gate, user.auth())
    as.faults.grantedScope = 'read'
    for (let round = 0; round < 3; round++) await expect(client.callTool('write')).rejects.toThrow(/403/)
    expect(user.pages).toHaveLength(2)
    expect((await client.callTool('ping')).text).toBe('pong')
  })

  it('can step up again after permission was lost [AUTH-079]', async () => {
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

  it('shares one prompt among calls that need the same scopes [AUTH-079]', async () => {
    await using as = await startAuthorizationServer()
    await using gate = await stepwise(as)
    const user = new User()
    await using client = await join(gate, user.auth())
    const results = await Promise.all(Array.from({ length: 5 }, () => client.callTool('write')))
    expect(results.map(({ text }) => text)).toEqual(Array(5).fill('written'))
    expect(user.pages).toHaveLength(2)
  })

  it('gets the scopes of a call although another call needs different ones [AUTH-079, AUTH-080]', async () => {
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

  it('steps up without rediscovering the metadata [AUTH-079]', async () => {
    await using as = await startAuthorizationServer()
    await using gate = await Gate.start({ authorizationServers: [as.issuer], places: ['/elsewhere'] })
    gate.judge = (token, visit) => {
      if (token === undefined) return gate.refusal
      return isCallOf(visit, 'write') && !scopeOf(token).includes('write') ? forbidden('write') : undefined
    }
    await using client = await join(gate, new User().auth())
    expect((await client.callTool('write')).text).toBe('written')
  })

  it('steps up with client credentials as well, or fails [AUTH-079]', async () => {
    const machine = { client_id: 'machine', client_secret: 's', grant_types: ['client_credentials'] }
    await using as = await startAuthorizationServer({ clients: [machine] })
    await using gate = await stepwise(as)
    await using client = await join(gate, clientCredentials({ clientId: 'machine', clientSecret: 's' }))
    expect((await client.callTool('write')).text).toBe('written')
    expect(at(as, 'token').map(({ params }) => params.scope)).toEqual(['read', 'read write'])
  })

  it('does not prompt for a 403 with another reason', async () => {
    await using as = await startAuthorizationServer()
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    const user = new User()
    await using client = await join(gate, user.auth())
    gate.judge = () => ({ status: 403 })
    await expect(client.callTool('write')).rejects.toThrow(/403/)
    expect(user.pages).toHaveLength(1)
  })
})

describe('stored credentials', () => {
  it('treats unreadable stored credentials as absent', async () => {
    await using as = await startAuthorizationServer()
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    const store = new MemoryTokenStore()
    await store.set(`tokens ${gate.url}`, '{"accessToken":')
    await store.set(`client ${as.issuer}`, 'null and void')
    await using client = await join(gate, new User().auth({ store }))
    expect((await client.callTool('ping')).text).toBe('pong')
  })

  it('reads the store again after a failed read', async () => {
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

  it('does not use a registration whose secret has expired', async () => {
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

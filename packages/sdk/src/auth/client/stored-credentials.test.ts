import { describe, expect, it } from 'vitest'
import { McpError } from '../../errors.ts'
import { deferred } from '../../util/deferred.ts'
import { MemoryTokenStore } from '../token-store.ts'
import { AuthContext, type AuthFetch, Trace } from './context.ts'
import type { Tokens } from './credentials.ts'
import type { Grant, GrantRequest } from './grants.ts'
import type { Discovery } from './metadata.ts'
import type { UserAgent } from './redirect-flow.ts'
import { StoredCredentials, type StoredCredentialsOptions } from './stored-credentials.ts'

const url = new URL('https://mcp.example/mcp?key=secret')
const tokensKey = 'tokens https://mcp.example/mcp'
const clientKey = 'client https://as.example'
const server = {
  issuer: 'https://as.example',
  authorization_endpoint: 'https://as.example/authorize',
  token_endpoint: 'https://as.example/token',
  code_challenge_methods_supported: ['S256'],
}
const discovery: Discovery = { server, resource: 'https://mcp.example/mcp', scopesSupported: ['r'] }
const tokens: Tokens = {
  issuer: server.issuer,
  clientId: 'c',
  resource: discovery.resource,
  accessToken: 't',
  tokenType: 'bearer',
  scopes: ['h'],
}

function start(
  more: Partial<StoredCredentialsOptions> = {},
  fetch: AuthFetch = () => Promise.reject(new Error('offline')),
) {
  const store = new MemoryTokenStore()
  const options = {
    identity: { clientName: 'App', clientId: 'c' },
    userAgent: undefined,
    grant: undefined,
    scopes: ['own'],
    store,
    dpop: false,
    ...more,
  }
  const context = new AuthContext(url, new Trace(), fetch)
  return { store, context, credentials: new StoredCredentials(url, options) }
}

/** A grant that notes what it is asked for. */
function grantWith(answer: object = {}, more: Partial<Grant> = {}) {
  const requests: GrantRequest[] = []
  const grant: Grant = {
    clientId: 'c',
    async obtain(request) {
      requests.push(request)
      return { access_token: 'new', token_type: 'bearer', ...answer } as never
    },
    ...more,
  }
  return { grant, requests }
}

const obtaining = (context: AuthContext, more: object = {}) => ({
  context,
  discovery,
  challenge: undefined,
  held: undefined,
  isStepUp: false,
  ...more,
})
const challengeFor = (scope: string, scheme = 'bearer') => ({ scheme, params: { scope } }) as never

describe('stored tokens', () => {
  it('are read once, without the query of the server', async () => {
    const { store, credentials } = start()
    store.set(tokensKey, JSON.stringify(tokens))
    const [first, second] = [credentials.tokens(), credentials.tokens()]
    expect(first).toBe(second)
    expect(await first).toEqual(tokens)
    store.set(tokensKey, 'changed')
    expect(credentials.tokens()).toEqual(tokens)
  })

  it('count as missing if they cannot be parsed', async () => {
    const { store, credentials } = start()
    store.set(tokensKey, '{')
    expect(await credentials.tokens()).toBeUndefined()
  })

  it('are read again after the store failed', async () => {
    let isDown = true
    class Store extends MemoryTokenStore {
      override get(key: string) {
        if (isDown) throw new Error('no disk')
        return super.get(key)
      }
    }
    const store = new Store()
    store.set(tokensKey, JSON.stringify(tokens))
    const { credentials } = start({ store })
    await expect(credentials.tokens()).rejects.toThrow('no disk')
    await expect(credentials.dpopKey()).rejects.toThrow('no disk')
    isDown = false
    expect(await credentials.tokens()).toEqual(tokens)
    expect(await credentials.dpopKey()).toBe(await credentials.dpopKey())
  })

  it('that are slow to read do not replace newer ones', async () => {
    const gate = deferred<void>()
    class Store extends MemoryTokenStore {
      override get(key: string) {
        const value = super.get(key)
        return gate.promise.then(() => value) as never
      }
    }
    const { credentials } = start({ store: new Store() })
    const slow = credentials.tokens()
    const grant = { server, clientId: 'c', resource: undefined, scopes: [] }
    await credentials.save({ access_token: 'new', token_type: 'bearer' }, grant)
    gate.resolve()
    expect(await slow).toMatchObject({ accessToken: 'new' })
  })

  it('are reloaded only if they are of the same issuer [AUTH-042]', async () => {
    const { store, credentials } = start()
    expect(await credentials.reload(discovery)).toBeUndefined()
    store.set(tokensKey, JSON.stringify(tokens))
    expect(await credentials.reload(discovery)).toEqual(tokens)
    expect(credentials.tokens()).toEqual(tokens)
    store.set(tokensKey, JSON.stringify({ ...tokens, issuer: 'https://other.example' }))
    expect(await credentials.reload(discovery)).toBeUndefined()
    expect(credentials.tokens()).toEqual(tokens)
  })

  it('are deleted alone, or with the client', async () => {
    for (const [what, hasClient] of [['tokens', true] as const, ['client', false] as const]) {
      const { store, credentials } = start()
      store.set(tokensKey, JSON.stringify(tokens))
      store.set(clientKey, '{}')
      await credentials.forget(what, server)
      expect([store.get(tokensKey), store.get(clientKey) !== undefined]).toEqual([undefined, hasClient])
    }
  })

  it('prefer the issuer of the grant to that of the client', () => {
    const identity = { clientName: 'App', issuer: 'https://client' }
    expect(start({ identity }).credentials.issuer).toBe('https://client')
    const { grant } = grantWith({}, { issuer: 'https://grant' })
    const { credentials } = start({ identity, grant })
    expect([credentials.issuer, credentials.isUnattended]).toEqual(['https://grant', true])
    expect(start().credentials.isUnattended).toBe(false)
  })
})

describe('a grant', () => {
  it('is stored without its refresh token', async () => {
    const { grant, requests } = grantWith({ refresh_token: 'r', scope: 'g' })
    const { store, context, credentials } = start({ grant })
    const expected = { issuer: server.issuer, clientId: 'c', accessToken: 'new', scopes: ['r', 'own', 'g'] }
    expect(await credentials.obtain(obtaining(context))).toMatchObject(expected)
    const stored = JSON.parse(store.get(tokensKey)!)
    expect(stored).toMatchObject(expected)
    expect(stored).not.toHaveProperty('refreshToken')
    expect(requests).toMatchObject([{ server, resource: discovery.resource, scopes: ['r', 'own'], dpop: undefined }])
    expect(String(context.trace)).toContain('+ token: from https://as.example/token')
  })

  it.each([
    ['the scopes of the challenge', { challenge: challengeFor('x') }, ['x', 'own']],
    ['those that it has of the same issuer', { held: tokens }, ['r', 'own', 'h']],
    ['not those that it has of another issuer', { held: { ...tokens, issuer: 'https://o' } }, ['r', 'own']],
    [
      'those that it has and the missing ones',
      { held: tokens, challenge: challengeFor('x h'), isStepUp: true },
      ['h', 'x'],
    ],
    ['the missing ones', { challenge: challengeFor('x'), isStepUp: true }, ['x']],
  ])('is for %s [AUTH-073, AUTH-074, AUTH-080]', async (_, more, scopes) => {
    const { grant, requests } = grantWith()
    const { context, credentials } = start({ grant })
    await credentials.obtain(obtaining(context, more))
    expect(requests[0]!.scopes).toEqual(scopes)
  })

  it.each([
    ['by option', { dpop: true }, {}, true],
    ['if the challenge requires it', {}, { challenge: challengeFor('x', 'dpop') }, true],
    ['if the previous token was', {}, { held: { ...tokens, tokenType: 'dpop' } }, true],
    ['not otherwise', {}, { challenge: challengeFor('x'), held: tokens }, false],
  ])('is bound to a key %s', async (_, options, more, isBound) => {
    const { grant, requests } = grantWith()
    const { store, context, credentials } = start({ grant, ...options })
    await credentials.obtain(obtaining(context, more))
    expect(requests[0]!.dpop !== undefined).toBe(isBound)
    expect(store.get('dpop https://mcp.example/mcp') !== undefined).toBe(isBound)
  })

  it('is never requested from another issuer than the first [AUTH-062]', async () => {
    const { grant, requests } = grantWith()
    const { context, credentials } = start({ grant })
    await credentials.obtain(obtaining(context))
    const elsewhere = { ...discovery, server: { ...server, issuer: 'https://other.example' } }
    await expect(credentials.obtain(obtaining(context, { discovery: elsewhere }))).rejects.toThrow(
      'The client id belongs to https://as.example, but the server requires tokens of https://other.example',
    )
    expect(requests).toHaveLength(1)
  })

  it('that fails says why, without secrets', async () => {
    const failure = Object.assign(new Error('refused'), { error: 'invalid_client', token: 'secret' })
    const { grant } = grantWith({}, { obtain: () => Promise.reject(failure) })
    const { context, credentials } = start({ grant })
    const error = await credentials.obtain(obtaining(context)).catch((reason) => reason)
    expect(error.message).toBe('https://as.example did not issue a token: refused (invalid_client)')
    expect(error.cause).toMatchObject({ error: 'invalid_client' })
    expect(error.cause).not.toHaveProperty('token')
    expect(String(context.trace)).toContain('! token: refused (invalid_client)')
  })
})

describe('a login', () => {
  /** A user who comes back with what `visit` returns, and whether the redirect was closed. */
  function agent(visit: (page: URL, state: string) => Promise<URLSearchParams>) {
    const log: unknown[] = []
    const userAgent: UserAgent = {
      async prepare(registered) {
        log.push(['prepare', registered])
        return {
          url: 'http://127.0.0.1:7/callback',
          visit: (page, state) => {
            log.push('visit')
            return visit(page, state)
          },
          close: async () => {
            await new Promise((resolve) => setImmediate(resolve))
            log.push('close')
          },
        }
      },
    }
    return { userAgent, log }
  }
  const agreed = async (_page: URL, state: string) => new URLSearchParams({ code: 'k', state })
  const issue: AuthFetch = async () => Response.json({ access_token: 'new', token_type: 'Bearer' })

  it('stores the tokens and the client, and closes the redirect', async () => {
    const { userAgent, log } = agent(agreed)
    const { store, context, credentials } = start({ userAgent }, issue)
    store.set(clientKey, JSON.stringify({ client_id: 'c', redirectUrl: 'http://127.0.0.1:5/callback' }))
    expect(await credentials.obtain(obtaining(context))).toMatchObject({ accessToken: 'new', clientId: 'c' })
    expect(log).toEqual([['prepare', 'http://127.0.0.1:5/callback'], 'visit', 'close'])
    expect(JSON.parse(store.get(tokensKey)!)).toMatchObject({ accessToken: 'new' })
  })

  it('needs a user', async () => {
    const { context, credentials } = start()
    await expect(credentials.obtain(obtaining(context))).rejects.toThrow(
      'Login required, but this client cannot ask a user. Send the user to beginAuthorization, or pass `authorize` to oauth()',
    )
    expect(String(context.trace)).toBe('! authorization: no user can be asked')
  })

  it('that the user does not finish fails, and closes the redirect', async () => {
    const { userAgent, log } = agent(() => Promise.reject(new Error('window closed')))
    const { context, credentials } = start({ userAgent })
    await expect(credentials.obtain(obtaining(context))).rejects.toThrow(/^The user did not log in: window closed$/)
    expect(log.at(-1)).toBe('close')
    expect(String(context.trace)).toContain('! authorization: window closed')
  })

  it('that cannot listen names the way out', async () => {
    const userAgent = { prepare: () => Promise.reject(new McpError('listen-failed', 'no port')) }
    const { context, credentials } = start({ userAgent })
    await expect(credentials.obtain(obtaining(context))).rejects.toThrow(
      'The user did not log in: no port. Pass `authorize` to oauth(), or send the user to beginAuthorization',
    )
  })

  it.each([
    ['invalid_client', false],
    ['invalid_grant', true],
  ])('that fails with %s forgets the client only if the server does not know it', async (error, isKept) => {
    const { userAgent, log } = agent(agreed)
    const refuse: AuthFetch = async () => Response.json({ error }, { status: 400 })
    const { store, context, credentials } = start({ userAgent }, refuse)
    await expect(credentials.obtain(obtaining(context))).rejects.toThrow('did not issue a token')
    expect(store.get(clientKey) !== undefined).toBe(isKept)
    expect(log.at(-1)).toBe('close')
  })
})

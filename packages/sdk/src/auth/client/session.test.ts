import { describe, expect, it } from 'vitest'
import { movableDate } from '../../../test/kit/time.ts'
import { AuthError } from '../../errors.ts'
import type { AuthContext, AuthFetch } from './context.ts'
import type { Credentials, IssuedGrant, ObtainRequest, Tokens } from './credentials.ts'
import type { DpopKey } from './dpop.ts'
import { OAuthSession } from './session.ts'

const url = new URL('https://mcp.example/mcp')
const issuer = 'https://as.example'
const resource = url.href
const request = { method: 'POST', url, revision: '2025-11-25' }
const token = (accessToken: string, more: Partial<Tokens> = {}): Tokens => ({
  issuer,
  clientId: 'c',
  resource,
  accessToken,
  tokenType: 'bearer',
  scopes: ['a'],
  ...more,
})

interface Setup {
  tokens?: Tokens | undefined
  /** What the token endpoint answers to a refresh. */
  refresh?: () => Response
  credentials?: Partial<Credentials>
}

function start({ tokens, refresh = () => new Response(null, { status: 500 }), credentials = {} }: Setup = {}) {
  const state = { tokens, client: true, count: 0 }
  const log: string[] = []
  const seen: ObtainRequest[] = []
  const fetch: AuthFetch = async (at, init) => {
    log.push(at.replace(/^https:\/\//, ''))
    if (at === `${issuer}/token`) {
      log.push(String(init.body))
      return refresh()
    }
    if (at === `${issuer}/.well-known/oauth-authorization-server`) {
      return Response.json({ issuer, token_endpoint: `${issuer}/token` })
    }
    return Response.json({ resource, authorization_servers: [issuer] })
  }
  const own: Credentials = {
    failureMessage: 'It failed',
    isUnattended: false,
    isPending: false,
    tokens: () => state.tokens,
    reload: async () => state.tokens,
    lock: (work) => work(),
    client: async () =>
      state.client ? { client_id: 'c', token_endpoint_auth_method: 'none', origin: 'given' } : undefined,
    save: async (response, grant: IssuedGrant) => {
      log.push(`save ${response.access_token} ${grant.refreshToken} ${grant.scopes}`)
      state.tokens = token(response.access_token, { refreshToken: response.refresh_token ?? grant.refreshToken })
      return state.tokens
    },
    forget: async (what) => void log.push(`forget ${what}`),
    obtain: async (asked) => {
      seen.push(asked)
      log.push('obtain')
      state.tokens = token(`obtained ${++state.count}`)
      return state.tokens
    },
    ...credentials,
  }
  const session = new OAuthSession(url, own, fetch)
  const refuse = async (more: { status?: number; challenge?: string; count?: number; sent?: string } = {}) => {
    const { status = 401, challenge = 'Bearer', count = 1 } = more
    const sent = more.sent === undefined ? await session.headers(request) : { authorization: more.sent }
    const header = (name: string) => (name === 'www-authenticate' ? challenge : undefined)
    return session.onUnauthorized({ ...request, status, header, sent, count } as never)
  }
  return { session, state, log, seen, refuse }
}

const refreshed =
  (more: object = {}) =>
  () =>
    Response.json({ access_token: 'fresh', token_type: 'Bearer', expires_in: 60, ...more })
const insufficient = (scope: string) => `Bearer error="insufficient_scope", scope="${scope}"`

describe('a request that is refused', () => {
  it('obtains tokens, and is repeated', async () => {
    const { refuse, log, seen, session } = start()
    expect(await refuse()).toBe(true)
    expect(log.at(-1)).toBe('obtain')
    expect(seen).toMatchObject([{ isStepUp: false, held: undefined, discovery: { resource } }])
    expect(await session.headers(request)).toEqual({ authorization: 'Bearer obtained 1' })
    expect(await session.scopes()).toEqual(['a'])
  })

  it('is repeated at once if it was sent with another token than the current', async () => {
    const { refuse, log } = start({ tokens: token('new') })
    expect(await refuse({ sent: 'Bearer old' })).toBe(true)
    expect(await refuse({ sent: 'Bearer xnew' })).toBe(true)
    expect(log).toEqual([])
  })

  it('fails after the second refusal, and at a 403 that is not about scopes [AUTH-081]', async () => {
    const { refuse, log } = start({ tokens: token('t') })
    expect(await refuse({ count: 3 })).toBe(false)
    expect(await refuse({ status: 403 })).toBe(false)
    expect(await refuse({ status: 403, challenge: 'Bearer error="invalid_token"' })).toBe(false)
    expect(log).toEqual([])
    expect(await refuse({ count: 2 })).toBe(true)
  })

  it('fails if a token is rejected that was just obtained, but not five seconds later', async () => {
    const time = movableDate()
    const { refuse } = start()
    await refuse()
    await expect(refuse()).rejects.toThrow('The server rejected (HTTP 401) a token that was just issued.')
    time.advance(4_999)
    await expect(refuse()).rejects.toThrow(AuthError)
    time.advance(1)
    expect(await refuse()).toBe(true)
  })

  it('discovers again, because the server may have another authorization server now', async () => {
    const time = movableDate()
    const { refuse, log } = start()
    await refuse({ challenge: 'Bearer resource_metadata="https://mcp.example/meta"' })
    time.advance(5_000)
    await refuse()
    expect(log.filter((line) => line === 'mcp.example/meta')).toHaveLength(2)
  })
})

describe('a request that lacks scopes', () => {
  it('asks for each set of missing scopes once, until there is another login [AUTH-080, AUTH-081]', async () => {
    const time = movableDate()
    const { refuse, seen, log } = start({ tokens: token('t') })
    const write = { status: 403, challenge: insufficient('w') }
    expect(await refuse(write)).toBe(true)
    expect(await refuse(write)).toBe(false)
    expect(await refuse({ status: 403, challenge: insufficient('x') })).toBe(true)
    expect(seen.map(({ isStepUp, challenge }) => [isStepUp, challenge?.params.scope])).toEqual([
      [true, 'w'],
      [true, 'x'],
    ])
    time.advance(5_000)
    expect(await refuse()).toBe(true)
    expect(await refuse(write)).toBe(true)
    expect(log.filter((line) => line === 'obtain')).toHaveLength(4)
  })

  it('asks again after a failure only while the user has not decided', async () => {
    for (const isPending of [true, false]) {
      let calls = 0
      const obtain = async () => {
        calls++
        throw new AuthError('no', { steps: [] } as never)
      }
      const { refuse } = start({ tokens: token('t'), credentials: { obtain, isPending } })
      const write = { status: 403, challenge: insufficient('w') }
      await expect(refuse(write)).rejects.toThrow('no')
      if (isPending) await expect(refuse(write)).rejects.toThrow('no')
      else expect(await refuse(write)).toBe(false)
      expect(calls).toBe(isPending ? 2 : 1)
    }
  })

  it('is not asked for what was obtained outside of a request', async () => {
    const { session, refuse, log, state } = start({ tokens: token('t') })
    await session.complete(async () => {
      state.tokens = token('done')
      return { accessToken: 'done', missing: 'w' }
    })
    expect(await refuse({ status: 403, challenge: insufficient('w') })).toBe(false)
    await expect(refuse()).rejects.toThrow('just issued')
    expect(log).not.toContain('obtain')
    const failing = session.complete(() => Promise.reject(new Error('no code')))
    await expect(failing).rejects.toThrow('It failed: no code')
  })
})

describe('a refresh', () => {
  const held = (more: Partial<Tokens> = {}) => token('old', { refreshToken: 'r', ...more })

  it('replaces a refused token without the user, for the same resource', async () => {
    const { refuse, log, session } = start({ tokens: held(), refresh: refreshed() })
    expect(await refuse()).toBe(true)
    expect(log.slice(-2)).toEqual([expect.stringContaining('grant_type=refresh_token'), 'save fresh r a'])
    expect(new URLSearchParams(log.at(-2)).get('resource')).toBe(resource)
    expect(await session.headers(request)).toEqual({ authorization: 'Bearer fresh' })
  })

  it.each([
    ['there is no refresh token', { tokens: token('old') }, {}],
    ['there is no client', { tokens: held() }, { client: false }],
    ['the token is for another resource', { tokens: held({ resource: 'https://other.example' }) }, {}],
  ])('is not tried if %s', async (_, setup: Setup, more) => {
    const { refuse, log, state } = start({ ...setup, refresh: refreshed() })
    Object.assign(state, more)
    await refuse()
    expect(log).not.toContain('as.example/token')
    expect(log.at(-1)).toBe('obtain')
  })

  it('is not tried for missing scopes, nor again right after it was rejected', async () => {
    const { refuse, log } = start({ tokens: held(), refresh: refreshed() })
    await refuse({ status: 403, challenge: insufficient('w') })
    expect(log).not.toContain('as.example/token')
    const again = start({ tokens: held(), refresh: refreshed() })
    await again.refuse()
    await again.refuse()
    expect(again.log.filter((line) => line === 'as.example/token')).toHaveLength(1)
    expect(again.log.at(-1)).toBe('obtain')
  })

  it('uses the token that another process has obtained', async () => {
    const { refuse, log } = start({ tokens: held(), credentials: { reload: async () => token('theirs') } })
    expect(await refuse()).toBe(true)
    expect(log).not.toContain('obtain')
    expect(log).not.toContain('as.example/token')
  })

  it.each([
    ['invalid_grant', 'tokens'],
    ['invalid_client', 'client'],
    ['unauthorized_client', 'client'],
  ])('that fails with %s forgets the %s and asks the user', async (error, what) => {
    const refresh = () => Response.json({ error }, { status: 400 })
    const { refuse, log } = start({ tokens: held(), refresh })
    expect(await refuse()).toBe(true)
    expect(log.slice(-2)).toEqual([`forget ${what}`, 'obtain'])
  })

  it('that fails otherwise keeps the tokens and does not ask the user', async () => {
    const refresh = () => Response.json({ error: 'server_error' }, { status: 400 })
    const { refuse, log } = start({ tokens: held(), refresh })
    const error = await refuse().catch((reason) => reason)
    expect(error).toBeInstanceOf(AuthError)
    expect(error.message).toMatch(/^The token could not be refreshed: .*\(server_error\)$/)
    expect(error.cause).toMatchObject({ error: 'server_error' })
    expect(log.filter((line) => /forget|obtain/.test(line))).toEqual([])
  })

  it('happens before a token becomes stale, once for many requests', async () => {
    const now = Date.now()
    const { session, log } = start({
      tokens: held({ staleAt: now - 1, expiresAt: now + 60_000 }),
      refresh: refreshed(),
    })
    const all = await Promise.all([1, 2, 3].map(() => session.headers(request)))
    expect(all).toEqual([1, 2, 3].map(() => ({ authorization: 'Bearer fresh' })))
    expect(log.filter((line) => line === 'as.example/token')).toHaveLength(1)
  })

  it('of a stale token may fail while the token is valid, not later', async () => {
    const time = movableDate()
    const expiresAt = Date.now() + 1_000
    const { session } = start({ tokens: held({ staleAt: 1, expiresAt }) })
    expect(await session.headers(request)).toEqual({ authorization: 'Bearer old' })
    time.advance(999)
    expect(await session.headers(request)).toEqual({ authorization: 'Bearer old' })
    time.advance(1)
    await expect(session.headers(request)).rejects.toThrow('could not be refreshed')
    const unknown = start({ tokens: held({ staleAt: 1 }) })
    await expect(unknown.session.headers(request)).rejects.toThrow('could not be refreshed')
  })

  it('of a stale token is not tried if it needs a user', async () => {
    const { session, log } = start({ tokens: token('old', { staleAt: 1 }) })
    expect(await session.headers(request)).toEqual({ authorization: 'Bearer old' })
    expect(log).toEqual([])
    const unattended = start({ tokens: token('old', { staleAt: 1 }), credentials: { isUnattended: true } })
    expect(await unattended.session.headers(request)).toEqual({ authorization: 'Bearer obtained 1' })
  })
})

describe('a token that is bound to a key', () => {
  const key = () => ({
    nonce: undefined as string | undefined,
    proof: async (...given: unknown[]) => `proof ${given.join(' ')}`,
  })

  it('is sent with a proof, and the nonce of the server is used next', async () => {
    const dpop = key()
    const tokens = token('t', { tokenType: 'dpop' })
    const { session } = start({ tokens, credentials: { dpopKey: async () => dpop as unknown as DpopKey } })
    const reply = (nonce: string | undefined, error: string) => (name: string) =>
      name === 'dpop-nonce' ? nonce : name === 'www-authenticate' ? `DPoP error="${error}"` : undefined
    session.onAccepted({ header: reply('too early', '') })
    expect(await session.headers(request)).toEqual({
      authorization: 'DPoP t',
      dpop: 'proof POST https://mcp.example/mcp t',
    })
    session.onAccepted({ header: reply('one', '') })
    expect(dpop.nonce).toBe('one')
    session.onAccepted({ header: reply(undefined, '') })
    expect(dpop.nonce).toBe('one')
    const refusal = { ...request, status: 401, header: reply('two', 'use_dpop_nonce'), sent: {} }
    expect(await session.onUnauthorized({ ...refusal, count: 2 } as never)).toBe(true)
    expect(dpop.nonce).toBe('two')
    expect(await session.onUnauthorized({ ...refusal, count: 3 } as never)).toBe(false)
  })

  it('cannot be sent as such without a key', async () => {
    const { session } = start({ tokens: token('t', { tokenType: 'dpop' }) })
    expect(await session.headers(request)).toEqual({ authorization: 'Bearer t' })
    expect(await start().session.headers(request)).toEqual({})
  })
})

it('changes the discovery as the credentials say, and prefers their issuer', async () => {
  const seen: unknown[] = []
  const onDiscovery: Credentials['onDiscovery'] = async (found) => {
    seen.push(found.resource)
    return { ...found, resource: 'https://chosen.example' }
  }
  const { refuse, seen: asked } = start({ credentials: { onDiscovery } })
  await refuse()
  expect(seen).toEqual([resource])
  expect(asked[0]!.discovery.resource).toBe('https://chosen.example')
})

it('reports failures of the credentials without their details', async () => {
  const obtain = () => Promise.reject(Object.assign(new Error('no disk'), { token: 'secret' }))
  const { refuse } = start({ credentials: { obtain } })
  const error = await refuse().catch((reason) => reason)
  expect(error.message).toBe('It failed: no disk')
  expect(error.cause).not.toHaveProperty('token')
})

it('sends token requests in the way of the credentials', async () => {
  const contexts: AuthContext[] = []
  const tokenContext: Credentials['tokenContext'] = (context) => {
    contexts.push(context)
    return context
  }
  const { refuse } = start({
    tokens: token('t', { refreshToken: 'r' }),
    refresh: refreshed(),
    credentials: { tokenContext },
  })
  await refuse()
  expect(contexts).toHaveLength(1)
})

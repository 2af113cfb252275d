import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { movableDate } from '../../../test/kit/time.ts'
import type { AuthInfo, DpopCheck, TokenRequest } from './options.ts'
import { TokenCheck, type TokenCheckOptions } from './token-check.ts'

const metadataUrl = 'https://mcp.example/.well-known/oauth-protected-resource/mcp'
const resource = 'https://mcp.example/mcp'

interface Attempt extends Partial<TokenCheckOptions> {
  authorization?: string | undefined
  url?: string
  /** What `verify` returns. */
  found?: unknown
}

async function attempt({ authorization = 'Bearer t', url = '/mcp', found = {}, ...options }: Attempt) {
  const errors: unknown[] = []
  const request: TokenRequest = {
    method: 'POST',
    urls: [resource],
    header: (name) => (name === 'authorization' ? authorization || undefined : undefined),
    isFor: (audience) => audience === resource,
  }
  const check = new TokenCheck({ verify: () => found as AuthInfo, ...options })
  const context = { request, metadataUrl, reportError: (error: unknown) => errors.push(error) }
  return { outcome: await check.check({ url }, context), errors }
}

const dpopWith = (result: object, required = false): DpopCheck => ({
  algorithms: ['ES256', 'EdDSA'],
  required,
  check: async () => result,
})
const bound = { scopes: [], claims: { cnf: { jkt: 'thumb' } } }
const resourceMetadata = `resource_metadata="${metadataUrl}"`

describe('a request', () => {
  it.each<[string, Attempt, number, string, object | undefined]>([
    ['without a token', { authorization: '' }, 401, `Bearer ${resourceMetadata}`, undefined],
    ['with another scheme', { authorization: 'Basic x' }, 401, `Bearer ${resourceMetadata}`, undefined],
    [
      'without a token where two schemes are accepted',
      { authorization: '', dpop: dpopWith({}) },
      401,
      `Bearer ${resourceMetadata}, DPoP ${resourceMetadata}, algs="ES256 EdDSA"`,
      undefined,
    ],
    [
      'without a token where DPoP is required',
      { authorization: '', dpop: dpopWith({}, true), requiredScopes: ['a'] },
      401,
      `DPoP scope="a", ${resourceMetadata}, algs="ES256 EdDSA"`,
      undefined,
    ],
  ])('%s is asked for one [AUTH-006]', async (_, given, status, challenge, data) => {
    const { outcome, errors } = await attempt(given)
    expect(outcome).toMatchObject({ status, headers: { 'www-authenticate': challenge } })
    expect((outcome as { data?: unknown }).data).toEqual(data)
    expect(errors).toEqual([])
  })

  it.each<[string, Attempt, number, string, string]>([
    ['a token in its URL', { url: '/mcp?a=1&access_token=t' }, 400, 'invalid_request', 'Access tokens in the URL'],
    ['a token in its URL, in capitals', { url: '/mcp?Access_Token=t' }, 400, 'invalid_request', 'Access tokens in the'],
    ['two tokens', { authorization: 'Bearer a, Bearer b' }, 400, 'invalid_request', 'Malformed Authorization header'],
    ['a scheme alone', { authorization: 'Bearer' }, 400, 'invalid_request', 'Malformed Authorization header'],
    ['a token with blanks', { authorization: 'Bearer a b' }, 400, 'invalid_request', 'Malformed Authorization header'],
    ['an invalid token', { verify: () => undefined }, 401, 'invalid_token', 'The access token is not valid.'],
    [
      'a token for another server',
      { found: { resource: 'https://b' } },
      401,
      'invalid_token',
      'The access token was issued for another',
    ],
    [
      'a token without an end in time',
      { found: { expiresAt: Number.NaN } },
      401,
      'invalid_token',
      'The access token has expired.',
    ],
    [
      'a token of too little scope',
      { requiredScopes: ['a', 'b'], found: { scopes: ['a'] } },
      403,
      'insufficient_scope',
      'Insufficient scope',
    ],
    [
      'a bound token as a bearer token',
      { found: bound },
      401,
      'invalid_token',
      'Send this access token with the DPoP scheme',
    ],
    [
      'an unbound token where DPoP is required',
      { dpop: dpopWith({}, true) },
      401,
      'invalid_token',
      'Send this access token with the DPoP',
    ],
    [
      'DPoP where it is not supported',
      { authorization: 'DPoP t', found: bound },
      401,
      'invalid_token',
      'The DPoP scheme is not supported.',
    ],
    [
      'an unbound token with DPoP',
      { authorization: 'DPoP t', dpop: dpopWith({}) },
      401,
      'invalid_token',
      'The access token is not bound',
    ],
  ])('with %s is refused [AUTH-006, AUTH-007, AUTH-012]', async (_, given, status, error, description) => {
    const { outcome, errors } = await attempt(given)
    expect(outcome).toMatchObject({ status, message: expect.stringContaining(description), data: { error } })
    const header = (outcome.headers as Record<string, string>)['www-authenticate']
    expect(header).toContain(`error="${error}", error_description="`)
    expect(header).toContain(resourceMetadata)
    expect(errors).toEqual([])
  })

  it('of too little scope learns all scopes that it needs, but not offline_access [AUTH-075, AUTH-101]', async () => {
    const { outcome } = await attempt({ requiredScopes: ['a', 'offline_access', 'b'], found: { scopes: ['a'] } })
    expect(outcome).toMatchObject({
      headers: { 'www-authenticate': expect.stringContaining('scope="a b"') },
      data: { error: 'insufficient_scope', scopes: ['a', 'offline_access', 'b'] },
    })
  })

  it.each<[string, Attempt, string]>([
    [
      'a problem with its proof',
      { dpop: dpopWith({ problem: { error: 'use_dpop_nonce', description: 'N' }, nonce: 'n' }) },
      'n',
    ],
    [
      'a problem without a nonce',
      { dpop: dpopWith({ problem: { error: 'invalid_dpop_proof', description: 'N' } }) },
      '',
    ],
  ])('with %s is refused with the scheme that it used', async (_, given, nonce) => {
    const { outcome } = await attempt({ authorization: 'DPoP t', found: bound, ...given })
    expect(outcome).toMatchObject({ status: 401, message: 'N' })
    const headers = outcome.headers as Record<string, string>
    expect(headers['www-authenticate']).toMatch(/^DPoP error="/)
    expect(headers['dpop-nonce'] ?? '').toBe(nonce)
  })

  it('that proves its key passes, with the next nonce', async () => {
    const given = { authorization: 'DPoP t', found: bound }
    expect((await attempt({ ...given, dpop: dpopWith({ nonce: 'n' }) })).outcome).toMatchObject({
      scheme: 'DPoP',
      headers: { 'dpop-nonce': 'n' },
    })
    expect((await attempt({ ...given, dpop: dpopWith({}) })).outcome.headers).toBeUndefined()
  })

  it('is refused at the second in which its token expires [AUTH-012]', async () => {
    const time = movableDate()
    const expiresAt = Math.floor(Date.now() / 1_000) + 60
    time.advance(expiresAt * 1_000 - Date.now() - 1)
    expect((await attempt({ found: { expiresAt } })).outcome).toMatchObject({ auth: { expiresAt } })
    time.advance(1)
    expect((await attempt({ found: { expiresAt } })).outcome).toMatchObject({ status: 401 })
  })
})

describe('a verifier', () => {
  it.each([
    ['an OAuth error name', { errorCode: 'invalid_token' }],
    ['an OAuth error code', { code: 'invalid_token' }],
    ['an expired JWT', { code: 'ERR_JWT_EXPIRED' }],
    ['a wrong signature', { code: 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED' }],
    ['an unknown key', { code: 'ERR_JWKS_NO_MATCHING_KEY' }],
    ['a forbidden algorithm', { code: 'ERR_JOSE_ALG_NOT_ALLOWED' }],
  ])('that throws %s refuses the token [AUTH-006]', async (_, members) => {
    const verify = () => Promise.reject(Object.assign(new Error('no'), members))
    const { outcome, errors } = await attempt({ verify })
    expect(outcome).toMatchObject({ status: 401, data: { error: 'invalid_token' } })
    expect(errors).toEqual([])
  })

  it.each([
    ['an error', new TypeError('no network')],
    ['an error of another kind', Object.assign(new TypeError('x'), { code: 'ERR_JWKS_TIMEOUT' })],
    ['an error with a number as code', Object.assign(new TypeError('x'), { code: 5 })],
    ['text', 'nothing but text'],
    ['nothing', undefined],
  ])('that throws %s leaves open whether the token is valid: 503', async (_, error) => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    onTestFinished(() => warn.mockRestore())
    const { outcome, errors } = await attempt({ verify: () => Promise.reject(error) })
    expect(outcome).toEqual({
      status: 503,
      message: 'The access token could not be verified. Try again later.',
      headers: { 'retry-after': '1' },
    })
    expect(errors).toEqual([error])
  })

  it('that returns something else than an identity is reported', async () => {
    const { outcome, errors } = await attempt({ found: true })
    expect(outcome).toMatchObject({ status: 503 })
    expect(String(errors[0])).toContain('auth.verify returned true.')
    expect((await attempt({ found: null })).outcome).toMatchObject({ status: 401 })
  })

  it('that returns scopes as text is reported', async () => {
    await expect(attempt({ found: { scopes: 'a b' } })).rejects.toThrow(
      'auth.verify must return `scopes` as an array of strings.',
    )
  })

  it('must be a function', () => {
    expect(() => new TokenCheck({ verify: {} as never })).toThrow('auth.verify must be a function')
  })

  it('of proofs that fails leaves open whether the token is valid: 503', async () => {
    const failure = new Error('no store')
    const dpop = { ...dpopWith({}), check: () => Promise.reject(failure) }
    const { outcome, errors } = await attempt({ authorization: 'DPoP t', found: bound, dpop })
    expect(outcome).toMatchObject({ status: 503 })
    expect(errors).toEqual([failure])
  })
})

describe('the identity of a request', () => {
  it('has the known members only, and cannot be changed [AUTH-094]', async () => {
    const known = { issuer: 'https://as', clientId: 'c', expiresAt: 9e9, resource, claims: { sub: 's' } }
    const { outcome } = await attempt({ found: { ...known, scopes: ['a'], token: 'secret', other: 1 } })
    if (!('auth' in outcome)) throw new Error('refused')
    expect(outcome.auth).toEqual({ ...known, subject: 's', scopes: ['a'] })
    expect([Object.isFrozen(outcome.auth), Object.isFrozen(outcome.auth.scopes)]).toEqual([true, true])
  })

  it('has no members that the verifier does not return', async () => {
    expect((await attempt({})).outcome).toMatchObject({ auth: {}, scheme: 'Bearer', principal: expect.any(String) })
    const { outcome } = await attempt({})
    expect(Object.keys((outcome as { auth: object }).auth)).toEqual(['scopes'])
  })

  it('has the scopes that its scopes imply, in chains and circles [AUTH-078]', async () => {
    const impliedScopes = { admin: ['write'], write: ['read'], read: ['admin'] }
    const { outcome } = await attempt({
      impliedScopes,
      requiredScopes: ['read'],
      found: { scopes: ['admin', 'toString'] },
    })
    expect(outcome).toMatchObject({ auth: { scopes: ['admin', 'toString', 'write', 'read'] } })
  })
})

describe('the scopes of the options', () => {
  it.each(['', 'a b', 'a"b', 'a\\b', 'ä', 1])('must be valid: %o', (scope) => {
    const verify = () => undefined
    for (const option of [{ requiredScopes: ['a', scope as string] }, { impliedScopes: { a: [scope as string] } }]) {
      const [name] = Object.keys(option)
      expect(() => new TokenCheck({ verify, ...option })).toThrow(
        `Invalid scope in auth.${name}: ${JSON.stringify(scope)}. A scope has no spaces and no quotes.`,
      )
    }
  })

  it('must be lists', () => {
    const options = { verify: () => undefined, requiredScopes: 'a' as never }
    expect(() => new TokenCheck(options)).toThrow('auth.requiredScopes must be an array of strings.')
  })
})

it('names the needed scopes after the required ones when an operation needs more [AUTH-075, AUTH-076]', () => {
  const check = new TokenCheck({ verify: () => undefined, requiredScopes: ['a'], dpop: dpopWith({}) })
  expect(check.insufficient('Bearer', ['b', 'a'], undefined)).toBe(
    'Bearer error="insufficient_scope", error_description="Insufficient scope: the access token does not allow this request.", scope="a b"',
  )
  expect(check.insufficient('DPoP', [], metadataUrl)).toContain('algs="ES256 EdDSA"')
})

import { describe, expect, it } from 'vitest'
import { movableDate } from '../../../test/kit/time.ts'
import type { UpstreamProvider } from './providers.ts'
import { Upstream, UpstreamDenied, UpstreamEnded } from './upstream.ts'

const issuer = 'https://id.example'
const callbackUrl = 'https://mcp.example/callback'
const metadata = { issuer, authorization_endpoint: `${issuer}/authorize`, token_endpoint: `${issuer}/token` }
const own = {
  issuer,
  name: 'Example ID',
  clientId: 'c',
  clientSecret: 's',
  scopes: ['openid', 'email'],
  subject: { url: 'https://api.example/user', member: 'id' },
  endpoints: { authorization: `${issuer}/authorize?prompt=login`, token: `${issuer}/token` },
}

/** A provider that answers what the test says. */
function start(answers: Record<string, () => Response> = {}, more: object = {}) {
  const sent: { url: string; headers: Headers; params: Record<string, string> }[] = []
  const upstream = new Upstream({ ...own, ...more } as UpstreamProvider, callbackUrl, async (url, init) => {
    const headers = new Headers(init?.headers)
    sent.push({ url: String(url), headers, params: Object.fromEntries(new URLSearchParams(String(init?.body ?? ''))) })
    return answers[String(url)]?.() ?? new Response('nothing', { status: 404 })
  })
  return { upstream, sent }
}

const token =
  (more: object = {}) =>
  () =>
    Response.json({ access_token: 't', token_type: 'Bearer', ...more })
const user =
  (more: object = {}) =>
  () =>
    Response.json({ id: 7, name: 'Ann', secret: 'x', ...more })
const tokenUrl = `${issuer}/token`
const userUrl = 'https://api.example/user'

describe('a provider', () => {
  it.each([
    [{ clientId: '' }, 'broker: upstream must have name, clientId and scopes.'],
    [{ name: '' }, 'broker: upstream must have name, clientId and scopes.'],
    [{ scopes: 'openid' }, 'broker: upstream must have name, clientId and scopes.'],
    [{ issuer: 'http://id.example' }, 'broker: upstream.issuer must be an https: URL'],
    [{ endpoints: { authorization: 'x', token: tokenUrl } }, 'broker: upstream.endpoints.authorization must be'],
    [{ subject: { url: 'http://api.example', member: 'id' } }, 'broker: upstream.subject.url must be'],
  ])('is refused: %o', (more, message) => {
    expect(() => start({}, more)).toThrow(message)
  })

  it('gets the user with its own parameters, which cannot replace ours', async () => {
    const { upstream } = start({}, { parameters: { access_type: 'offline', state: 'mine' } })
    const { url, flow } = await upstream.begin()
    expect(Object.fromEntries(new URL(url).searchParams)).toEqual({
      prompt: 'login',
      access_type: 'offline',
      response_type: 'code',
      client_id: 'c',
      redirect_uri: callbackUrl,
      scope: 'openid email',
      state: flow.state,
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge_method: 'S256',
    })
    expect(flow.nonce).toBeUndefined()
    const plain = await start({}, { pkce: false }).upstream.begin()
    expect([plain.flow.codeVerifier, new URL(plain.url).searchParams.has('code_challenge')]).toEqual([undefined, false])
  })

  it('is discovered if it has no endpoints, for an hour, and again after a failure', async () => {
    const time = movableDate()
    const place = `${issuer}/.well-known/openid-configuration`
    let isDown = true
    const answer = () => (isDown ? new Response(null, { status: 500 }) : Response.json(metadata))
    const { upstream, sent } = start({ [place]: answer }, { endpoints: undefined, subject: undefined })
    await expect(upstream.begin()).rejects.toThrow()
    isDown = false
    const { url, flow } = await upstream.begin()
    expect(new URL(url).searchParams.get('nonce')).toBe(flow.nonce)
    expect(flow.nonce).toEqual(expect.any(String))
    time.advance(3_599_999)
    await upstream.begin()
    expect(sent).toHaveLength(2)
    time.advance(1)
    await upstream.begin()
    expect(sent).toHaveLength(3)
  })

  it('with a page that is not secure is refused [AUTH-089]', async () => {
    const answer = () => Response.json({ ...metadata, authorization_endpoint: 'http://id.example/authorize' })
    const { upstream } = start(
      { [`${issuer}/.well-known/openid-configuration`]: answer },
      { endpoints: undefined, subject: undefined },
    )
    await expect(upstream.begin()).rejects.toThrow('The authorization endpoint of the provider must be an https: URL')
  })
})

describe('a user who comes back from the provider', () => {
  const answers = { [tokenUrl]: token({ refresh_token: 'r', expires_in: 60 }), [userUrl]: user() }
  const flow = { state: 'x', codeVerifier: 'v'.repeat(43) }
  const back = (params: Record<string, string>) => new URLSearchParams(params)

  it('is known by the profile, of which only some members are kept', async () => {
    movableDate()
    const { upstream, sent } = start(answers)
    expect(await upstream.complete(back({ code: 'k', state: 'x', iss: issuer }), flow)).toEqual({
      subject: '7',
      profile: { name: 'Ann' },
      tokens: { accessToken: 't', refreshToken: 'r', expiresAt: Date.now() + 60_000 },
    })
    expect(sent[0]!.params).toMatchObject({ code: 'k', redirect_uri: callbackUrl, code_verifier: flow.codeVerifier })
    expect(sent[0]!.headers.get('authorization')).toBe(`Basic ${btoa('c:s')}`)
    expect(sent[1]!.headers.get('authorization')).toBe('Bearer t')
  })

  it.each([
    ['post', { authentication: 'post' }, { client_id: 'c', client_secret: 's' }],
    ['no secret', { clientSecret: undefined }, { client_id: 'c' }],
  ])('is exchanged with %s', async (_, more, params) => {
    const { upstream, sent } = start(answers, more)
    await upstream.complete(back({ code: 'k', state: 'x' }), flow)
    expect(sent[0]!.headers.get('authorization')).toBeNull()
    expect(sent[0]!.params).toMatchObject(params)
  })

  it.each([
    ['another state', { code: 'k', state: 'y' }],
    ['another issuer', { code: 'k', state: 'x', iss: 'https://evil.example' }],
    ['an empty issuer', { code: 'k', state: 'x', iss: '' }],
    ['an error', { error: 'server_error', state: 'x' }],
  ])('with %s is not exchanged [AUTH-084, AUTH-088]', async (_, params) => {
    const { upstream, sent } = start(answers)
    await expect(upstream.complete(back(params as never), flow)).rejects.not.toBeInstanceOf(UpstreamDenied)
    expect(sent).toEqual([])
  })

  it('without consent has denied access', async () => {
    const denied = back({ error: 'access_denied', state: 'x' })
    await expect(start(answers).upstream.complete(denied, flow)).rejects.toThrow(UpstreamDenied)
  })

  it.each([
    ['no id', user({ id: undefined })],
    ['an empty id', user({ id: '' })],
    ['a rounded id', user({ id: 2 ** 53 })],
    ['a list', () => Response.json([{ id: 7 }])],
    ['no JSON', () => new Response('x')],
    ['another status', () => Response.json({ id: 7 }, { status: 403 })],
  ])('whose profile has %s is an error', async (_, profile) => {
    const { upstream } = start({ ...answers, [userUrl]: profile })
    await expect(upstream.complete(back({ code: 'k', state: 'x' }), flow)).rejects.toThrow(
      'api.example did not return a user id (HTTP ',
    )
  })
})

describe('a login at the provider', () => {
  const tokens = { accessToken: 't', refreshToken: 'r' }

  it('is refreshed, and keeps its refresh token if there is no new one', async () => {
    const { upstream, sent } = start({ [tokenUrl]: token({ access_token: 'new' }) })
    expect(await upstream.refresh('7', tokens)).toEqual({ accessToken: 'new', refreshToken: 'r' })
    expect(sent.map(({ params }) => params.refresh_token)).toEqual(['r'])
    const rotating = start({ [tokenUrl]: token({ refresh_token: 'next' }) }).upstream
    expect(await rotating.refresh('7', tokens)).toMatchObject({ refreshToken: 'next' })
  })

  it.each([
    ['invalid_grant', 400, {}],
    ['invalid_grant with a challenge', 401, { 'www-authenticate': 'Basic realm="x"' }],
    ['bad_refresh_token with status 200', 200, {}],
  ])('has ended after %s', async (said, status, headers) => {
    const [error] = said.split(' ')
    const answer = () => Response.json({ error }, { status, headers })
    await expect(start({ [tokenUrl]: answer }).upstream.refresh('7', tokens)).rejects.toThrow(
      new UpstreamEnded('The refresh token is not valid'),
    )
  })

  it.each([
    ['another error', () => Response.json({ error: 'invalid_client' }, { status: 400 })],
    ['a failure', () => new Response('x', { status: 500 })],
    ['nonsense', () => new Response('{')],
  ])('may still be valid after %s', async (_, answer) => {
    const error = await start({ [tokenUrl]: answer })
      .upstream.refresh('7', tokens)
      .catch((reason) => reason)
    expect(error).toBeInstanceOf(Error)
    expect(error).not.toBeInstanceOf(UpstreamEnded)
  })

  it('without a refresh token is checked by its profile', async () => {
    const bare = { accessToken: 't' }
    const { upstream } = start({ [userUrl]: user() })
    expect(await upstream.refresh('7', bare)).toBe(bare)
    await expect(upstream.refresh('8', bare)).rejects.toThrow(new UpstreamEnded('The token belongs to another user'))
    const ended = start({ [userUrl]: () => new Response(null, { status: 401 }) }).upstream
    await expect(ended.refresh('7', bare)).rejects.toThrow(new UpstreamEnded('The token is no longer valid'))
    const limited = start({ [userUrl]: () => new Response(null, { status: 403 }) }).upstream
    expect(await limited.refresh('7', bare).catch((reason) => reason)).not.toBeInstanceOf(UpstreamEnded)
  })

  it('without a refresh token or a profile ends with its token', async () => {
    const time = movableDate()
    const { upstream } = start({}, { subject: undefined })
    const bare = { accessToken: 't', expiresAt: Date.now() + 10 }
    time.advance(9)
    expect(await upstream.refresh('7', bare)).toBe(bare)
    time.advance(1)
    await expect(upstream.refresh('7', bare)).rejects.toThrow(
      new UpstreamEnded('The token has expired and cannot be refreshed'),
    )
    expect(await upstream.refresh('7', { accessToken: 't' })).toEqual({ accessToken: 't' })
  })

  it('can be renewed with a refresh token, or with a profile if its token does not expire', () => {
    const { upstream } = start()
    const ids = start({}, { subject: undefined }).upstream
    expect(upstream.isRenewable({ accessToken: 't', refreshToken: 'r', expiresAt: 1 })).toBe(true)
    expect(upstream.isRenewable({ accessToken: 't' })).toBe(true)
    expect(upstream.isRenewable({ accessToken: 't', expiresAt: 1 })).toBe(false)
    expect(ids.isRenewable({ accessToken: 't' })).toBe(false)
    expect(ids.isRenewable({ accessToken: 't', refreshToken: 'r' })).toBe(true)
  })
})

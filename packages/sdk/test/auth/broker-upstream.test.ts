import { type BrokerOptions, broker, MemoryValueStore, providers, type UpstreamProvider } from 'tenon/auth/server'
import { describe, expect, it } from 'vitest'
import { anyRequest, Browser, challenge, listen, redirectUri, scopes, secret, verifier } from './broker-support.ts'
import { type Answer, Site, type Visit } from './client-support.ts'

/** A provider without OpenID Connect, which says who somebody is when it is asked, as GitHub does. */
class Plain {
  /** What the token endpoint answers. */
  token: Answer = { body: { access_token: 'gho_1', token_type: 'bearer', scope: 'read:user,repo' } }
  user: Answer = { body: { id: 42, login: 'octo', name: 'Octo', email: null, plan: { private: true } } }
  site!: Site

  static async start(): Promise<Plain> {
    const plain = new Plain()
    plain.site = await Site.start((visit) => plain.#answer(visit))
    return plain
  }

  get description(): UpstreamProvider {
    const { origin } = this.site
    return {
      ...providers.github({ clientId: 'the-one', clientSecret: 'the-secret', scopes: ['repo'] }),
      issuer: `${origin}/login/oauth`,
      endpoints: { authorization: `${origin}/authorize`, token: `${origin}/token` },
      subject: { url: `${origin}/user`, member: 'id' },
    }
  }

  visits(path: string): Visit[] {
    return this.site.visits.filter((visit) => visit.path.split('?')[0] === path)
  }

  #answer({ path }: Visit): Answer | undefined {
    const url = new URL(path, this.site.origin)
    if (url.pathname === '/token') return this.token
    if (url.pathname === '/user') return this.user
    if (url.pathname !== '/authorize') return undefined
    const back = new URL(url.searchParams.get('redirect_uri')!)
    back.searchParams.set('code', 'the-code')
    back.searchParams.set('state', url.searchParams.get('state')!)
    return { status: 302, headers: { location: back.href } }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.site[Symbol.asyncDispose]()
  }
}

interface Told {
  client_id: string
  access_token: string
  refresh_token: string
  error?: string
}

/** A broker alone, in front of it. */
async function start(plain: Plain, change: Partial<UpstreamProvider> = {}, more: Partial<BrokerOptions> = {}) {
  const port = await listen()
  const errors: Error[] = []
  const auth = broker({
    resource: `${port.origin}/mcp`,
    upstream: { ...plain.description, ...change },
    scopes,
    secrets: [secret],
    onError: (error) => errors.push(error),
    ...more,
  })
  port.serve(auth.node)
  const post = async (path: string, body: string | URLSearchParams) => {
    const response = await fetch(port.origin + path, { method: 'POST', body })
    return { status: response.status, body: (await response.json()) as Told }
  }
  const grants = ['authorization_code', 'refresh_token']
  const metadata = { redirect_uris: [redirectUri], token_endpoint_auth_method: 'none', grant_types: grants }
  const { client_id } = (await post('/register', JSON.stringify(metadata))).body
  const signIn = async () => {
    const page = new URL('/authorize', port.origin)
    page.search = String(
      new URLSearchParams({
        response_type: 'code',
        client_id,
        redirect_uri: redirectUri,
        code_challenge: challenge,
        code_challenge_method: 'S256',
      }),
    )
    const back = await new Browser().agree(page)
    const code = back.searchParams.get('code') ?? ''
    return post(
      '/token',
      new URLSearchParams({ grant_type: 'authorization_code', client_id, code, code_verifier: verifier }),
    )
  }
  const refresh = (token: string) =>
    post('/token', new URLSearchParams({ grant_type: 'refresh_token', client_id, refresh_token: token }))
  const dispose = () => port[Symbol.asyncDispose]()
  return { auth, errors, signIn, refresh, [Symbol.asyncDispose]: dispose }
}

describe('a provider without OpenID Connect', () => {
  it('asks the provider who signed in and passes some of the answer to handlers', async () => {
    await using plain = await Plain.start()
    await using place = await start(plain)
    const { body } = await place.signIn()
    const info = await place.auth.verify(body.access_token, anyRequest)
    expect(info).toMatchObject({ subject: '42', claims: { login: 'octo', name: 'Octo' } })
    expect(info!.claims).not.toHaveProperty('plan')
    expect(await place.auth.upstreamToken(info)).toBe('gho_1')
    const [page] = plain.visits('/authorize')
    const asked = new URL(page!.path, 'http://x').searchParams
    expect([asked.get('scope'), asked.get('code_challenge_method'), asked.get('nonce')]).toEqual([
      'read:user repo',
      'S256',
      null,
    ])
    const form = new URLSearchParams(plain.visits('/token')[0]!.body)
    expect([form.get('client_secret'), form.get('code')]).toEqual(['the-secret', 'the-code'])
    expect(form.get('code_verifier')).toMatch(/^[\w-]{43}$/)
    expect(plain.visits('/user')[0]!.headers).toMatchObject({ authorization: 'Bearer gho_1', 'user-agent': 'tenon' })
  })

  it('omits PKCE where the provider does not support it', async () => {
    await using plain = await Plain.start()
    await using place = await start(plain, { pkce: false })
    expect((await place.signIn()).status).toBe(200)
    expect(plain.visits('/authorize')[0]!.path).not.toContain('code_challenge')
    expect(plain.visits('/token')[0]!.body).not.toContain('code_verifier')
  })

  it('verifies a login without expiring tokens at each refresh [AUTH-024]', async () => {
    await using plain = await Plain.start()
    await using place = await start(plain)
    const first = (await place.signIn()).body
    const second = await place.refresh(first.refresh_token)
    expect(second.status).toBe(200)
    expect(plain.visits('/user').length).toBe(2)
    // Too many requests, or a fault, is no answer to that.
    for (const status of [403, 429, 500]) {
      plain.user = { status }
      expect((await place.refresh(second.body.refresh_token)).status).toBe(503)
    }
    plain.user = { status: 401 }
    expect((await place.refresh(second.body.refresh_token)).body.error).toBe('invalid_grant')
    expect(await place.auth.verify(second.body.access_token, anyRequest)).toBe(undefined)
  })

  it('ends the login when its upstream token belongs to another user', async () => {
    await using plain = await Plain.start()
    await using place = await start(plain)
    const { body } = await place.signIn()
    plain.user = { body: { id: 43 } }
    expect((await place.refresh(body.refresh_token)).body.error).toBe('invalid_grant')
  })

  it('ends the logins of a provider that was replaced by another', async () => {
    await using plain = await Plain.start()
    const store = new MemoryValueStore()
    await using place = await start(plain, {}, { store })
    const { body } = await place.signIn()
    const resource = place.auth.resource!
    const one = { resource, upstream: plain.description, scopes, secrets: [secret], store }
    const other = { ...one, upstream: { ...plain.description, issuer: 'https://other.example' } }
    expect(await broker(one).verify(body.access_token, anyRequest)).toMatchObject({ subject: '42' })
    expect(await broker(other).verify(body.access_token, anyRequest)).toBeUndefined()
  })

  it('recognizes an error with status 200, as GitHub sends', async () => {
    await using plain = await Plain.start()
    plain.token = {
      body: { access_token: 'ghu_1', token_type: 'bearer', refresh_token: 'ghr_1', expires_in: 28_800 },
    }
    await using place = await start(plain)
    const { body } = await place.signIn()
    plain.token = { body: { error: 'temporary_trouble', error_description: 'ghr_1' } }
    expect((await place.refresh(body.refresh_token)).status).toBe(503)
    for (const { message } of place.errors) expect(message).not.toContain('the-secret')
    plain.token = { body: { error: 'bad_refresh_token' } }
    expect((await place.refresh(body.refresh_token)).body.error).toBe('invalid_grant')
  })

  it.each([
    ['nobody', { body: { login: 'octo' } }],
    ['an object', { body: { id: {} } }],
    ['no JSON', { body: 'octo' }],
    ['an empty text', { body: { id: '' } }],
    ['a number that was rounded', { body: '{"id":9007199254740993}' }],
    ['a fraction', { body: { id: 1.5 } }],
    ['elsewhere', { status: 302, headers: { location: 'http://127.0.0.1:1/' } }],
  ])('refuses a login when the provider says that %s signed in', async (_, user) => {
    await using plain = await Plain.start()
    plain.user = user
    await using place = await start(plain)
    expect((await place.signIn()).body.error).not.toBe(undefined)
    expect(place.errors.length).toBe(1)
  })
})

describe('provider descriptions', () => {
  const client = { clientId: 'id', clientSecret: 'secret' }

  it('describes providers as plain data', () => {
    expect(providers.google(client)).toEqual({
      name: 'Google',
      clientId: 'id',
      clientSecret: 'secret',
      issuer: 'https://accounts.google.com',
      scopes: ['openid', 'profile', 'email'],
      parameters: { access_type: 'offline', prompt: 'consent' },
    })
    expect(providers.github({ ...client, scopes: ['repo', 'read:user'] }).scopes).toEqual(['read:user', 'repo'])
    expect(JSON.parse(JSON.stringify(providers.github(client)))).toEqual(providers.github(client))
  })

  it('uses the issuer names of the providers', () => {
    const tenant = '72F988BF-86f1-41af-91ab-2d7cd011db47'
    expect([
      providers.microsoft({ ...client, tenant }).issuer,
      providers.okta({ ...client, domain: 'dev-1.okta.com' }).issuer,
      providers.okta({ ...client, domain: 'dev-1.okta.com', server: 'default' }).issuer,
      providers.auth0({ ...client, domain: 'dev-1.eu.auth0.com' }).issuer,
      providers.gitlab(client).issuer,
      providers.oidc({ ...client, issuer: 'https://login.example.com/realms/x' }).issuer,
    ]).toEqual([
      'https://login.microsoftonline.com/72f988bf-86f1-41af-91ab-2d7cd011db47/v2.0',
      'https://dev-1.okta.com',
      'https://dev-1.okta.com/oauth2/default',
      'https://dev-1.eu.auth0.com/',
      'https://gitlab.com',
      'https://login.example.com/realms/x',
    ])
  })
})

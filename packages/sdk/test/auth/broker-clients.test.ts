import { broker, providers } from 'tenon/auth/server'
import { describe, expect, it } from 'vitest'
import { ClientDocuments } from '../../src/auth/server/client-documents.ts'
import { guardedFetch } from '../../src/net/guarded-fetch.ts'
import type { FetchLike } from '../../src/net/send.ts'
import { Browser, challenge, Place, redirectUri, textOf, wayBackOn } from './broker-support.ts'

describe('registration at a broker', () => {
  it('stores nothing: the client id is the sealed registration [AUTH-022, AUTH-043, AUTH-044]', async () => {
    const used: string[] = []
    const note = (key: string) => void used.push(key)
    const store = { get: note, take: note, delete: note, set: note }
    await using place = await Place.start({ broker: { store: store as never } })
    const { status, body, headers } = await place.post('/register', {
      client_name: 'Agent',
      redirect_uris: [redirectUri],
      token_endpoint_auth_method: 'none',
      application_type: 'native',
    })
    expect(status).toBe(201)
    expect(headers.get('cache-control')).toBe('no-store')
    expect(body).toMatchObject({
      client_name: 'Agent',
      redirect_uris: [redirectUri],
      grant_types: ['authorization_code'],
    })
    expect(body.client_secret).toBe(undefined)
    expect(body.client_id).not.toContain('Agent')
    expect((await new Browser().open(place.page(body.client_id))).status).toBe(200)
    expect(used).toEqual([])
  })

  it.each([
    ['plain http', ['http://app.example/cb']],
    ['a name that only looks like this machine', ['http://localhost.evil.example/cb']],
    ['a script', ['javascript:alert(1)']],
    ['a script in disguise', ['java\nscript:alert(1)']],
    ['data', ['data:text/html,x']],
    ['a file', ['file:///etc/passwd']],
    ['a scheme that nobody allowed', ['com.example.app:/cb']],
    ['a fragment', ['https://app.example/cb#x']],
    ['an empty fragment', ['https://app.example/cb#']],
    ['a password', ['https://user:pw@app.example/cb']],
    ['a blank', [' https://app.example/cb']],
    ['no URL', ['/cb']],
    ['something else than texts', [1]],
    ['none', []],
    ['one bad among good ones', ['https://app.example/cb', 'javascript:alert(1)']],
  ])('refuses redirect URIs with %s [AUTH-025, AUTH-089]', async (_, redirect_uris) => {
    await using place = await Place.start()
    const { status, body } = await place.post('/register', { client_name: 'x', redirect_uris })
    expect([status, body.error]).toEqual([400, 'invalid_redirect_uri'])
  })

  it('accepts https, loopback, and custom schemes that the operator allows', async () => {
    await using place = await Place.start({ broker: { redirectSchemes: ['com.example.app', 'cursor'] } })
    for (const uri of [
      'https://app.example/cb',
      'http://127.0.0.1/cb',
      'http://[::1]:1/cb',
      'com.example.app:/cb',
      'cursor://x/cb',
    ]) {
      await place.register({ redirect_uris: [uri] })
    }
  })

  it.each(['javascript', 'data', 'http', 'com.example.app:', 'Cursor'])(
    'does not let the operator allow %s',
    (scheme) => {
      const upstream = providers.github({ clientId: 'x', clientSecret: 'y' })
      const open = () => broker({ resource: 'https://a.example/mcp', upstream, redirectSchemes: [scheme] })
      expect(open).toThrow('is not a scheme of a native application')
    },
  )

  it('limits a registration to five redirect URIs and two kilobytes, and any body to 64', async () => {
    await using place = await Place.start()
    const many = Array.from({ length: 6 }, (_, index) => `https://app.example/${index}`)
    await place.register({ redirect_uris: many.slice(1) })
    const refused = [
      { redirect_uris: many },
      { redirect_uris: [`https://app.example/${'x'.repeat(2_100)}`] },
      { redirect_uris: [redirectUri], client_name: 'ü'.repeat(1_100) },
    ]
    for (const metadata of refused) {
      const { status, body } = await place.post('/register', metadata)
      expect([status, body.error]).toEqual([400, 'invalid_client_metadata'])
    }
    const padded = { redirect_uris: [redirectUri], contacts: 'x'.repeat(3_000) }
    expect((await place.post('/register', padded)).body.client_id.length).toBeLessThan(1_000)
    expect((await place.post('/register', { padding: 'x'.repeat(70_000) })).status).toBe(413)
  })

  it.each([
    ['that is no JSON', 'x'],
    ['that is a list', '[]'],
    ['with a way to authenticate that there is not', { token_endpoint_auth_method: 'private_key_jwt' }],
    ['with a name that is no text', { client_name: { toString: 1 } }],
    ['for another grant', { grant_types: ['client_credentials'] }],
    ['for another response', { response_types: ['token'] }],
  ])('refuses metadata %s', async (_, metadata) => {
    await using place = await Place.start()
    const body = typeof metadata === 'string' ? metadata : JSON.stringify({ redirect_uris: [redirectUri], ...metadata })
    const response = await fetch(`${place.origin}/register`, { method: 'POST', body })
    expect([response.status, ((await response.json()) as { error: string }).error]).toEqual([
      400,
      'invalid_client_metadata',
    ])
  })

  it('issues a secret on request, then requires it by the registered method [AUTH-008]', async () => {
    await using place = await Place.start()
    for (const method of ['client_secret_post', 'client_secret_basic'] as const) {
      const { client_id, client_secret } = await place.register({ token_endpoint_auth_method: method })
      const basic = (secret: string) => ({ authorization: `Basic ${btoa(`${client_id}:${secret}`)}` })
      const form = { grant_type: 'refresh_token', refresh_token: 'x' }
      const byPost = await place.token({ ...form, client_id, client_secret })
      const byBasic = await place.token(form, basic(client_secret))
      const isPost = method === 'client_secret_post'
      expect([byPost.body.error, byBasic.body.error]).toEqual(
        isPost ? ['invalid_grant', 'invalid_client'] : ['invalid_client', 'invalid_grant'],
      )
      const wrong = isPost
        ? await place.token({ ...form, client_id, client_secret: 'wrong' })
        : await place.token(form, basic('wrong'))
      expect([wrong.status, wrong.body.error]).toEqual([401, 'invalid_client'])
      if (!isPost) expect(wrong.headers.get('www-authenticate')).toMatch(/^Basic/)
      expect((await place.token({ ...form, client_id })).body.error).toBe('invalid_client')
      const both = await place.token({ ...form, client_id, client_secret }, basic(client_secret))
      expect(both.body.error).toBe('invalid_request')
    }
  })

  it('refuses a client id that it did not issue, without a redirect', async () => {
    await using place = await Place.start()
    await using other = await Place.start({ broker: { secrets: ['a different secret of enough characters'] } })
    const { client_id: foreign } = await other.register()
    const { client_id } = await place.register()
    const altered = `${client_id.slice(0, -4)}AAAA`
    for (const id of [foreign, altered, 'x', '', 'y'.repeat(5_000), `${client_id}=`]) {
      const page = await new Browser().open(place.page(id))
      expect([page.status, page.url.pathname]).toEqual([400, '/authorize'])
      const { status } = await place.token({ grant_type: 'refresh_token', refresh_token: 'x', client_id: id })
      expect(status).toBe(401)
    }
  })
})

describe('authorization requests at a broker', () => {
  it('redirects only to a registered redirect URI, compared exactly [AUTH-091, SEC-009]', async () => {
    await using place = await Place.start()
    const { client_id } = await place.register({
      redirect_uris: ['https://app.example/cb', 'https://app.example/other'],
    })
    const open = (redirect_uri: string | undefined) => new Browser().open(place.page(client_id, { redirect_uri }))
    for (const uri of [
      'https://app.example/cb/',
      'https://app.example/CB',
      'https://APP.example/cb',
      'https://app.example:443/cb',
      'https://app.example/cb?x=1',
      'https://app.example/cb#x',
      'https://app.example/./cb',
      'https://app.example.evil.example/cb',
      'https://evil.example/cb',
      'http://app.example/cb',
      'javascript:alert(1)',
      undefined,
    ]) {
      const page = await open(uri)
      expect([uri, page.status, page.url.origin]).toEqual([uri, 400, place.origin])
    }
    expect((await open('https://app.example/cb')).status).toBe(200)
  })

  it('allows any port for a loopback redirect URI, and no other difference [SEC-009]', async () => {
    await using place = await Place.start()
    const { client_id } = await place.register({ redirect_uris: ['http://127.0.0.1:1000/cb'] })
    const statusOf = async (redirect_uri: string) =>
      (await new Browser().open(place.page(client_id, { redirect_uri }))).status
    expect(await statusOf('http://127.0.0.1:2000/cb')).toBe(200)
    for (const uri of ['http://127.0.0.1:2000/', 'http://localhost:1000/cb', 'http://127.0.0.2:1000/cb']) {
      expect(await statusOf(uri)).toBe(400)
    }
  })

  it.each([
    ['another response type', { response_type: 'token' }, 'unsupported_response_type'],
    ['no response type', { response_type: undefined }, 'invalid_request'],
    ['no PKCE', { code_challenge: undefined }, 'invalid_request'],
    ['plain PKCE', { code_challenge_method: 'plain' }, 'invalid_request'],
    ['PKCE without a method', { code_challenge_method: undefined }, 'invalid_request'],
    ['a challenge that is none', { code_challenge: `${challenge}=` }, 'invalid_request'],
    ['a scope that there is not', { scope: 'notes:read admin' }, 'invalid_scope'],
    ['a resource that is no URI', { resource: 'notes' }, 'invalid_target'],
  ])(
    'redirects a request with %s back to the client with error, state and iss [AUTH-087]',
    async (_, params, error) => {
      await using place = await Place.start()
      const { client_id } = await place.register()
      const url = wayBackOn(await new Browser().open(place.page(client_id, params)))
      expect(url.href.startsWith(redirectUri)).toBe(true)
      expect(url.searchParams.get('error')).toBe(error)
      expect([url.searchParams.get('state'), url.searchParams.get('iss')]).toEqual(['client-state', place.origin])
    },
  )

  it('CVE-2025-69196: refuses an authorization or token request for another server', async () => {
    await using place = await Place.start()
    const { client_id } = await place.register()
    for (const resource of ['https://other.example/mcp', `${place.origin}/other`, place.origin, `${place.url}/`]) {
      const url = wayBackOn(await new Browser().open(place.page(client_id, { resource })))
      expect(url.searchParams.get('error')).toBe('invalid_target')
      const { clientId, code } = await place.authorize()
      expect((await place.redeem(clientId, code, { resource })).body.error).toBe('invalid_target')
    }
    const both = place.page(client_id)
    both.searchParams.append('resource', 'https://other.example/mcp')
    expect(wayBackOn(await new Browser().open(both)).searchParams.get('error')).toBe('invalid_target')
  })

  it('accepts a resource in capitals, or none as clients of 2025-03-26 send [AUTH-070]', async () => {
    await using place = await Place.start()
    for (const resource of [undefined, place.url.replace('http:', 'HTTP:')]) {
      const { clientId, code } = await place.authorize({ resource })
      const { status } = await place.redeem(clientId, code)
      expect(status).toBe(200)
    }
  })

  it('refuses an authorization request with a duplicate parameter', async () => {
    await using place = await Place.start()
    const { client_id } = await place.register()
    for (const name of ['client_id', 'redirect_uri']) {
      const page = place.page(client_id)
      page.searchParams.append(name, 'x')
      expect((await new Browser().open(page)).status).toBe(400)
    }
    const page = place.page(client_id)
    page.searchParams.append('code_challenge', 'x')
    expect(wayBackOn(await new Browser().open(page)).searchParams.get('error')).toBe('invalid_request')
  })

  it('grants the required scopes when the request names none', async () => {
    await using place = await Place.start({ broker: { requiredScopes: ['notes:read'] } })
    const { client_id } = await place.register()
    const page = await new Browser().open(place.page(client_id, { scope: undefined }))
    expect(textOf(page)).toContain('Read your notes')
    expect(textOf(page)).not.toContain('Change your notes')
  })
})

describe('clients with a metadata document', () => {
  const id = 'https://agent.example/client.json'
  const about = (more: object = {}) => ({ client_id: id, client_name: 'Agent', redirect_uris: [redirectUri], ...more })

  /** Whatever is asked for, without a network; the provider is asked as ever. */
  function web(documents: Record<string, () => Response>) {
    const asked: string[] = []
    const fetchIt: FetchLike = async (url, init) => {
      if (url.startsWith('http://127.0.0.1')) return fetch(url, init as RequestInit)
      asked.push(url)
      return documents[url]?.() ?? new Response('', { status: 404 })
    }
    return { asked, fetch: fetchIt }
  }

  it('lets a metadata document client sign in without registration and shows its URL to the user [AUTH-045, AUTH-052, AUTH-054]', async () => {
    const { asked, fetch } = web({ [id]: () => Response.json(about()) })
    await using place = await Place.start({ broker: { fetch } })
    const browser = new Browser()
    const text = textOf(await browser.open(place.page(id)))
    expect(text).toContain('Its metadata is published at agent.example ( https://agent.example/client.json ).')
    expect(text).not.toContain('not verified')
    expect(text).toContain('Any program on this computer')
    const back = await browser.agree(place.page(id))
    expect((await place.redeem(id, back.searchParams.get('code')!)).status).toBe(200)
    expect(new Set(asked)).toEqual(new Set([id]))
  })

  it('connects a client that has a metadata document', async () => {
    const { fetch } = web({ [id]: () => Response.json(about()) })
    await using place = await Place.start({ broker: { fetch } })
    await using client = await place.connect(new Browser(), { clientMetadataUrl: id })
    expect(JSON.parse((await client.callTool('who')).text).clientId).toBe(id)
  })

  it('caches a metadata document as HTTP says, and fetches it once for concurrent requests [AUTH-051]', async () => {
    const headers = { 'cache-control': 'max-age=600' }
    const { asked, fetch } = web({ [id]: () => Response.json(about(), { headers }) })
    await using place = await Place.start({ broker: { fetch } })
    await Promise.all([1, 2, 3].map(() => new Browser().open(place.page(id))))
    await new Browser().open(place.page(id))
    expect(asked).toEqual([id])
  })

  it.each([
    ['is about another client', () => Response.json(about({ client_id: `${id}?` }))],
    ['has no name', () => Response.json(about({ client_name: undefined }))],
    ['has another redirect', () => Response.json(about({ redirect_uris: ['https://agent.example/cb'] }))],
    ['has a secret', () => Response.json(about({ client_secret: 'x' }))],
    ['needs keys', () => Response.json(about({ token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [] } }))],
    ['is no JSON', () => new Response('<html>', { headers: { 'content-type': 'application/json' } })],
    ['is served as a page', () => new Response(JSON.stringify(about()), { headers: { 'content-type': 'text/html' } })],
    ['is served as text', () => new Response(JSON.stringify(about()), { headers: { 'content-type': 'text/plain' } })],
    ['has no type', () => new Response(new TextEncoder().encode(JSON.stringify(about())))],
    ['is served as JSON lines', () => Response.json(about(), { headers: { 'content-type': 'application/jsonl' } })],
    ['is too large', () => Response.json(about({ padding: 'x'.repeat(70_000) }))],
    ['is elsewhere', () => new Response('', { status: 302, headers: { location: 'https://agent.example/other' } })],
    ['is not there', () => new Response('', { status: 404 })],
  ])('refuses a client when its metadata document %s, without a redirect [AUTH-052]', async (_, document) => {
    const { fetch } = web({ [id]: document, 'https://agent.example/other': () => Response.json(about()) })
    await using place = await Place.start({ broker: { fetch } })
    const page = await new Browser().open(place.page(id))
    expect([page.status, page.url.origin]).toEqual([400, place.origin])
  })

  it.each(['application/json', 'application/json; charset=utf-8', 'Application/CIMD+JSON'])(
    'accepts a metadata document served as %s [AUTH-052]',
    async (type) => {
      const { fetch } = web({ [id]: () => Response.json(about(), { headers: { 'content-type': type } }) })
      await using place = await Place.start({ broker: { fetch } })
      expect((await new Browser().open(place.page(id))).status).toBe(200)
    },
  )

  it('does not follow redirects to a metadata document, also with a fetch that does [AUTH-053]', async () => {
    const { asked, fetch } = web({
      [id]: () => new Response('', { status: 307, headers: { location: 'https://agent.example/other' } }),
      'https://agent.example/other': () => Response.json(about()),
    })
    const documents = new ClientDocuments({ fetch: guardedFetch({ fetch, maxRedirects: 3 }) })
    await expect(documents.find(id)).rejects.toThrow(/redirects/)
    expect(asked).toEqual([id])
  })

  it('fetches metadata documents only from hosts that the operator trusts [AUTH-093]', async () => {
    const trusted = [id, 'https://a.apps.example/client.json', 'https://b.apps.example:8443/client.json']
    const others = [
      'https://agent.example.evil.example/client.json',
      'https://sub.agent.example/client.json',
      'https://agent.example:8443/client.json',
      'https://apps.example/client.json',
      'https://evilapps.example/client.json',
    ]
    const answers = [...trusted, ...others].map((url) => [url, () => Response.json(about({ client_id: url }))])
    const { asked, fetch } = web(Object.fromEntries(answers))
    const trustedClientHosts = ['agent.example', '*.apps.example', '*.apps.example:8443']
    await using place = await Place.start({ broker: { fetch, trustedClientHosts } })
    for (const url of trusted) expect([url, (await new Browser().open(place.page(url))).status]).toEqual([url, 200])
    for (const url of others) expect([url, (await new Browser().open(place.page(url))).status]).toEqual([url, 400])
    expect(asked).toEqual(trusted)
  })

  it('can disable metadata documents, and refuses a host pattern that matches nothing [AUTH-093]', async () => {
    const { asked, fetch } = web({ [id]: () => Response.json(about()) })
    await using place = await Place.start({ broker: { fetch, trustedClientHosts: [] } })
    expect((await new Browser().open(place.page(id))).status).toBe(400)
    expect(asked).toEqual([])
    const upstream = providers.github({ clientId: 'x', clientSecret: 'y' })
    for (const host of ['https://agent.example', 'agent.example/', 'Agent.example', '*', '']) {
      const options = { resource: 'https://mcp.example/mcp', upstream, trustedClientHosts: [host] }
      expect(() => broker(options)).toThrow(/trustedClientHosts/)
    }
  })

  it('does not fetch metadata documents from private addresses [AUTH-053]', async () => {
    const { asked, fetch } = web({})
    await using place = await Place.start({ broker: { fetch } })
    for (const address of [
      'http://agent.example/client.json',
      `${place.as.issuer}/client.json`,
      'https://127.0.0.1/client.json',
      'https://localhost/client.json',
      'https://10.0.0.1/client.json',
      'https://169.254.169.254/latest/meta-data',
      'https://[::ffff:10.0.0.1]/client.json',
      'https://metadata.google.internal/x',
      'https://user:pw@agent.example/client.json',
      'https://agent.example/',
      'https://agent.example/a/../client.json',
      'https://agent.example/client.json#x',
      'file:///etc/passwd',
    ]) {
      expect([address, (await new Browser().open(place.page(address))).status]).toEqual([address, 400])
    }
    expect(asked).toEqual([])
    expect(place.as.requests).toEqual([])
  })
})

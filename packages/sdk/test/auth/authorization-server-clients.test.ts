import * as jose from 'jose'
import * as oauth from 'oauth4webapi'
import { describe, expect, it } from 'vitest'
import {
  authorize,
  callback,
  errorOf,
  host,
  insecure,
  jsonOf,
  login,
  post,
  refresh,
  register,
  resource,
  start,
} from './authorization-server-support.ts'

describe('clients of the development authorization server', () => {
  it('registers a client dynamically [AUTH-022, AUTH-043, AUTH-044]', async () => {
    await using server = await start()
    const wanted = { client_name: 'Inspector', redirect_uris: [callback], application_type: 'native' }
    const response = await oauth.dynamicClientRegistrationRequest(server.metadata, wanted as object, insecure)
    const client = await oauth.processDynamicClientRegistrationResponse(response)
    expect(client).toMatchObject({ ...wanted, token_endpoint_auth_method: 'client_secret_basic' })
    expect(client.client_secret_expires_at).toBe(0)
    const auth = oauth.ClientSecretBasic(client.client_secret as string)
    expect((await login({ ...server, client, auth })).token_type).toBe('bearer')
  })

  for (const [what, metadata, error] of [
    ['without redirect URIs', { redirect_uris: [] }, 'invalid_redirect_uri'],
    ['with a redirect to plain http', { redirect_uris: ['http://app.example/cb'] }, 'invalid_redirect_uri'],
    ['with a redirect to a script', { redirect_uris: ['javascript:alert(1)'] }, 'invalid_redirect_uri'],
    ['with a fragment', { redirect_uris: ['https://app.example/cb#'] }, 'invalid_redirect_uri'],
    ['that are web and local', { redirect_uris: [callback], application_type: 'web' }, 'invalid_redirect_uri'],
    [
      'with a method that is not there',
      { redirect_uris: [callback], token_endpoint_auth_method: 'tls_client_auth' },
      'invalid_client_metadata',
    ],
    ['with a scope that is no text', { redirect_uris: [callback], scope: ['a'] }, 'invalid_client_metadata'],
    ['that are a list', [], 'invalid_client_metadata'],
  ] as const) {
    it(`refuses to register a client ${what}: ${error}`, async () => {
      await using server = await start()
      const response = await fetch(server.metadata.registration_endpoint!, {
        method: 'POST',
        body: JSON.stringify(metadata),
      })
      expect([response.status, (await jsonOf(response)).error]).toEqual([400, error])
    })
  }

  const keyPair = () => jose.generateKeyPair('ES256', { extractable: true })

  it('accepts only the client authentication method that was registered [AUTH-008]', async () => {
    await using server = await start()
    const { privateKey, publicKey } = await keyPair()
    const jwks = { keys: [{ ...(await jose.exportJWK(publicKey)), alg: 'ES256' }] }
    const methods = {
      none: oauth.None(),
      client_secret_basic: oauth.ClientSecretBasic('a secret: with+signs%'),
      client_secret_post: oauth.ClientSecretPost('a secret: with+signs%'),
      private_key_jwt: oauth.PrivateKeyJwt(privateKey),
    }
    for (const method of Object.keys(methods) as (keyof typeof methods)[]) {
      const client = register(server.as, {
        redirect_uris: [callback],
        token_endpoint_auth_method: method,
        client_secret: 'a secret: with+signs%',
        jwks,
      })
      for (const [used, auth] of Object.entries(methods)) {
        const outcome = await errorOf(login({ ...server, client, auth }))
        expect([method, used, outcome === undefined]).toEqual([method, used, method === used])
      }
    }
  })

  it('refuses a wrong client secret, with a challenge if it came in the header', async () => {
    await using server = await start()
    const token = server.metadata.token_endpoint!
    server.as.registerClient({ client_id: 'basic', client_secret: 'right' })
    server.as.registerClient({
      client_id: 'post',
      client_secret: 'right',
      token_endpoint_auth_method: 'client_secret_post',
    })
    const form = { grant_type: 'client_credentials', resource }
    const header = { authorization: `Basic ${btoa('basic:wrong')}` }
    const basic = await post(token, form, header)
    expect([basic.status, basic.body.error]).toEqual([401, 'invalid_client'])
    expect(basic.headers.get('www-authenticate')).toMatch(/^Basic /)
    const secret = await post(token, { ...form, client_id: 'post', client_secret: 'wrong' })
    expect([secret.status, secret.headers.get('www-authenticate')]).toEqual([401, null])
    const both = await post(token, { ...form, client_secret: 'right' }, header)
    expect([both.status, both.body.error]).toEqual([400, 'invalid_request'])
    const unknown = await post(token, { ...form, client_id: 'nobody' })
    expect([unknown.status, unknown.body.error]).toEqual([401, 'invalid_client'])
  })

  it('refuses an assertion that is reused, expired, or for or from another party', async () => {
    await using server = await start()
    const { privateKey, publicKey } = await keyPair()
    const stranger = await keyPair()
    server.as.registerClient({ client_id: 'c', jwks: { keys: [await jose.exportJWK(publicKey)] } })
    const assertion = (claims: jose.JWTPayload = {}, key = privateKey) =>
      new jose.SignJWT({ iss: 'c', sub: 'c', aud: server.as.issuer, jti: crypto.randomUUID(), ...claims })
        .setProtectedHeader({ alg: 'ES256' })
        .setExpirationTime((claims.exp as number | undefined) ?? '1 minute')
        .sign(key)
    const send = async (client_assertion: string) => {
      const form = { grant_type: 'client_credentials', resource, client_assertion }
      const client_assertion_type = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
      return (await post(server.metadata.token_endpoint!, { ...form, client_assertion_type })).status
    }
    const good = await assertion()
    expect([await send(good), await send(good)]).toEqual([200, 401])
    expect(await send(await assertion({ aud: 'https://other.example' }))).toBe(401)
    expect(await send(await assertion({ aud: [server.as.issuer, 'https://other.example'] }))).toBe(401)
    expect(await send(await assertion({ iss: 'd' }))).toBe(401)
    expect(await send(await assertion({ exp: 1 }))).toBe(401)
    expect(await send(await assertion({}, stranger.privateKey))).toBe(401)
    expect(await send('nonsense')).toBe(401)
  })

  it('requires a removed client to register again', async () => {
    await using server = await start()
    const tokens = await login(server)
    server.as.removeClient(server.client.client_id)
    expect(await errorOf(refresh(server, tokens.refresh_token!))).toBe('invalid_client')
    expect((await authorize(server)).response.status).toBe(400)
  })

  it('issues client credentials tokens only to confidential clients that registered for the grant [AUTH-023]', async () => {
    await using server = await start()
    const client = register(server.as, { client_secret: 's', scope: 'jobs' })
    const response = await oauth.clientCredentialsGrantRequest(
      server.metadata,
      client,
      oauth.ClientSecretBasic('s'),
      { resource },
      insecure,
    )
    const tokens = await oauth.processClientCredentialsResponse(server.metadata, client, response)
    expect(tokens.refresh_token).toBeUndefined()
    expect(jose.decodeJwt(tokens.access_token)).toMatchObject({ sub: client.client_id, aud: resource, scope: 'jobs' })
    const form = { grant_type: 'client_credentials', resource }
    const open = await post(server.metadata.token_endpoint!, { ...form, client_id: server.client.client_id })
    expect(open.body.error).toBe('unauthorized_client')
    server.as.registerClient({ client_id: 'c', client_secret: 's', grant_types: ['authorization_code'] })
    const headers = { authorization: `Basic ${btoa('c:s')}` }
    expect((await post(server.metadata.token_endpoint!, form, headers)).body.error).toBe('unauthorized_client')
  })
})

describe('client ID metadata documents', () => {
  const about = (id: string, more = {}) =>
    JSON.stringify({ client_id: id, client_name: 'Documented', redirect_uris: [callback], ...more })

  it('fetches a client ID metadata document and caches it as long as HTTP allows [AUTH-045, AUTH-051]', async () => {
    let now = Date.now()
    await using server = await start({ now: () => now })
    await using site = await host((origin, path) => ({
      body: about(origin + path),
      headers: path === '/kept.json' ? { 'cache-control': 'max-age=60' } : { 'cache-control': 'no-store' },
    }))
    expect(server.metadata.client_id_metadata_document_supported).toBe(true)
    expect((await login({ ...server, client: { client_id: `${site.origin}/kept.json` } })).token_type).toBe('bearer')
    expect(site.asked).toEqual(['/kept.json'])
    now += 61_000
    await authorize({ ...server, client: { client_id: `${site.origin}/kept.json` } })
    expect(site.asked).toEqual(['/kept.json', '/kept.json'])
    await login({ ...server, client: { client_id: `${site.origin}/fresh.json` } })
    expect(site.asked.slice(2)).toEqual(['/fresh.json', '/fresh.json'])
  })

  it('authenticates a client by the keys in its metadata document', async () => {
    await using server = await start()
    const { privateKey, publicKey } = await jose.generateKeyPair('ES256', { extractable: true })
    const keys = { keys: [await jose.exportJWK(publicKey)] }
    await using site = await host((origin, path) =>
      path === '/keys'
        ? { body: JSON.stringify(keys) }
        : { body: about(origin + path, { token_endpoint_auth_method: 'private_key_jwt', jwks_uri: `${origin}/keys` }) },
    )
    const client = { client_id: `${site.origin}/client.json` }
    expect((await login({ ...server, client, auth: oauth.PrivateKeyJwt(privateKey) })).token_type).toBe('bearer')
    expect(await errorOf(login({ ...server, client }))).toBe('invalid_client')
  })

  it('refuses an invalid client ID metadata document without a redirect [AUTH-052, AUTH-053]', async () => {
    await using server = await start()
    await using site = await host((origin, path) => {
      const id = origin + path
      const documents: Record<string, string> = {
        '/other-id': about(`${id}/x`),
        '/no-name': about(id, { client_name: undefined }),
        '/odd-name': about(id, { client_name: {} }),
        '/no-redirects': about(id, { redirect_uris: undefined }),
        '/other-redirect': about(id, { redirect_uris: ['https://app.example/cb'] }),
        '/script': about(id, { redirect_uris: ['javascript:alert(1)'] }),
        '/secret': about(id, { client_secret: 's' }),
        '/secret-method': about(id, { token_endpoint_auth_method: 'client_secret_basic' }),
        '/not-json': '<!doctype html>',
        '/list': '[]',
        '/huge': about(id, { padding: 'x'.repeat(100_000) }),
        '/page': about(id),
        '/elsewhere': '',
        '/target': about(`${origin}/elsewhere`),
      }
      const special: Record<string, Record<string, string>> = {
        '/elsewhere': { location: '/target' },
        '/page': { 'content-type': 'text/html' },
      }
      return { body: documents[path]!, headers: special[path] ?? {} }
    })
    for (const path of [
      '/other-id',
      '/no-name',
      '/odd-name',
      '/no-redirects',
      '/other-redirect',
      '/script',
      '/secret',
      '/secret-method',
      '/not-json',
      '/list',
      '/huge',
      '/page',
      '/elsewhere',
    ]) {
      const { response, redirect } = await authorize({ ...server, client: { client_id: site.origin + path } })
      expect([path, response.status, redirect]).toEqual([path, 400, undefined])
    }
  })

  it('does not fetch client ID metadata documents from private addresses [AUTH-053]', async () => {
    const fetched: string[] = []
    const fetch: typeof globalThis.fetch = async (input) => {
      fetched.push(String(input))
      return new Response('{}')
    }
    await using server = await start({ fetch })
    for (const client_id of [
      'http://app.example/client.json',
      'https://169.254.169.254/latest/meta-data',
      'https://10.0.0.1/client.json',
      'https://[fd00::1]/client.json',
      'https://user:password@app.example/client.json',
      'https://app.example/',
      'https://app.example/a/../client.json',
      'file:///etc/passwd',
    ]) {
      expect((await authorize({ ...server, client: { client_id } })).response.status).toBe(400)
    }
    expect(fetched).toEqual([])
    await authorize({ ...server, client: { client_id: 'https://app.example/client.json' } })
    expect(fetched).toEqual(['https://app.example/client.json'])
  })
})

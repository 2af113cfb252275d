import { generateKeyPairSync } from 'node:crypto'
import { createLocalJWKSet, jwtVerify } from 'jose'
import {
  beginAuthorization,
  type ClientMetadataOptions,
  clientMetadata,
  completeAuthorization,
  oauth,
} from 'tenon/auth/client'
import { startAuthorizationServer } from 'tenon/testing'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { at, failureOf, Gate, grants, join, User } from './client-support.ts'

const clientId = 'https://app.example/oauth/client.json'

const app: ClientMetadataOptions = { clientId, clientName: 'App', redirectUrls: ['http://127.0.0.1/callback'] }

/** A web that has these documents and nothing else. */
function web(documents: Record<string, object>): typeof globalThis.fetch {
  return async (url) => {
    const document = documents[String(url)]
    return document ? Response.json(document) : new Response('', { status: 404 })
  }
}

describe('clientMetadata()', () => {
  it('contains its own URL, the client name and the redirect URIs [AUTH-048, AUTH-049]', () => {
    expect(clientMetadata(app)).toEqual({
      client_id: clientId,
      client_name: 'App',
      redirect_uris: ['http://127.0.0.1/callback'],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      application_type: 'native',
    })
  })

  it('contains further members under their RFC 7591 names', () => {
    const pages = {
      clientUrl: 'https://app.example/',
      logoUrl: new URL('https://app.example/logo.png'),
      policyUrl: 'https://app.example/privacy',
      termsUrl: 'https://app.example/terms',
    }
    const more = { ...pages, scopes: ['read', 'write'], contacts: ['help@app.example'] }
    expect(clientMetadata({ ...app, redirectUrls: [new URL('https://app.example/back')], ...more })).toMatchObject({
      application_type: 'web',
      redirect_uris: ['https://app.example/back'],
      scope: 'read write',
      client_uri: 'https://app.example/',
      logo_uri: 'https://app.example/logo.png',
      policy_uri: 'https://app.example/privacy',
      tos_uri: 'https://app.example/terms',
      contacts: ['help@app.example'],
    })
  })

  it('is accepted by an authorization server that does not know the client [AUTH-045, AUTH-048, AUTH-049]', async () => {
    await using as = await startAuthorizationServer({
      registration: false,
      fetch: web({ [clientId]: clientMetadata(app) }),
    })
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    const user = new User()
    // At a port of its own, which the document does not name.
    await using client = await join(gate, user.auth({ clientMetadataUrl: clientId }))
    expect((await client.callTool('ping')).text).toBe('pong')
    expect(user.pages[0]!.searchParams.get('client_id')).toBe(clientId)
    expect(grants(as, 'authorization_code')[0]!.params.client_id).toBe(clientId)
  })

  it('does not authorize a redirect URI that it does not contain [AUTH-052]', async () => {
    const document = clientMetadata({ ...app, redirectUrls: ['https://app.example/back'] })
    await using as = await startAuthorizationServer({ registration: false, fetch: web({ [clientId]: document }) })
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    await expect(join(gate, new User().auth({ clientMetadataUrl: clientId }))).rejects.toThrow()
    expect(at(as, 'token')).toEqual([])
  })

  it.each([
    ['http://app.example/client.json', /https: URL with a path/],
    ['https://app.example', /https: URL with a path/],
    ['https://app.example/', /https: URL with a path/],
    ['client.json', /https: URL with a path/],
    ['https://user@app.example/client.json', /user name/],
    ['https://app.example/client.json#me', /fragment/],
    ['https://app.example/a/../client.json', /written as https:\/\/app\.example\/client\.json/],
    ['https://APP.example/client.json', /written as https:\/\/app\.example\/client\.json/],
    ['https://app.example:443/client.json', /written as https:\/\/app\.example\/client\.json/],
  ])('refuses %s as a client id [AUTH-048]', (id, said) => {
    expect(() => clientMetadata({ ...app, clientId: id })).toThrow(said)
    expect(() => oauth({ clientMetadataUrl: id })).toThrow(said)
  })

  it.each([
    'http://app.example/back',
    'javascript:alert(1)',
    'data:text/html,x',
    '/back',
    '',
    'https://app.example/back#here',
    'https://*.app.example/back',
  ])('refuses %j as a redirect URI [AUTH-089]', (url) => {
    expect(() => clientMetadata({ ...app, redirectUrls: ['https://app.example/back', url] })).toThrow(/redirectUrls/)
  })

  it('requires a name and a redirect URI, and refuses unsafe page URLs [AUTH-049]', () => {
    expect(() => clientMetadata({ ...app, clientName: ' ' })).toThrow(/clientName/)
    expect(() => clientMetadata({ ...app, redirectUrls: [] })).toThrow(/redirectUrls/)
    expect(() => clientMetadata({ ...app, logoUrl: 'javascript:alert(1)' })).toThrow(/logoUrl/)
  })
})

describe('clients with a metadata document and a key', () => {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  const jwks = { keys: [{ ...publicKey.export({ format: 'jwk' }), alg: 'ES256', kid: 'k1' }] }

  it('authenticates with a signature at login and refresh [AUTH-050]', async () => {
    const document = clientMetadata({ ...app, jwks })
    expect(document).toMatchObject({ token_endpoint_auth_method: 'private_key_jwt', jwks })
    await using as = await startAuthorizationServer({
      registration: false,
      refreshTokens: 'always',
      now: () => Date.now(),
      fetch: web({ [clientId]: document }),
    })
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    const auth = new User().auth({ clientMetadataUrl: clientId, privateKey: pem, keyId: 'k1' })
    await using client = await join(gate, auth)
    const later = Date.now() + 3_600_000
    const clock = vi.spyOn(Date, 'now').mockImplementation(() => later)
    onTestFinished(() => clock.mockRestore())
    expect((await client.callTool('ping')).text).toBe('pong')
    const [login, refresh] = [grants(as, 'authorization_code'), grants(as, 'refresh_token')]
    expect([login.length, refresh.length]).toEqual([1, 1])
    for (const { params } of [...login, ...refresh]) {
      const { payload, protectedHeader } = await jwtVerify(params.client_assertion!, createLocalJWKSet(jwks as never), {
        currentDate: new Date(later),
        clockTolerance: 3_600,
      })
      expect(payload).toMatchObject({ iss: clientId, sub: clientId, aud: as.issuer })
      expect(protectedHeader.kid).toBe('k1')
      expect(params.client_assertion).not.toContain(pem)
    }
  })

  it('authenticates with a signature in the redirect flow [AUTH-050]', async () => {
    const fetchDocument = web({ [clientId]: clientMetadata({ ...app, jwks }) })
    await using as = await startAuthorizationServer({ registration: false, fetch: fetchDocument })
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    const options = { redirectUrl: 'http://127.0.0.1:9/callback', clientMetadataUrl: clientId, privateKey: pem }
    const { url, flow } = await beginAuthorization(gate.url, options)
    expect(flow).not.toContain('PRIVATE KEY')
    const back = async () => new URL((await fetch(url, { redirect: 'manual' })).headers.get('location')!)
    await expect(completeAuthorization(await back(), flow)).rejects.toThrow('Pass `privateKey`')
    expect((await completeAuthorization(await back(), flow, { privateKey: pem })).issuer).toBe(as.issuer)
  })

  it('can publish its keys at another URL [AUTH-050]', async () => {
    const jwksUrl = 'https://app.example/oauth/keys.json'
    const document = clientMetadata({ ...app, jwksUrl })
    expect(document).toMatchObject({ token_endpoint_auth_method: 'private_key_jwt', jwks_uri: jwksUrl })
    const fetch = web({ [clientId]: document, [jwksUrl]: jwks })
    await using as = await startAuthorizationServer({ registration: false, fetch })
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    await using client = await join(gate, new User().auth({ clientMetadataUrl: clientId, privateKey: pem }))
    expect((await client.callTool('ping')).text).toBe('pong')
  })

  it('refuses a client with another key or none [AUTH-050]', async () => {
    const fetch = web({ [clientId]: clientMetadata({ ...app, jwks }) })
    await using as = await startAuthorizationServer({ registration: false, fetch })
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    const other = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'pkcs8', format: 'pem' })
    for (const key of [undefined, other.toString()]) {
      await failureOf(join(gate, new User().auth({ clientMetadataUrl: clientId, privateKey: key })))
    }
  })

  it('registers instead where the authorization server does not accept signatures [AUTH-046, AUTH-050]', async () => {
    const tokenEndpointAuthMethods = ['none', 'client_secret_basic'] as const
    await using as = await startAuthorizationServer({ tokenEndpointAuthMethods })
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    await using client = await join(gate, new User().auth({ clientMetadataUrl: clientId, privateKey: pem }))
    expect((await client.callTool('ping')).text).toBe('pong')
    expect(at(as, 'register')).toHaveLength(1)
  })

  it('publishes no private or shared key, and only one key set [AUTH-050]', () => {
    const secretKey = { kty: 'oct', k: 'c2VjcmV0' }
    for (const key of [privateKey.export({ format: 'jwk' }), secretKey]) {
      expect(() => clientMetadata({ ...app, jwks: { keys: [key] } })).toThrow(/public keys only/)
    }
    expect(() => clientMetadata({ ...app, jwks: { keys: [] } })).toThrow(/at least one key/)
    expect(() => clientMetadata({ ...app, jwks, jwksUrl: 'https://app.example/keys' })).toThrow(/not both/)
    expect(() => clientMetadata({ ...app, jwksUrl: 'http://app.example/keys' })).toThrow(/jwksUrl/)
  })
})

describe('authorization servers that accept metadata documents', () => {
  it('accepts metadata documents only from trusted domains [AUTH-093]', async () => {
    const other = 'https://other.example/client.json'
    const all = web({ [clientId]: clientMetadata(app), [other]: clientMetadata({ ...app, clientId: other }) })
    const fetch: typeof globalThis.fetch = async (url, init) => {
      if (new URL(String(url)).hostname !== 'app.example') throw new Error('This domain is not trusted')
      return all(url, init)
    }
    await using as = await startAuthorizationServer({ registration: false, fetch })
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    await using client = await join(gate, new User().auth({ clientMetadataUrl: clientId }))
    expect((await client.callTool('ping')).text).toBe('pong')
    await failureOf(join(gate, new User().auth({ clientMetadataUrl: other })))
    expect(at(as, 'token')).toHaveLength(1)
  })
})

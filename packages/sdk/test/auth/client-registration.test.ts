import { clientCredentials, MemoryTokenStore } from 'tenon/auth/client'
import { startAuthorizationServer } from 'tenon/testing'
import { describe, expect, it } from 'vitest'
import { at, failureOf, Gate, grants, join, redirectUrl, Site, User } from './client-support.ts'

const documentUrl = 'https://app.example/oauth/client.json'

/** Knows the one document about our client. */
const documents = (async (url: string | URL) => {
  if (String(url) !== documentUrl) return new Response('', { status: 404 })
  return Response.json({ client_id: documentUrl, client_name: 'App', redirect_uris: [redirectUrl] })
}) as typeof globalThis.fetch

const given = { client_id: 'given', redirect_uris: [redirectUrl] }

describe('choosing the client id', () => {
  it('prefers the client id that was given [AUTH-046, AUTH-055]', async () => {
    await using as = await startAuthorizationServer({ fetch: documents, clients: [given] })
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    const user = new User()
    await using _client = await join(gate, user.auth({ clientId: 'given', clientMetadataUrl: documentUrl }))
    expect(user.pages[0]!.searchParams.get('client_id')).toBe('given')
    expect(at(as, 'register')).toEqual([])
  })

  it('uses the URL of the client’s metadata document where the server supports it [AUTH-045, AUTH-046, AUTH-048]', async () => {
    await using as = await startAuthorizationServer({ fetch: documents })
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    const user = new User()
    await using client = await join(gate, user.auth({ clientMetadataUrl: documentUrl }))
    expect((await client.callTool('ping')).text).toBe('pong')
    expect(user.pages[0]!.searchParams.get('client_id')).toBe(documentUrl)
    expect(grants(as, 'authorization_code')[0]!.params.client_id).toBe(documentUrl)
    expect(at(as, 'register')).toEqual([])
  })

  it('registers dynamically where the server does not support metadata documents [AUTH-044, AUTH-046, AUTH-047]', async () => {
    await using as = await startAuthorizationServer({ clientIdMetadataDocuments: false })
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    const user = new User()
    await using _client = await join(gate, user.auth({ clientMetadataUrl: documentUrl }))
    expect(at(as, 'register')).toHaveLength(1)
    expect(user.pages[0]!.searchParams.get('client_id')).not.toBe(documentUrl)
  })

  it('asks for a client id when nothing else is left [AUTH-046, AUTH-055]', async () => {
    await using as = await startAuthorizationServer({ registration: false, clients: [given] })
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    const user = new User()
    const asked: string[] = []
    const register = ({ issuer }: { issuer: string }) => {
      asked.push(issuer)
      return { clientId: 'given' }
    }
    await using _client = await join(gate, user.auth({ register }))
    expect(asked).toEqual([as.issuer])
    expect(user.pages[0]!.searchParams.get('client_id')).toBe('given')
  })

  it('determines the client id before it prompts the user [AUTH-056]', async () => {
    await using as = await startAuthorizationServer({ registration: false })
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    const user = new User()
    const error = await failureOf(join(gate, user.auth()))
    expect(error.message).toContain('Register it there')
    expect(user.pages).toEqual([])
  })

  it.each(['http://app.example/client.json', 'https://app.example', 'https://app.example/', 'client.json'])(
    'never uses the metadata document %s, which is not an https URL with a path [AUTH-048]',
    async (clientMetadataUrl) => {
      await using as = await startAuthorizationServer({ fetch: documents })
      await using gate = await Gate.start({ authorizationServers: [as.issuer] })
      const user = new User()
      const work = (async () => join(gate, user.auth({ clientMetadataUrl })))()
      await expect(work).rejects.toThrow(/clientMetadataUrl/)
      expect(user.pages).toEqual([])
    },
  )
})

describe('dynamic client registration', () => {
  it.each([
    [redirectUrl, 'native'],
    ['http://localhost:7/callback', 'native'],
    ['http://[::1]:7/callback', 'native'],
    ['com.example.app:/callback', 'native'],
    ['https://app.example/callback', 'web'],
  ])('registers the redirect %s as a %s application [AUTH-057, AUTH-058, AUTH-090, AUTH-098]', async (back, type) => {
    await using as = await startAuthorizationServer()
    as.faults.always('register', { status: 201, body: { client_id: 'c1' } })
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    const stop = () => {
      throw new Error('far enough')
    }
    await expect(join(gate, new User().auth({ redirectUrl: back, authorize: stop }))).rejects.toThrow('far enough')
    expect(JSON.parse(at(as, 'register')[0]!.body)).toMatchObject({
      application_type: type,
      redirect_uris: [back],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
    })
  })

  it('reports a refused redirect URI and can register again with another [AUTH-059]', async () => {
    await using as = await startAuthorizationServer()
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    const user = new User()
    const store = new MemoryTokenStore()
    as.faults.next('register', {
      status: 400,
      body: { error: 'invalid_redirect_uri', error_description: 'Not this port' },
    })
    const error = await failureOf(join(gate, user.auth({ store, redirectUrl: 'http://127.0.0.1:9/callback' })))
    expect(error.message).toContain('invalid_redirect_uri, Not this port')
    await using client = await join(gate, user.auth({ store }))
    expect((await client.callTool('ping')).text).toBe('pong')
  })

  it('registers again for another redirect URI [AUTH-090]', async () => {
    await using as = await startAuthorizationServer()
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    const store = new MemoryTokenStore()
    await (await join(gate, new User().auth({ store }))).close()
    await store.delete(`tokens ${gate.url}`)
    await (await join(gate, new User().auth({ store, redirectUrl: 'http://127.0.0.1:8/other' }))).close()
    expect(at(as, 'register').map(({ body }) => JSON.parse(body).redirect_uris)).toEqual([
      [redirectUrl],
      ['http://127.0.0.1:8/other'],
    ])
  })

  it('drops a registration that the server has forgotten, so that the next attempt succeeds', async () => {
    await using as = await startAuthorizationServer()
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    const store = new MemoryTokenStore()
    as.faults.next('token', { status: 401, body: { error: 'invalid_client' } })
    await failureOf(join(gate, new User().auth({ store })))
    await using _client = await join(gate, new User().auth({ store }))
    expect(at(as, 'register')).toHaveLength(2)
  })

  it.each([
    [['none', 'client_secret_basic'], 'none'],
    [['client_secret_basic', 'client_secret_post'], 'client_secret_basic'],
    [['client_secret_post'], 'client_secret_post'],
  ] as const)('authenticates by a method that the server supports: of %j by %s', async (methods, method) => {
    await using as = await startAuthorizationServer({ tokenEndpointAuthMethods: methods })
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    await using client = await join(gate, new User().auth())
    expect((await client.callTool('ping')).text).toBe('pong')
    const [{ headers, params }] = grants(as, 'authorization_code') as [ReturnType<typeof grants>[number]]
    expect(headers.authorization?.startsWith('Basic ') ?? false).toBe(method === 'client_secret_basic')
    expect(params.client_secret !== undefined).toBe(method === 'client_secret_post')
  })

  it.each(['http://app.example/callback', 'http://10.0.0.1/callback', 'http://localhost.example/callback'])(
    'never registers the redirect %s, which is neither https nor loopback [AUTH-089]',
    async (back) => {
      await using as = await startAuthorizationServer()
      as.faults.always('register', { status: 201, body: { client_id: 'c1' } })
      await using gate = await Gate.start({ authorizationServers: [as.issuer] })
      const user = new User()
      const work = (async () => join(gate, user.auth({ redirectUrl: back })))()
      await expect(work).rejects.toThrow(/redirectUrl/)
      expect(at(as, 'register')).toEqual([])
      expect(user.pages).toEqual([])
    },
  )
})

describe('credentials per authorization server', () => {
  it('stores credentials under their issuer and registers anew with another [AUTH-042, AUTH-060, AUTH-061]', async () => {
    await using first = await startAuthorizationServer()
    await using second = await startAuthorizationServer()
    await using gate = await Gate.start({ authorizationServers: [first.issuer] })
    const store = new MemoryTokenStore()
    await (await join(gate, new User().auth({ store }))).close()
    const old = gate.calls.at(-1)!.headers.authorization
    gate.authorizationServers = [second.issuer]
    gate.judge = (token) => (token === undefined || `Bearer ${token}` === old ? gate.refusal : undefined)
    await using client = await join(gate, new User().auth({ store }))
    expect((await client.callTool('ping')).text).toBe('pong')
    const ids = [first, second].map((as) => grants(as, 'authorization_code')[0]!.params.client_id)
    expect(new Set(ids).size).toBe(2)
    expect(at(second, 'register')).toHaveLength(1)
    expect(grants(second, 'refresh_token')).toEqual([])
    for (const [index, { issuer }] of [first, second].entries()) {
      expect(JSON.parse((await store.get(`client ${issuer}`))!).client_id).toBe(ids[index])
    }
  })

  it('sends a refresh token to no other issuer, even if the client is registered there too [AUTH-042, AUTH-097]', async () => {
    await using first = await startAuthorizationServer({ refreshTokens: 'always' })
    await using second = await startAuthorizationServer({ refreshTokens: 'always' })
    await using elsewhere = await Gate.start({ authorizationServers: [second.issuer] })
    await using gate = await Gate.start({ authorizationServers: [first.issuer] })
    const store = new MemoryTokenStore()
    for (const server of [elsewhere, gate]) await (await join(server, new User().auth({ store }))).close()
    const old = gate.calls.at(-1)!.headers.authorization
    gate.authorizationServers = [second.issuer]
    gate.judge = (token) => (token === undefined || `Bearer ${token}` === old ? gate.refusal : undefined)
    const user = new User()
    await using client = await join(gate, user.auth({ store }))
    expect((await client.callTool('ping')).text).toBe('pong')
    expect(user.pages.map(({ origin }) => origin)).toEqual([second.issuer])
    expect(grants(second, 'refresh_token')).toEqual([])
    expect(at(second, 'register')).toHaveLength(1)
  })

  it('requests the scopes of earlier tokens again from the same issuer only', async () => {
    await using first = await startAuthorizationServer({ refreshTokens: 'never' })
    await using second = await startAuthorizationServer()
    await using gate = await Gate.start({ authorizationServers: [first.issuer] })
    const store = new MemoryTokenStore()
    const user = new User()
    const challenge = gate.challenge as string
    const login = async (scope: string) => {
      const old = gate.calls.at(-1)?.headers.authorization
      gate.challenge = `${challenge}, scope="${scope}"`
      gate.judge = (token) => (token === undefined || `Bearer ${token}` === old ? gate.refusal : undefined)
      await (await join(gate, user.auth({ store }))).close()
    }
    await login('mail')
    await login('files')
    gate.authorizationServers = [second.issuer]
    await login('notes')
    expect(user.scopes.map((scopes) => scopes?.split(' ').sort().join())).toEqual(['mail', 'files,mail', 'notes'])
  })

  it('refuses to send given credentials to another issuer [AUTH-060, AUTH-061, AUTH-062]', async () => {
    await using as = await startAuthorizationServer()
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    const user = new User()
    const mine = { clientId: 'given', clientSecret: 's3cret', issuer: 'https://as.example' }
    const error = await failureOf(join(gate, user.auth(mine)))
    expect(error.message).toContain('https://as.example')
    expect(user.pages).toEqual([])
    expect(JSON.stringify(as.requests)).not.toContain('s3cret')
    const machine = clientCredentials({ ...mine })
    expect((await failureOf(join(gate, machine))).message).toContain('https://as.example')
    expect(JSON.stringify(as.requests)).not.toContain('s3cret')
  })

  it('uses given credentials where the server lists their issuer among others [AUTH-055]', async () => {
    await using other = await startAuthorizationServer()
    await using as = await startAuthorizationServer({ clients: [given] })
    await using gate = await Gate.start({ authorizationServers: [other.issuer, as.issuer] })
    const user = new User()
    await using client = await join(gate, user.auth({ clientId: 'given', issuer: as.issuer }))
    expect((await client.callTool('ping')).text).toBe('pong')
    expect(user.pages.map(({ origin }) => origin)).toEqual([as.issuer])
  })

  it('binds credentials given without an issuer to the first issuer [AUTH-060, AUTH-061, AUTH-062]', async () => {
    await using first = await startAuthorizationServer({ clients: [{ ...given, client_secret: 's3cret' }] })
    await using second = await startAuthorizationServer({ clients: [{ ...given, client_secret: 's3cret' }] })
    await using gate = await Gate.start({ authorizationServers: [first.issuer] })
    const store = new MemoryTokenStore()
    const user = new User()
    const mine = { store, clientId: 'given', clientSecret: 's3cret' }
    await (await join(gate, user.auth(mine))).close()
    gate.authorizationServers = [second.issuer]
    gate.judge = () => gate.refusal
    await failureOf(join(gate, user.auth(mine)))
    expect(at(second, 'authorize')).toEqual([])
    expect(at(second, 'token')).toEqual([])
  })

  it('binds machine credentials given without an issuer to the first issuer [AUTH-061, AUTH-062]', async () => {
    const machine = { client_id: 'machine', client_secret: 's3cret', grant_types: ['client_credentials'] }
    await using first = await startAuthorizationServer({ clients: [machine] })
    await using second = await startAuthorizationServer({ clients: [machine] })
    await using gate = await Gate.start({ authorizationServers: [first.issuer] })
    const mine = { store: new MemoryTokenStore(), clientId: 'machine', clientSecret: 's3cret' }
    await (await join(gate, clientCredentials(mine))).close()
    gate.authorizationServers = [second.issuer]
    gate.judge = () => gate.refusal
    await failureOf(join(gate, clientCredentials(mine)))
    expect(at(second, 'token')).toEqual([])
  })

  it('prefers the given credentials over stored ones [AUTH-055]', async () => {
    await using as = await startAuthorizationServer({ clients: [{ ...given, client_secret: 'old' }] })
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    const store = new MemoryTokenStore()
    await (await join(gate, new User().auth({ store, clientId: 'given', clientSecret: 'old' }))).close()
    as.registerClient({ ...given, client_secret: 'new' })
    await store.delete(`tokens ${gate.url}`)
    await using client = await join(gate, new User().auth({ store, clientId: 'given', clientSecret: 'new' }))
    expect((await client.callTool('ping')).text).toBe('pong')
  })
})

describe('a refused registration', () => {
  const rpcError = { jsonrpc: '2.0', id: null, error: { code: -32_000, message: 'Not found: the endpoint is /mcp' } }

  it('explains that a server without metadata and registration offers no login', async () => {
    const challenge = { status: 401, headers: { 'www-authenticate': 'Bearer' } }
    await using site = await Site.start(({ path }) =>
      path === '/mcp' ? challenge : { status: 404, headers: { 'content-type': 'application/json' }, body: rpcError },
    )
    const user = new User()
    const error = await failureOf(join({ url: new URL('/mcp', site.origin) }, user.auth()))
    expect(error.message).toMatch(/^No login is offered: .*publishes no OAuth metadata/)
    expect(error.message).toContain('HTTP 404, Not found: the endpoint is /mcp')
    expect(error.message).not.toContain('[object')
    expect(user.pages).toEqual([])
  })

  it('shows only what can be read of the answer of an authorization server', async () => {
    await using as = await startAuthorizationServer()
    as.faults.always('register', { status: 400, body: { error: { code: 7 }, error_description: ['no'] } })
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    const error = await failureOf(join(gate, new User().auth()))
    expect(error.message).toBe(`${as.issuer} did not register this client: HTTP 400`)
  })
})

import { connect } from 'tenon/client'
import { McpServer, serveHttp } from 'tenon/server'
import { startAuthorizationServer } from 'tenon/testing'
import { describe, expect, it } from 'vitest'
import { at, failureOf, Gate, join, Site, User, wellKnown } from './client-support.ts'

describe('protected resource metadata', () => {
  it('finds the authorization server through the resource metadata [AUTH-003, AUTH-029]', async () => {
    await using as = await startAuthorizationServer()
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    const user = new User()
    await using client = await join(gate, user.auth())
    expect((await client.callTool('ping')).text).toBe('pong')
    expect(user.pages.map(({ origin }) => origin)).toEqual([as.issuer])
  })

  it('reads resource metadata only where the challenge points [AUTH-032, AUTH-033]', async () => {
    await using as = await startAuthorizationServer()
    await using gate = await Gate.start({ authorizationServers: [as.issuer], places: ['/elsewhere', wellKnown] })
    await using _client = await join(gate, new User().auth())
    expect(gate.site.paths().filter((path) => path !== '/mcp')).toEqual(['/elsewhere'])
  })

  it.each([
    [[`${wellKnown}/team/mcp`, wellKnown], [`${wellKnown}/team/mcp`]],
    [[wellKnown], [`${wellKnown}/team/mcp`, wellKnown]],
  ])(
    'looks for resource metadata at the path, then at the root, if the challenge names no URL: %j [AUTH-033]',
    async (places, asked) => {
      await using as = await startAuthorizationServer()
      await using gate = await Gate.start({ authorizationServers: [as.issuer], path: '/team/mcp', places })
      gate.challenge = 'Bearer'
      await using _client = await join(gate, new User().auth())
      expect(gate.site.paths().filter((path) => path !== '/team/mcp')).toEqual(asked)
    },
  )

  it('looks for resource metadata at the well-known URLs when a 401 has no challenge [AUTH-033]', async () => {
    await using as = await startAuthorizationServer()
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    gate.challenge = undefined
    await using client = await join(gate, new User().auth())
    expect((await client.callTool('ping')).text).toBe('pong')
  })

  it.each([
    ['several in one header', (url: string) => `Basic realm="a, Bearer b=\\"c\\"", Bearer resource_metadata="${url}"`],
    [
      'several headers',
      (url: string) => ['Digest nonce="x", qop="auth"', `bearer realm=mcp, resource_metadata="${url}"`],
    ],
    ['one with a token of its own', (url: string) => `Negotiate oRQw+EqADCg==, Bearer resource_metadata="${url}"`],
    ['one with slashes in its token', (url: string) => `Negotiate oRQw/EqADCg==, Bearer resource_metadata="${url}"`],
    ['one for bound tokens', (url: string) => `Bearer resource_metadata="${url}", DPoP algs="ES256"`],
  ])('finds the Bearer challenge among others: %s [AUTH-032]', async (_, challenge) => {
    await using as = await startAuthorizationServer()
    await using gate = await Gate.start({ authorizationServers: [as.issuer], places: ['/elsewhere'] })
    gate.challenge = challenge(`${gate.site.origin}/elsewhere`)
    const user = new User()
    await using _client = await join(gate, user.auth())
    expect(gate.site.paths()).toContain('/elsewhere')
    expect(user.pages).toHaveLength(1)
  })

  it.each([
    ['another path', (url: URL) => `${url.origin}/other`],
    ['a part of ours', (url: URL) => `${url.href}/part`],
    ['a path that only begins alike', (url: URL) => `${url.origin}/mc`],
    ['another port', (url: URL) => `http://127.0.0.1:1${url.pathname}`],
    ['another host', () => 'https://mcp.example/mcp'],
    ['a folder that we are in', (url: URL) => `${url.origin}/`],
    ['our path with a slash at its end', (url: URL) => `${url.href}/`],
    ['our URL with a query', (url: URL) => `${url.href}?tenant=other`],
    ['our URL with a user name', (url: URL) => url.href.replace('//', '//user@')],
    ['our URL with a password', (url: URL) => url.href.replace('//', '//:pw@')],
    ['our URL written in another way', (url: URL) => `${url.origin}/x/../mcp`],
    ['our URL with a capital in its path', (url: URL) => `${url.origin}/MCP`],
    ['our URL with a blank before it', (url: URL) => ` ${url.href}`],
    ['no URL', () => 'mcp'],
    ['nothing', () => undefined],
  ])('stops when the resource metadata is of %s [AUTH-034]', async (_, resource) => {
    await using as = await startAuthorizationServer()
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    gate.metadata = { resource: resource(gate.url) }
    const user = new User()
    const error = await failureOf(join(gate, user.auth()))
    expect(error.message).toContain(`not of ${gate.url}`)
    expect(as.requests).toEqual([])
    expect(user.pages).toEqual([])
  })

  it.each([
    ['found', undefined],
    ['announced', (origin: string) => `Bearer resource_metadata="${origin}${wellKnown}"`],
  ])(
    'accepts metadata of the whole origin where it is %s at its root, and uses its resource [AUTH-034, AUTH-067, AUTH-068]',
    async (_, challenge) => {
      await using as = await startAuthorizationServer()
      await using gate = await Gate.start({ authorizationServers: [as.issuer], places: [wellKnown] })
      gate.challenge = challenge?.(gate.site.origin)
      gate.metadata = { resource: gate.site.origin }
      await using _client = await join(gate, new User().auth())
      const asked = [...at(as, 'authorize'), ...at(as, 'token')].map(({ params }) => params.resource)
      expect(asked).toEqual([gate.site.origin, gate.site.origin])
    },
  )

  it.each(['/a', '/a/'])('does not accept metadata of the folder %s for a server in it [AUTH-034]', async (folder) => {
    await using as = await startAuthorizationServer()
    await using gate = await Gate.start({
      authorizationServers: [as.issuer],
      path: '/a/mcp',
      places: [wellKnown + folder],
    })
    gate.challenge = `Bearer resource_metadata="${gate.site.origin}${wellKnown}${folder}"`
    gate.metadata = { resource: gate.site.origin + folder }
    const error = await failureOf(join(gate, new User().auth()))
    expect(error.message).toContain(', not of ')
    expect(as.requests).toEqual([])
  })

  it('finds metadata for a URL with a query [AUTH-034]', async () => {
    await using as = await startAuthorizationServer()
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    gate.metadata = { resource: gate.url.href }
    await using client = await connect(new URL('?debug=1', gate.url), { auth: new User().auth() })
    expect((await client.callTool('ping')).text).toBe('pong')
    expect(at(as, 'token')[0]!.params.resource).toBe(gate.url.href)
  })

  it('accepts a resource with scheme and host in capitals [AUTH-070]', async () => {
    await using as = await startAuthorizationServer()
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    gate.metadata = { resource: gate.url.href.replace('http', 'HTTP') }
    const user = new User()
    await using _client = await join(gate, user.auth())
    expect(user.pages[0]!.searchParams.get('resource')).toBe(gate.metadata.resource)
  })

  it('ignores metadata whose resource has a fragment [AUTH-068]', async () => {
    await using as = await startAuthorizationServer()
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    gate.metadata = { resource: `${gate.url}#part` }
    const user = new User()
    await failureOf(join(gate, user.auth()))
    expect(user.pages).toEqual([])
  })

  it('fetches no metadata where no authorization is required [AUTH-002]', async () => {
    const http = await serveHttp(new McpServer({ name: 'open', version: '1.0.0' }), { port: 0, exit: false })
    const user = new User()
    await using client = await connect(http.url, { auth: user.auth() })
    await client.ping()
    expect(user.pages).toEqual([])
    await http.close()
  })
})

describe('authorization server metadata', () => {
  const oauthPlace = '/.well-known/oauth-authorization-server'
  const openidPlace = '/.well-known/openid-configuration'

  it.each([
    ['oauth', [`${oauthPlace}/tenant`]],
    ['openid-inserted', [`${oauthPlace}/tenant`, `${openidPlace}/tenant`]],
    ['openid-appended', [`${oauthPlace}/tenant`, `${openidPlace}/tenant`, `/tenant${openidPlace}`]],
  ] as const)(
    'finds the metadata of an issuer with a path in this order: %s [AUTH-038, AUTH-039]',
    async (metadata, places) => {
      await using as = await startAuthorizationServer({ issuerPath: '/tenant', metadata })
      await using gate = await Gate.start({ authorizationServers: [as.issuer] })
      const user = new User()
      await using _client = await join(gate, user.auth())
      expect(as.requests.map(({ url }) => url).filter((url) => url.includes('.well-known'))).toEqual(places)
      expect(user.pages).toHaveLength(1)
    },
  )

  it.each([
    ['oauth', [oauthPlace]],
    ['openid', [oauthPlace, openidPlace]],
  ] as const)(
    'finds the metadata of an issuer without a path in this order: %s [AUTH-035, AUTH-038, AUTH-040]',
    async (metadata, places) => {
      await using as = await startAuthorizationServer({ metadata })
      await using gate = await Gate.start({ authorizationServers: [as.issuer] })
      const user = new User()
      await using _client = await join(gate, user.auth(), '2025-06-18')
      expect(as.requests.map(({ url }) => url).filter((url) => url.includes('.well-known'))).toEqual(places)
      expect(user.pages).toHaveLength(1)
    },
  )

  it('stops when a named issuer has no metadata, without trying default paths [AUTH-035]', async () => {
    await using as = await startAuthorizationServer({ metadata: 'none' })
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    const error = await failureOf(join(gate, new User().auth()))
    expect(error.message).toContain('publishes no metadata')
    expect(as.requests.filter(({ method }) => method === 'POST')).toEqual([])
  })

  it.each([
    ['another issuer', () => 'https://attacker.example'],
    ['a slash more', (issuer: string) => `${issuer}/`],
    ['capitals', (issuer: string) => issuer.replace('http', 'HTTP')],
    ['another path', (issuer: string) => `${issuer}/tenant`],
    ['none', () => undefined],
  ])('does not use metadata with %s [AUTH-041]', async (_, issuer) => {
    await using as = await startAuthorizationServer()
    as.faults.always('metadata', { patch: { issuer: issuer(as.issuer) } })
    await using gate = await Gate.start({ authorizationServers: [as.issuer] })
    const user = new User()
    const error = await failureOf(join(gate, user.auth()))
    expect(error.message).toContain(`The metadata of ${as.issuer} names another issuer`)
    expect(user.pages).toEqual([])
    expect(as.requests.every(({ endpoint }) => endpoint === 'metadata')).toBe(true)
  })

  it.each([
    ['absent', undefined],
    ['plain', ['plain']],
  ])('stops when PKCE support is %s [AUTH-065]', async (_, methods) => {
    for (const metadata of ['oauth', 'openid'] as const) {
      await using as = await startAuthorizationServer({ metadata })
      as.faults.always('metadata', { patch: { code_challenge_methods_supported: methods } })
      await using gate = await Gate.start({ authorizationServers: [as.issuer] })
      const user = new User()
      const error = await failureOf(join(gate, user.auth()))
      expect(error.message).toContain('PKCE')
      expect(user.pages).toEqual([])
    }
  })
})

describe('discovery at a server of 2025-03-26', () => {
  /** Its own authorization server, at its origin: forwards what is not MCP. */
  async function older(hasMetadata: boolean) {
    const gate = await Gate.start({ path: '/v1/mcp', places: [] })
    const { origin } = gate.site
    const inner = gate.answer.bind(gate)
    gate.answer = (visit, places) => {
      const [path] = visit.path.split('?')
      if (path === '/.well-known/oauth-authorization-server' && hasMetadata) {
        const endpoints = { authorization_endpoint: `${origin}/login`, token_endpoint: `${origin}/issue` }
        const more = { registration_endpoint: `${origin}/join`, code_challenge_methods_supported: ['S256'] }
        return { body: { issuer: origin, ...endpoints, ...more } }
      }
      if (path === '/authorize' || path === '/login') {
        const { searchParams } = new URL(visit.path, origin)
        const back = new URL(searchParams.get('redirect_uri')!)
        back.search = `${new URLSearchParams({ code: 'c0de', state: searchParams.get('state')! })}`
        return { status: 302, headers: { location: back.href } }
      }
      if (path === '/register' || path === '/join') return { status: 201, body: { client_id: 'c1' } }
      if (path === '/token' || path === '/issue') return { body: { access_token: 't0ken', token_type: 'Bearer' } }
      return inner(visit, places)
    }
    return gate
  }

  it('looks for authorization server metadata at the root of the server first [AUTH-016, AUTH-019, AUTH-022, AUTH-043]', async () => {
    await using gate = await older(true)
    await using client = await join(gate, new User().auth(), '2025-03-26')
    expect((await client.callTool('ping')).text).toBe('pong')
    const asked = gate.site.paths().map((path) => path.split('?')[0])
    const own = asked.filter((path) => path !== '/v1/mcp' && !path?.startsWith(wellKnown))
    expect(own).toEqual(['/.well-known/oauth-authorization-server', '/join', '/login', '/issue'])
  })

  it('uses the default paths at the server’s origin if there is no metadata [AUTH-016, AUTH-019, AUTH-021]', async () => {
    await using gate = await older(false)
    await using client = await join(gate, new User().auth(), '2025-03-26')
    expect((await client.callTool('ping')).text).toBe('pong')
    const asked = gate.site.paths().map((path) => path.split('?')[0])
    const own = asked.filter((path) => path !== '/v1/mcp' && !path?.startsWith(wellKnown))
    expect(own).toEqual(['/.well-known/oauth-authorization-server', '/register', '/authorize', '/token'])
  })

  it.each([
    ['2025-03-26', { revision: '2025-03-26' }],
    ['2025-11-25', { revisions: ['2025-06-18', '2025-11-25'] }],
    ['2026-07-28', {}],
  ] as const)('sends %s only with requests for the metadata [AUTH-020]', async (newest, options) => {
    await using gate = await older(true)
    await using _client = await connect(gate.url, { ...options, auth: new User().auth() })
    const away = gate.site.visits.filter(({ path }) => path.split('?')[0] !== '/v1/mcp')
    const [asked, others] = [true, false].map((isAsked) =>
      away.filter(({ path }) => path.startsWith('/.well-known/') === isAsked),
    )
    expect(asked!.length).toBeGreaterThan(1)
    for (const { headers } of asked!) expect(headers['mcp-protocol-version']).toBe(newest)
    expect(others!.map(({ path }) => path.split('?')[0])).toEqual(['/join', '/login', '/issue'])
    for (const { headers } of others!) expect(headers).not.toHaveProperty('mcp-protocol-version')
  })

  it('sends the protocol version to the server, and not to an authorization server elsewhere', async () => {
    await using as = await Site.start(() => undefined)
    await using gate = await Gate.start({ authorizationServers: [as.origin] })
    await failureOf(join(gate, new User().auth()))
    expect(as.visits.length).toBeGreaterThan(0)
    for (const { headers } of as.visits) expect(headers).not.toHaveProperty('mcp-protocol-version')
  })

  it('refuses a server that claims another issuer name [AUTH-041]', async () => {
    await using gate = await Gate.start({ places: [] })
    const inner = gate.answer.bind(gate)
    gate.answer = (visit, places) =>
      visit.path === '/.well-known/oauth-authorization-server'
        ? { body: { issuer: 'https://bank.example', token_endpoint: `${gate.site.origin}/token` } }
        : inner(visit, places)
    const error = await failureOf(join(gate, new User().auth(), '2025-03-26'))
    expect(error.message).toContain('bank.example')
  })
})

describe('invalid addresses in metadata', () => {
  it.each(['data:text/html,x', 'javascript:alert(1)', 'file:///etc/passwd', 'mcp', '//', 'http://['])(
    'reports the authorization server %s as invalid [SEC-006]',
    async (issuer) => {
      await using gate = await Gate.start({ authorizationServers: [issuer] })
      const user = new User()
      await failureOf(join(gate, user.auth()))
      expect(user.pages).toEqual([])
    },
  )

  it.each(['http://[', 'javascript:alert(1)', 'file:///etc/passwd'])(
    'reports resource metadata at %s as invalid [SEC-006]',
    async (place) => {
      await using gate = await Gate.start({ authorizationServers: [] })
      gate.challenge = `Bearer resource_metadata="${place}"`
      await failureOf(join(gate, new User().auth()))
    },
  )

  it('reports an issuer of 2025-03-26 that is not a URL [SEC-006]', async () => {
    await using gate = await Gate.start({ places: [] })
    const inner = gate.answer.bind(gate)
    gate.answer = (visit, places) =>
      visit.path === '/.well-known/oauth-authorization-server' ? { body: { issuer: 'me' } } : inner(visit, places)
    await failureOf(join(gate, new User().auth(), '2025-03-26'))
  })

  it('does not follow a public resource to an authorization server on this machine [SEC-001, SEC-003]', async () => {
    await using site = await Site.start(() => ({ body: {} }))
    for (const target of [`${site.origin}/x`, site.origin.replace('http', 'https')]) {
      const url = new URL('https://mcp.example/mcp')
      const session = new User().auth()(url)
      const header = (name: string) =>
        name === 'www-authenticate' ? `Bearer resource_metadata="${target}"` : undefined
      const refusal = { method: 'POST', url, revision: '2026-07-28', status: 401, header, sent: {}, count: 1 }
      expect((await failureOf(session.onUnauthorized(refusal))).message).toMatch(/not allowed for/)
    }
    expect(site.visits).toEqual([])
  })
})

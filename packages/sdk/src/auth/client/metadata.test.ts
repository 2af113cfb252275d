import { describe, expect, it } from 'vitest'
import { AuthContext, Trace } from './context.ts'
import { chooseScopes, discover, fetchFor, findAuthorizationServer, metadataPlaces } from './metadata.ts'

const wellKnown = '/.well-known/oauth-protected-resource'
const issuer = 'https://as.example'
const serverUrl = 'https://mcp.example/mcp'
const resourceDocument = { resource: serverUrl, authorization_servers: [issuer] }
const serverDocument = { issuer, token_endpoint: `${issuer}/token` }

/** A context in which these documents exist, and the URLs that were fetched. */
function web(documents: Record<string, unknown>, url = serverUrl) {
  const fetched: string[] = []
  const fetch = async (at: string) => {
    fetched.push(at)
    return at in documents ? Response.json(documents[at]) : new Response(null, { status: 404 })
  }
  return { fetched, context: new AuthContext(new URL(url), new Trace(), fetch) }
}

const challenged = (url: string) => ({ scheme: 'bearer', params: { resource_metadata: url } }) as never

describe('the metadata of a resource', () => {
  const servers = { [`${issuer}/.well-known/oauth-authorization-server`]: serverDocument }

  it('is looked for with the path, then without [AUTH-033]', async () => {
    const { context, fetched } = web({
      ...servers,
      [`https://mcp.example${wellKnown}`]: { ...resourceDocument, scopes_supported: ['a', 7] },
    })
    expect(await discover(context, undefined)).toEqual({
      server: serverDocument,
      resource: serverUrl,
      scopesSupported: ['a'],
    })
    expect(fetched.slice(0, 2)).toEqual([`https://mcp.example${wellKnown}/mcp`, `https://mcp.example${wellKnown}`])
  })

  it('of an origin is looked for once', async () => {
    const { context, fetched } = web({}, 'https://mcp.example/')
    await discover(context, undefined)
    expect(fetched).toEqual([
      `https://mcp.example${wellKnown}`,
      'https://mcp.example/.well-known/oauth-authorization-server',
    ])
  })

  it('is taken from the challenge, else from an earlier one, even if it is relative [AUTH-032]', async () => {
    const place = 'https://mcp.example/meta'
    const { context, fetched } = web({ ...servers, [place]: resourceDocument })
    await discover(context, challenged('/meta'), 'https://mcp.example/other')
    await discover(context, undefined, place)
    expect(fetched.filter((url) => url.includes('mcp.example'))).toEqual([place, place])
  })

  it('with an invalid URL in the challenge is an error', async () => {
    const { context, fetched } = web({})
    await expect(discover(context, challenged('https://['))).rejects.toThrow(
      'The challenge of the server has an invalid URL for its metadata',
    )
    expect(fetched).toEqual([])
  })

  it.each([
    ['another path', 'https://mcp.example/other', `${wellKnown}/mcp`],
    ['another host', 'https://evil.example/mcp', `${wellKnown}/mcp`],
    ['no text', 7, `${wellKnown}/mcp`],
    ['the origin, at the place of the path', 'https://mcp.example', `${wellKnown}/mcp`],
  ])('must be that of the server, not of %s [AUTH-068]', async (_, resource, path) => {
    const { context } = web({ ...servers, [`https://mcp.example${path}`]: { ...resourceDocument, resource } })
    await expect(discover(context, undefined)).rejects.toThrow(
      `The resource metadata is that of ${JSON.stringify(resource)}, not of ${serverUrl}`,
    )
  })

  it('may be that of the whole origin, at the place of the origin', async () => {
    const document = { ...resourceDocument, resource: 'https://mcp.example' }
    const { context } = web({ ...servers, [`https://mcp.example${wellKnown}`]: document })
    expect((await discover(context, undefined)).resource).toBe('https://mcp.example')
  })

  it.each([[[]], ['https://as.example'], [[7]], [undefined]])(
    'must name an authorization server: %o [AUTH-029]',
    async (names) => {
      const document = { ...resourceDocument, authorization_servers: names }
      const { context } = web({ [`https://mcp.example${wellKnown}`]: document })
      await expect(discover(context, undefined)).rejects.toThrow('The resource metadata names no authorization server')
    },
  )

  it('may name several authorization servers, of which the preferred is chosen', async () => {
    const other = 'https://other.example'
    const { context } = web({
      ...servers,
      [`${other}/.well-known/oauth-authorization-server`]: { issuer: other, token_endpoint: `${other}/t` },
      [`https://mcp.example${wellKnown}`]: { ...resourceDocument, authorization_servers: [issuer, other] },
    })
    expect((await discover(context, undefined)).server.issuer).toBe(issuer)
    expect((await discover(context, undefined, undefined, other)).server.issuer).toBe(other)
    expect((await discover(context, undefined, undefined, 'https://unnamed')).server.issuer).toBe(issuer)
  })
})

describe('the metadata of an authorization server', () => {
  it('has three places if the issuer has a path, else two [AUTH-039]', () => {
    const hrefs = (url: string) => metadataPlaces(url).map(({ href }) => href.slice(issuer.length))
    expect(hrefs(`${issuer}/a/`)).toEqual([
      '/.well-known/oauth-authorization-server/a',
      '/.well-known/openid-configuration/a',
      '/a/.well-known/openid-configuration',
    ])
    expect(hrefs(issuer)).toEqual(['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration'])
  })

  it('is read from the next place if there is none, without members of a wrong type', async () => {
    const document = { ...serverDocument, scopes_supported: 'all', code_challenge_methods_supported: ['S256', 7] }
    const { context } = web({ [`${issuer}/.well-known/openid-configuration`]: document })
    expect(await findAuthorizationServer(context, issuer)).toEqual({
      ...serverDocument,
      code_challenge_methods_supported: ['S256'],
    })
  })

  it.each([
    ['names another issuer', { issuer: `${issuer}/` }, `names another issuer, "${issuer}/", and was rejected`],
    ['has no token endpoint', { token_endpoint: undefined }, `The metadata of ${issuer} has no token endpoint`],
  ])('is rejected if it %s [AUTH-041]', async (_, more, message) => {
    const { context } = web({ [`${issuer}/.well-known/oauth-authorization-server`]: { ...serverDocument, ...more } })
    await expect(findAuthorizationServer(context, issuer)).rejects.toThrow(message)
  })

  it('must exist, at an http URL', async () => {
    await expect(findAuthorizationServer(web({}).context, issuer)).rejects.toThrow(
      `The authorization server ${issuer} publishes no metadata`,
    )
    for (const url of ['as.example', 'ftp://as.example']) {
      await expect(findAuthorizationServer(web({}).context, url)).rejects.toThrow(
        `The authorization server "${url}" is not an https: URL`,
      )
    }
  })
})

describe('without metadata of the resource', () => {
  const place = 'https://mcp.example/.well-known/oauth-authorization-server'

  it('the default paths of the origin are used [AUTH-021]', async () => {
    const { context } = web({})
    expect(await discover(context, undefined)).toEqual({
      server: {
        issuer: 'https://mcp.example',
        authorization_endpoint: 'https://mcp.example/authorize',
        token_endpoint: 'https://mcp.example/token',
        registration_endpoint: 'https://mcp.example/register',
        code_challenge_methods_supported: ['S256'],
      },
      resource: undefined,
      scopesSupported: [],
    })
    expect(context.triesDefaultPaths).toBe(true)
    expect(String(context.trace)).toContain('+ authorization server: default paths at https://mcp.example')
    expect(String(context.trace)).toContain('- resource metadata: the server has none')
  })

  it.each([
    ['its own issuer', { issuer: 'https://mcp.example/tenant' }, 'https://mcp.example/tenant'],
    ['no issuer', {}, 'https://mcp.example'],
  ])('metadata of the origin with %s is used [AUTH-016]', async (_, document, expected) => {
    const { context } = web({ [place]: { token_endpoint: 'x', scopes_supported: 7, ...document } })
    expect((await discover(context, undefined)).server).toEqual({ token_endpoint: 'x', issuer: expected })
    expect(context.triesDefaultPaths).toBe(false)
  })

  it.each(['https://evil.example', 'nothing', 'ftp://mcp.example'])(
    'metadata of the origin with the issuer %s is rejected',
    async (foreign) => {
      const { context } = web({ [place]: { issuer: foreign } })
      await expect(discover(context, undefined)).rejects.toThrow(
        `The metadata of https://mcp.example names another authorization server, ${foreign}`,
      )
    },
  )
})

it.each([
  ['those of the challenge', 'a b', ['r'], [], false, [], ['a', 'b']],
  ['those of the resource', undefined, ['r'], ['m'], false, [], ['r', 'm']],
  ['those of the resource if the challenge names none', ' ', ['r'], [], false, [], ['r']],
  ['a refresh token if the server lists it', 'a', [], [], false, ['offline_access'], ['a', 'offline_access']],
  ['no refresh token without another scope', undefined, [], [], false, ['offline_access'], []],
  ['no refresh token without a user', 'a', [], [], true, ['offline_access'], ['a']],
  ['no refresh token that the server does not list', 'a', [], [], false, ['a'], ['a']],
])('chooses scopes: %s [AUTH-074, AUTH-098]', (_, scope, scopesSupported, more, isUnattended, offered, chosen) => {
  const found = { server: { issuer, scopes_supported: offered }, resource: undefined, scopesSupported }
  const challenge = { scheme: 'bearer', params: scope === undefined ? {} : { scope } } as never
  expect(chooseScopes(found, challenge, more, isUnattended)).toEqual(chosen)
})

it('reaches this machine only for a server on this machine [AUTH-089]', async () => {
  const answer = async () => new Response('ok')
  const target = 'http://127.0.0.1:1/x'
  expect(await (await fetchFor(new URL('http://localhost:1/mcp'), answer)(target, {})).text()).toBe('ok')
  await expect(fetchFor(new URL(serverUrl), answer)(target, {})).rejects.toThrow()
})

import { describe, expect, it } from 'vitest'
import { metadataUrl, ResourceMetadata, resourceAt } from './metadata.ts'

const wellKnown = '/.well-known/oauth-protected-resource'
const authorizationServers = ['https://as.example']
const sse = { path: '/sse', messagesPath: '/messages' }

function headOf(url: string, host?: string) {
  return { method: 'GET', url, header: (name: string) => (name === 'host' ? host : undefined) }
}

function resourceOf(metadata: ResourceMetadata, url: string, host?: string): string {
  const response = metadata.respond(headOf(url, host))
  if (!('body' in response)) throw new Error(response.message)
  return JSON.parse(response.body).resource
}

it.each([
  ['https://mcp.example', `https://mcp.example${wellKnown}`, 'https://mcp.example'],
  ['https://mcp.example/', `https://mcp.example${wellKnown}`, 'https://mcp.example'],
  ['https://mcp.example/a/b?c=d', `https://mcp.example${wellKnown}/a/b?c=d`, 'https://mcp.example/a/b?c=d'],
])('finds the metadata URL of %s, and the resource of it', (resource, url, back) => {
  expect(metadataUrl(resource)).toBe(url)
  expect(resourceAt(url)).toBe(back)
  expect(resourceAt(resource)).toBeUndefined()
})

describe('a configured resource', () => {
  it('is published byte for byte, whatever the request says [AUTH-027]', () => {
    const metadata = new ResourceMetadata({ authorizationServers, resource: 'https://MCP.example/mcp' })
    metadata.servedAt('http://127.0.0.1:8080/inner')
    for (const path of [`${wellKnown}/mcp`, wellKnown, `${wellKnown}/inner`]) {
      expect(metadata.handles(path)).toBe(true)
      expect(resourceOf(metadata, path, '127.0.0.1:8080')).toBe('https://MCP.example/mcp')
    }
    expect(metadata.handles(`${wellKnown}/other`)).toBe(false)
    expect(metadata.urlFor(headOf('/inner'))).toBe(`https://mcp.example${wellKnown}/mcp`)
  })

  it('has no slash if it is the URL of an origin [AUTH-069]', () => {
    const metadata = new ResourceMetadata({ authorizationServers, resource: new URL('https://mcp.example') })
    expect(resourceOf(metadata, wellKnown)).toBe('https://mcp.example')
    const slash = new ResourceMetadata({ authorizationServers, resource: new URL('https://mcp.example/a/') })
    expect(resourceOf(slash, wellKnown)).toBe('https://mcp.example/a/')
  })

  it('is the audience, among others, in any case of its host [AUTH-013]', () => {
    const metadata = new ResourceMetadata({ authorizationServers, resource: 'https://mcp.example/mcp' })
    const { isFor, urls, header, method } = metadata.toTokenRequest(headOf('/outer?x', 'h'))
    expect([method, urls, header('host')]).toEqual([
      'GET',
      ['https://mcp.example/outer', 'https://mcp.example/mcp'],
      'h',
    ])
    const audiences = [
      'https://MCP.example/mcp',
      new URL('https://mcp.example/mcp'),
      ['https://x', 'https://mcp.example/mcp'],
      'https://mcp.example',
      'https://mcp.example/sse',
      [],
      undefined,
      7,
    ]
    expect(audiences.map((audience) => isFor(audience))).toEqual([true, true, true, false, false, false, false, false])
  })

  it.each([
    ['a fragment', 'https://mcp.example/mcp#x', 'auth.resource must not have a fragment.'],
    ['an empty fragment', 'https://mcp.example/mcp#', 'auth.resource must not have a fragment.'],
    ['another scheme', 'ftp://mcp.example', 'Invalid URL in auth.resource: "ftp://mcp.example".'],
    ['no scheme', 'mcp.example', 'Invalid URL in auth.resource: "mcp.example".'],
  ])('is refused with %s [AUTH-068]', (_, resource, message) => {
    expect(() => new ResourceMetadata({ authorizationServers, resource })).toThrow(message)
  })
})

describe('a resource that is the served URL', () => {
  it('has the loopback name of the request, else the first [AUTH-027]', () => {
    const metadata = new ResourceMetadata({ authorizationServers })
    metadata.servedAt('http://127.0.0.1:8080/mcp')
    const at = (host?: string) => resourceOf(metadata, `${wellKnown}/mcp`, host)
    expect(at('LOCALHOST:8080')).toBe('http://localhost:8080/mcp')
    expect(at('[::1]:8080')).toBe('http://[::1]:8080/mcp')
    expect(at('evil.example:8080')).toBe('http://127.0.0.1:8080/mcp')
    expect(at()).toBe('http://127.0.0.1:8080/mcp')
    expect(metadata.toTokenRequest(headOf('/mcp')).isFor('http://localhost:8080/mcp')).toBe(true)
  })

  it('on the default port has no port', () => {
    const metadata = new ResourceMetadata({ authorizationServers })
    metadata.servedAt('http://127.0.0.1/mcp')
    expect(resourceOf(metadata, wellKnown, 'localhost')).toBe('http://localhost/mcp')
  })

  it('is missing until a URL is served', () => {
    const metadata = new ResourceMetadata({ authorizationServers })
    expect(() => metadata.respond(headOf(wellKnown))).toThrow('auth.resource is missing.')
  })
})

it('publishes the HTTP+SSE endpoint as a resource of its own, for both of its paths [AUTH-027]', () => {
  const metadata = new ResourceMetadata({ authorizationServers, resource: 'https://mcp.example/mcp' }, sse)
  expect(metadata.handles(`${wellKnown}/sse`)).toBe(true)
  expect(resourceOf(metadata, `${wellKnown}/sse`)).toBe('https://mcp.example/sse')
  expect(resourceOf(metadata, `${wellKnown}/mcp`)).toBe('https://mcp.example/mcp')
  for (const path of ['/sse', '/messages']) {
    expect(metadata.urlFor(headOf(path))).toBe(`https://mcp.example${wellKnown}/sse`)
  }
  expect(metadata.urlFor(headOf('/mcp'))).toBe(`https://mcp.example${wellKnown}/mcp`)
  const { isFor } = metadata.toTokenRequest(headOf('/mcp'))
  expect(['https://mcp.example/sse', 'https://mcp.example/messages'].map((each) => isFor(each))).toEqual([true, false])
})

describe('the document', () => {
  const documentOf = (options: object) => {
    const metadata = new ResourceMetadata({ authorizationServers, resource: 'https://mcp.example', ...options })
    const response = metadata.respond(headOf(wellKnown))
    return 'body' in response ? JSON.parse(response.body) : undefined
  }

  it('has the required scopes unless others are configured [AUTH-101]', () => {
    expect(documentOf({}).scopes_supported).toBeUndefined()
    expect(documentOf({ requiredScopes: ['a'] }).scopes_supported).toEqual(['a'])
    expect(
      documentOf({ requiredScopes: ['a'], scopesSupported: ['b', 'b', 'offline_access'] }).scopes_supported,
    ).toEqual(['b'])
    expect(documentOf({ scopesSupported: ['offline_access'] }).scopes_supported).toBeUndefined()
  })

  it('has what is known of DPoP', () => {
    expect(documentOf({})).not.toHaveProperty('dpop_signing_alg_values_supported')
    const dpop = { algorithms: ['ES256'], required: true, check: async () => ({}) }
    expect(documentOf({ dpop })).toMatchObject({
      dpop_signing_alg_values_supported: ['ES256'],
      dpop_bound_access_tokens_required: true,
    })
  })

  it.each([[[]], ['https://as.example'], [undefined]])('needs authorization servers: %o', (servers) => {
    expect(() => documentOf({ authorizationServers: servers })).toThrow(
      'auth.authorizationServers must name at least one issuer, so that clients know where to log in.',
    )
  })

  it('needs URLs of authorization servers', () => {
    expect(() => documentOf({ authorizationServers: ['https://as.example', 'as'] })).toThrow(
      'Invalid URL in auth.authorizationServers: "as".',
    )
  })
})

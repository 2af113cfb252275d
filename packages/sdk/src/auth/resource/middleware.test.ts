import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { BearerAuth, type BearerAuthInfo, type BearerAuthOptions, metadataDocuments } from './middleware.ts'

const resourceMetadataUrl = 'https://mcp.example/.well-known/oauth-protected-resource/mcp'
const resource = 'https://mcp.example/mcp'

function errors() {
  const spy = vi.spyOn(console, 'error').mockImplementation(() => {})
  onTestFinished(() => spy.mockRestore())
  return spy.mock.calls
}

function headOf(method = 'POST', url = '/mcp?a=1') {
  return { method, url, header: (name: string) => (name === 'authorization' ? 'Bearer t' : undefined) }
}

async function check(found: BearerAuthInfo | undefined, options: Partial<BearerAuthOptions> = {}) {
  const verifier = { verifyAccessToken: async () => found! }
  return new BearerAuth({ verifier, ...options }).check(headOf())
}

async function authOf(found: BearerAuthInfo, options: Partial<BearerAuthOptions> = {}): Promise<BearerAuthInfo> {
  const result = await check(found, options)
  if (!('auth' in result)) throw new Error(result.message)
  return result.auth
}

const info: BearerAuthInfo = { clientId: 'c', scopes: ['a'] }

describe('the result of requireBearerAuth', () => {
  it('has further members of the user, and the subject in `extra`', async () => {
    const found = { ...info, extra: { role: 'admin' }, subject: 's', email: 'e', made: 'up' } as BearerAuthInfo
    expect(await authOf(found)).toEqual({
      clientId: 'c',
      scopes: ['a'],
      subject: 's',
      email: 'e',
      extra: { role: 'admin', sub: 's' },
    })
  })

  it('has the claims as `extra` if the verifier returns none', async () => {
    expect((await authOf({ ...info, claims: { role: 'x' } })).extra).toEqual({ role: 'x' })
    expect((await authOf(info)).extra).toEqual({})
  })

  it('has the token only if the verifier returns it, and hides it from logs [AUTH-094]', async () => {
    const auth = await authOf({ ...info, token: 't' })
    expect(auth.token).toBe('t')
    expect(JSON.stringify(auth)).not.toContain('token')
    expect('token' in (await authOf(info))).toBe(false)
  })

  it('is that of a function too, which may refuse the token', async () => {
    const passed = await authOf(info, { verifier: async () => ({ ...info, token: 't' }) })
    expect([passed.clientId, passed.token]).toEqual(['c', 't'])
    expect(await check(info, { verifier: async () => undefined })).toMatchObject({ status: 401 })
  })
})

describe('the audience for requireBearerAuth', () => {
  const other = { ...info, resource: 'https://other.example/mcp' }

  it('is left to a verifier of the official interface if our own URL is not known', async () => {
    expect(await check(other)).toMatchObject({ auth: { clientId: 'c' } })
  })

  it('is checked if our own URL is known, and always for a function [AUTH-013]', async () => {
    expect(await check(other, { resourceMetadataUrl })).toMatchObject({ status: 401 })
    expect(await check({ ...info, resource }, { resourceMetadataUrl })).toMatchObject({ auth: { resource } })
    expect(await check(info, { verifier: () => other })).toMatchObject({ status: 401 })
  })

  it('may be one of several, and is compared by a function with our URL [AUTH-013]', async () => {
    const seen: unknown[] = []
    const verifier: BearerAuthOptions['verifier'] = (_token, request) => {
      seen.push(request.method, request.urls, request.header('authorization'))
      seen.push(request.isFor([other.resource, new URL(resource)]), request.isFor(other.resource))
      return info
    }
    await check(info, { verifier, resourceMetadataUrl: new URL(resourceMetadataUrl) })
    expect(seen).toEqual(['POST', [resource, resource], 'Bearer t', true, false])
    seen.length = 0
    await check(info, { verifier })
    expect(seen).toEqual(['POST', ['/mcp'], 'Bearer t', false, false])
  })

  it('is not known from a URL that is not that of metadata', async () => {
    expect(await check(other, { resourceMetadataUrl: 'https://mcp.example/metadata' })).toMatchObject({ auth: {} })
  })
})

describe('a verifier of requireBearerAuth that fails', () => {
  it.each([
    ['an error by its message', new TypeError('no network'), 'no network'],
    ['anything else as it is', { code: 7 }, { code: 7 }],
  ])('is reported to the operator: %s', async (_, error, reported) => {
    const calls = errors()
    const verifier = { verifyAccessToken: () => Promise.reject(error) }
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    onTestFinished(() => warn.mockRestore())
    expect(await new BearerAuth({ verifier }).check(headOf())).toMatchObject({ status: 503 })
    expect(calls).toEqual([['[tenon] An access token could not be verified:', reported]])
  })
})

describe('the documents of mcpAuthMetadataRouter', () => {
  const oauthMetadata = { issuer: 'https://as.example', x: 1 }
  const documents = metadataDocuments({ oauthMetadata, resourceServerUrl: resource })
  const paths = ['/.well-known/oauth-authorization-server', '/.well-known/oauth-protected-resource/mcp']

  it('are those of the resource and of its authorization server', () => {
    expect([...paths, '/mcp', '/.well-known/other'].map((path) => documents.handles(path))).toEqual([
      true,
      true,
      false,
      false,
    ])
    const read = (path: string) => {
      const response = documents.respond(headOf('GET', path))
      return 'body' in response ? JSON.parse(response.body) : response
    }
    expect(read(`https://mcp.example${paths[0]}?a`)).toEqual(oauthMetadata)
    expect(read(paths[1]!)).toEqual({
      resource,
      authorization_servers: ['https://as.example'],
      bearer_methods_supported: ['header'],
    })
  })

  it('can be read only, by pages of every origin', () => {
    for (const path of paths) {
      expect(documents.respond(headOf('HEAD', path))).toMatchObject({ status: 200 })
      expect(documents.respond(headOf('POST', path))).toMatchObject({
        status: 405,
        message: 'Method not allowed: use GET, HEAD, OPTIONS',
        headers: { allow: 'GET, HEAD, OPTIONS' },
      })
      expect(documents.respond(headOf('OPTIONS', path))).toMatchObject({
        status: 204,
        headers: { 'access-control-allow-headers': '*' },
      })
    }
    const header = () => 'x'.repeat(2_000)
    const long = documents.respond({ method: 'OPTIONS', url: paths[0]!, header })
    expect(long.headers['access-control-allow-headers']).toHaveLength(1_000)
  })
})

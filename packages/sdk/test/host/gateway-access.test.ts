import { revisionIds } from 'tenon'
import { describe, expect, it } from 'vitest'
import { bearer, oauth } from '../../src/auth/client/oauth.ts'
import { jwtVerifier } from '../../src/auth/resource/jwt-verifier.ts'
import { connect } from '../../src/connect/connect.ts'
import { createGateway } from '../../src/host/gateway/gateway.ts'
import type { AccessItem, GatewayOptions } from '../../src/host/gateway/options.ts'
import { createHost } from '../../src/host/host.ts'
import { McpServer } from '../../src/server/mcp-server.ts'
import { startAuthorizationServer } from '../../src/testing/authorization-server/server.ts'
import { serveGateway } from './gateway-support.ts'
import { serverWith } from './support.ts'

const servers = () => ({ docs: { server: serverWith('read') }, ops: { server: serverWith('wipe') } })
const access = [{ server: 'docs' }, { scope: 'admin', server: '*' }]

/** Tokens are the name of the user, who has the scopes after the dot. */
const auth = {
  resource: 'http://127.0.0.1/mcp',
  authorizationServers: ['http://127.0.0.1:2'],
  scopesSupported: ['admin'],
  verify: async (token: string) => {
    const [subject = '', scopes = ''] = token.split('.')
    return { issuer: 'test', clientId: 'c', subject, scopes: scopes.split('+').filter(Boolean) }
  },
}

async function toolsOf(url: string, token: string, revision: (typeof revisionIds)[number] = '2025-11-25') {
  await using client = await connect(url, { revision, auth: bearer(token) })
  return (await client.listTools().all()).map(({ name }) => name)
}

describe('access by scope', () => {
  it.each(revisionIds)(
    'hides tools from users without the scope, also after others have listed them (%s)',
    async (revision) => {
      await using gateway = await serveGateway(servers(), { access, http: { auth } })
      const seen = []
      for (const token of ['ann', 'bob.admin', 'ann', 'cem.administrator', 'dan.read+admin']) {
        seen.push((await toolsOf(gateway.url, token, revision)).length)
      }
      expect(seen).toEqual([1, 2, 1, 1, 2])
    },
  )

  it.each([
    ['a misspelt member', [{ scopes: ['admin'], server: '*' }], 'access[0].scopes is not a member of a rule.'],
    ['several scopes', [{ server: 'docs' }, { scope: ['admin'] }], 'access[1].scope must be the name of one scope.'],
    ['an empty scope', [{ scope: '' }], 'access[0].scope must be the name of one scope.'],
    ['an empty list', [{ server: [] }], 'access[0].server must be a text or a list of texts.'],
    ['something else than a rule', ['docs'], 'access[0] must be an object'],
    ['something else than a list', { server: 'docs' }, 'access must be a list of rules or a function.'],
  ])('with %s is refused, because it would allow too much', async (_, rules, message) => {
    await using host = await createHost({ servers: servers() })
    expect(() => createGateway(host, { access: rules as GatewayOptions['access'] })).toThrow(message)
  })
})

describe('access by a function', () => {
  it('decides about tools, prompts and resources', async () => {
    const server = new McpServer({ name: 'all', version: '1.0.0' })
    server.registerTool('read', {}, () => 'read')
    server.registerTool('wipe', {}, () => 'wiped')
    server.registerPrompt('greet', {}, () => 'Hello')
    server.registerResource('plan', 'notes://plan', {}, () => 'Buy milk')
    const items: AccessItem[] = []
    const decide: GatewayOptions['access'] = ({ auth: caller }, item) => {
      items.push(item)
      return caller?.subject === 'bob' || item.name === 'read'
    }
    await using gateway = await serveGateway({ all: { server } }, { access: decide, http: { auth } })
    await using ann = await connect(gateway.url, { auth: bearer('ann') })
    await using bob = await connect(gateway.url, { auth: bearer('bob') })
    expect((await ann.listTools().all()).map(({ name }) => name)).toEqual(['all_read'])
    expect((await bob.listTools().all()).map(({ name }) => name)).toEqual(['all_read', 'all_wipe'])
    expect([await ann.listPrompts().all(), await ann.listResources().all()]).toEqual([[], []])
    expect([await bob.listPrompts().all(), await bob.listResources().all()]).toMatchObject([[{}], [{}]])
    await expect(ann.callTool('all_wipe')).rejects.toThrow('all_wipe')
    expect(items).toContainEqual({ server: 'all', name: undefined })
    expect(items).toContainEqual({ server: 'all', name: 'wipe' })
  })

  it('hides everything for which it does not return true', async () => {
    for (const answer of [undefined, 'yes', Promise.resolve(true)]) {
      const decide = (() => answer) as unknown as GatewayOptions['access']
      await using gateway = await serveGateway(servers(), { access: decide, http: { auth } })
      expect(await toolsOf(gateway.url, 'ann')).toEqual([])
    }
  })
})

describe('the login of a user at a gateway', () => {
  /** Logs in a user who agrees to everything, and returns the tools that are shown. */
  async function toolsAfterLogin(scopes: { requiredScopes?: string[]; scopesSupported: string[] }) {
    await using login = await startAuthorizationServer()
    const checks = { verify: jwtVerifier({ issuer: login.issuer }), authorizationServers: [login.issuer], ...scopes }
    await using gateway = await serveGateway(servers(), { access, http: { auth: checks } })
    const user = oauth({
      clientName: 'Notebook',
      redirectUrl: 'http://127.0.0.1:8123/callback',
      authorize: async (page) => new URL((await fetch(page, { redirect: 'manual' })).headers.get('location')!),
    })
    await using client = await connect(gateway.url, { auth: user })
    return (await client.listTools().all()).map(({ name }) => name)
  }

  it('asks only for the scopes that every request needs', async () => {
    const shown = await toolsAfterLogin({ requiredScopes: ['mcp'], scopesSupported: ['mcp', 'admin'] })
    expect(shown).toEqual(['docs_read'])
  })

  it('asks for all supported scopes if no request needs one, as clients must', async () => {
    expect(await toolsAfterLogin({ scopesSupported: ['admin'] })).toEqual(['docs_read', 'ops_wipe'])
  })
})

import { describe, expect, it } from 'vitest'
import { oauth } from '../../src/auth/client/oauth.ts'
import { createHost } from '../../src/host/host.ts'
import { serveHttp } from '../../src/serve/http.ts'
import { McpServer } from '../../src/server/mcp-server.ts'
import { startAuthorizationServer } from '../../src/testing/authorization-server/server.ts'
import { script } from './support.ts'

const redirectUrl = 'http://127.0.0.1:7/callback'

/** Says yes to everything, at once. */
async function authorize(page: URL): Promise<URL> {
  const { headers } = await fetch(page, { redirect: 'manual' })
  return new URL(headers.get('location')!)
}

/** What the user is asked about a server that only reads, if these scopes are requested. */
async function askedWith(scopes: readonly string[]) {
  await using as = await startAuthorizationServer()
  const server = new McpServer({ name: 'notes', version: '1.0.0' })
  server.registerTool('list_notes', {}, () => 'none')
  const verify = async (token: string) => ({ token, clientId: 'c', scopes: [] })
  const auth = { verify, authorizationServers: [as.issuer] }
  await using http = await serveHttp(server, { port: 0, exit: false, auth })
  const { approve, asked } = script('once', 'once', 'once')
  const servers = { notes: { url: http.url, auth: oauth({ scopes, redirectUrl, authorize }) } }
  await using host = await createHost({ servers, approve })
  await host.tools()
  return asked.map(({ action: { kind }, findings }) => ({ kind, findings }))
}

describe('the scopes of a server', () => {
  it('are shown at the approval if they are far wider than its tools [HOST-035]', async () => {
    const asked = await askedWith(['notes:read', 'notes:delete', 'admin'])
    const { findings = [] } = asked.find(({ kind }) => kind === 'definitions') ?? {}
    expect(findings.map(({ rule, severity, excerpt }) => [rule, severity, excerpt])).toEqual([
      ['wide-scope', 'high', 'notes:delete'],
      ['wide-scope', 'high', 'admin'],
    ])
  })

  it('raise no alarm if they are ordinary [HOST-035]', async () => {
    expect((await askedWith(['notes:read', 'profile'])).map(({ kind }) => kind)).toEqual(['connect'])
  })
})

import { bearer } from 'tenon/auth/client'
import { connect } from 'tenon/client'
import { McpServer, serveHttp } from 'tenon/server'
import { describe, expect, it } from 'vitest'

function vault() {
  const server = new McpServer({ name: 'vault', version: '1.0.0' })
  server.registerTool('look', {}, () => 'seen')
  server.registerTool('take', { requiredScopes: ['take'] }, () => 'taken')
  server.registerPrompt('rob', { requiredScopes: ['take'] }, () => 'How?')
  server.registerResource('gold', 'vault://gold', { requiredScopes: ['take'] }, () => 'gold')
  return server
}

/** Tokens are the scopes that they carry. */
async function serve() {
  const http = await serveHttp(vault(), {
    port: 0,
    exit: false,
    auth: {
      verify: (token, request) =>
        ({
          subject: 'me',
          issuer: 'https://issuer.example',
          clientId: 'c',
          scopes: token.split('+'),
          resource: request.urls[0],
          claims: {},
        }) as never,
      authorizationServers: ['https://issuer.example'],
    },
  })
  return { url: http.url, [Symbol.asyncDispose]: () => http.close() }
}

describe('scopes required by a feature', () => {
  for (const revision of ['2025-03-26', '2025-11-25', '2026-07-28'] as const) {
    it(`lists the feature for everyone and serves callers with the scopes (${revision}) [RES-034]`, async () => {
      await using http = await serve()
      const poor = await connect(http.url, { revision, auth: bearer('look') })
      const rich = await connect(http.url, { revision, auth: bearer('look+take') })
      for (const client of [poor, rich]) {
        expect((await client.listTools().all()).map(({ name }) => name)).toEqual(['look', 'take'])
        expect(await client.listPrompts().all()).toHaveLength(1)
        expect(await client.listResources().all()).toHaveLength(1)
      }
      expect((await rich.callTool('take')).text).toBe('taken')
      expect((await rich.readResource('vault://gold')).contents).toHaveLength(1)
      await expect(poor.callTool('take')).rejects.toMatchObject({ status: 403 })
      await expect(poor.getPrompt('rob')).rejects.toMatchObject({ status: 403 })
      await expect(poor.readResource('vault://gold')).rejects.toMatchObject({ status: 403 })
      await poor.close()
      await rich.close()
    })
  }

  it('names all required scopes in the challenge', async () => {
    await using http = await serve()
    const { status, headers } = await fetch(http.url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        authorization: 'Bearer look',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'tools/call',
        'mcp-name': 'take',
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: {
          name: 'take',
          arguments: {},
          _meta: {
            'io.modelcontextprotocol/protocolVersion': '2026-07-28',
            'io.modelcontextprotocol/clientCapabilities': {},
          },
        },
      }),
    })
    expect(status).toBe(403)
    expect(headers.get('www-authenticate')).toMatch(/error="insufficient_scope".*scope="take"/)
  })

  it('refuses the feature over HTTP without auth', async () => {
    const http = await serveHttp(vault(), { port: 0, exit: false })
    await using client = await connect(http.url)
    await expect(client.callTool('take')).rejects.toThrow(/take/)
    await http.close()
  })
})

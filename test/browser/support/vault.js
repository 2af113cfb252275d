import { createServer } from 'node:http'
import { jwtVerifier } from 'tenon/auth/server'
import { McpServer, serveHttp } from 'tenon/server'
import { startAuthorizationServer } from 'tenon/testing'

/** Starts an authorization server with a login page, and an MCP server that accepts its tokens. */
export async function startVault(t, options = {}) {
  const issuer = await startAuthorizationServer({ login: 'page', users: ['alice', 'bob'], ...options })
  t.after(() => issuer.close())
  const auth = { verify: jwtVerifier({ issuer: issuer.issuer }), authorizationServers: [issuer.issuer] }
  const url = await serveVault(t, { ...auth, requiredScopes: ['read'], scopesSupported: ['read', 'write'] })
  return { issuer, url }
}

export async function serveVault(t, auth, options = {}) {
  const server = new McpServer({ name: 'vault', version: '1.0.0' })
  server.registerTool('whoami', {}, (_args, ctx) => `${ctx.auth.subject} may ${ctx.auth.scopes.join(' ')}`)
  const { url, close } = await serveHttp(server, { port: 0, exit: false, auth, ...options })
  t.after(() => close())
  return url
}

/** Starts another site with a single page. Browsers treat `localhost` and `127.0.0.1` as two sites. */
export async function startForeignSite(t, content, host = '127.0.0.1') {
  const site = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' })
    response.end(`<!doctype html><title>Foreign</title>${content}`)
  })
  await new Promise((resolve) => site.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    site.close()
    site.closeAllConnections()
  })
  return `http://${host}:${site.address().port}/`
}

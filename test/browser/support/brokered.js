import { createServer } from 'node:net'
import { broker, providers } from 'tenon/auth/server'
import { startAuthorizationServer } from 'tenon/testing'
import { serveVault } from './vault.js'

/**
 * Starts an identity provider with one client, and an MCP server whose broker is that client. With `localhost` as the
 * host of the broker, browsers treat the provider as another site.
 */
export async function startBrokeredVault(t, { host = '127.0.0.1', login = 'page' } = {}) {
  const port = await freePort()
  const origin = `http://${host}:${port}`
  const [clientId, clientSecret] = ['the-broker', 'a secret that only the two of them know']
  const provider = await startAuthorizationServer({
    login,
    users: ['alice', 'bob'],
    registration: false,
    clientIdMetadataDocuments: false,
    requireResource: false,
    clients: [{ client_id: clientId, client_secret: clientSecret, redirect_uris: [`${origin}/callback`] }],
  })
  t.after(() => provider.close())
  const auth = broker({
    resource: `${origin}/mcp`,
    upstream: providers.oidc({ issuer: provider.issuer, clientId, clientSecret }),
    scopes: { read: 'Read your notes', write: 'Change your notes' },
    requiredScopes: ['read'],
    secrets: ['a secret of the broker that is long enough to be one'],
    redirectSchemes: ['com.example.app'],
    // Some tests stop the provider themselves.
    onError: () => {},
  })
  await serveVault(t, auth, { port })
  return { url: `${origin}/mcp`, origin, provider }
}

function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address()
      server.close(() => resolve(port))
    })
  })
}

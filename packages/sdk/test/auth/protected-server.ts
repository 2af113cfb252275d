import type { AuthError } from 'tenon/auth/client'
import { jwtVerifier } from 'tenon/auth/server'
import { McpServer, type ServeHttpOptions, serveHttp } from 'tenon/server'
import { type AuthorizationServerOptions, startAuthorizationServer, type TestAuthorizationServer } from 'tenon/testing'

/** A server that lets nobody in without a token, and the authorization server that gives them. */
export async function protectedServer(
  options: AuthorizationServerOptions = {},
  auth: Partial<NonNullable<ServeHttpOptions['auth']>> = {},
  http: Omit<ServeHttpOptions, 'auth'> = {},
) {
  const as = await startAuthorizationServer({ login: 'auto', ...options })
  const server = new McpServer({ name: 'vault', version: '1.0.0' })
  server.registerTool('whoami', {}, (_args, ctx) => `${ctx.auth?.subject} ${ctx.auth?.scopes.join('+')}`)
  const serving = await serveHttp(server, {
    port: 0,
    exit: false,
    ...http,
    auth: { verify: jwtVerifier({ issuer: as.issuer }), authorizationServers: [as.issuer], ...auth },
  })
  return {
    as,
    url: serving.url,
    async [Symbol.asyncDispose]() {
      await serving.close()
      await as.close()
    },
  }
}

/** The page sends the user back at once; a person would see it in a browser. */
export async function followRedirect(page: URL): Promise<URL> {
  const { headers } = await fetch(page, { redirect: 'manual' })
  return new URL(headers.get('location')!)
}

export function tokenRequests(as: TestAuthorizationServer, grant: string) {
  return as.requests.filter(({ endpoint, params }) => endpoint === 'token' && params.grant_type === grant)
}

export function visits(as: TestAuthorizationServer) {
  return as.requests.filter(({ endpoint }) => endpoint === 'authorize')
}

/** The failure of authorization that is the reason of another. */
export function authErrorIn(error: unknown): AuthError | undefined {
  for (let each = error; each instanceof Error; each = each.cause) {
    if ((each as { code?: unknown }).code === 'auth') return each as AuthError
  }
  return undefined
}

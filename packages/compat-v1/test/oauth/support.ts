import type { OAuthClientProvider, OAuthDiscoveryState } from '@tenon/compat-v1/client/auth.js'
import type { OAuthClientInformationMixed, OAuthTokens } from '@tenon/compat-v1/shared/auth.js'
import { jwtVerifier } from 'tenon/auth/server'
import { McpServer, serveHttp } from 'tenon/server'
import { type AuthorizationServerOptions, startAuthorizationServer } from 'tenon/testing'

/** A server that requires a token, and the authorization server that issues it. */
export async function startProtectedServer(options: AuthorizationServerOptions = {}) {
  const as = await startAuthorizationServer(options)
  const server = new McpServer({ name: 'vault', version: '1.0.0' })
  const auth = { verify: jwtVerifier({ issuer: as.issuer }), authorizationServers: [as.issuer] }
  const serving = await serveHttp(server, { port: 0, exit: false, auth })
  return {
    as,
    url: serving.url,
    async [Symbol.asyncDispose]() {
      await serving.close()
      await as.close()
    },
  }
}

/** A provider as programs write it: everything in memory. The user is not sent anywhere, the page is only recorded. */
export class MemoryProvider implements OAuthClientProvider {
  readonly redirectUrl: string = 'http://127.0.0.1:7/callback'
  readonly clientMetadata = {
    redirect_uris: [this.redirectUrl],
    client_name: 'Program',
    grant_types: ['authorization_code', 'refresh_token'],
  }
  readonly pages: URL[] = []
  readonly invalidated: string[] = []
  client: OAuthClientInformationMixed | undefined
  stored: OAuthTokens | undefined
  discovered: OAuthDiscoveryState | undefined
  verifier = ''

  state() {
    return 'the state'
  }
  clientInformation() {
    return this.client
  }
  saveClientInformation(client: OAuthClientInformationMixed) {
    this.client = client
  }
  tokens() {
    return this.stored
  }
  saveTokens(tokens: OAuthTokens) {
    this.stored = tokens
  }
  redirectToAuthorization(page: URL) {
    this.pages.push(page)
  }
  saveCodeVerifier(verifier: string) {
    this.verifier = verifier
  }
  codeVerifier() {
    return this.verifier
  }
  saveDiscoveryState(state: OAuthDiscoveryState) {
    this.discovered = state
  }
  discoveryState() {
    return this.discovered
  }
  invalidateCredentials(scope: string) {
    this.invalidated.push(scope)
    if (scope === 'all') this.client = undefined
    this.stored = undefined
  }

  /** Logs in at the page that the user was last sent to, and returns the code that they come back with. */
  async logIn(): Promise<string> {
    const response = await fetch(this.pages.at(-1)!, { redirect: 'manual' })
    return new URL(response.headers.get('location')!).searchParams.get('code')!
  }
}

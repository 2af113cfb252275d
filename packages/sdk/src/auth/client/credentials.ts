import type { AuthorizationServer, ClientAuth, TokenEndpointResponse } from 'oauth4webapi'
import type { Challenge } from './challenge.ts'
import type { AuthContext } from './context.ts'
import type { Discovery } from './discovery.ts'
import type { DpopKey } from './dpop.ts'
import type { RegisteredClient } from './registration.ts'
import type { Tokens } from './tokens.ts'

/**
 * The port between an OAuth session and its credentials: where tokens are stored, and how new ones are obtained. There are two
 * implementations, for a `TokenStore` and for an `OAuthClientProvider`.
 */
export interface Credentials {
  /** How the message begins if the application's own code throws. */
  readonly failureMessage: string
  /** True if new tokens can be obtained without a user. */
  readonly isUnattended: boolean
  /** True while a user has been sent away to authorize, and has not come back. */
  readonly isPending: boolean
  /** Authenticates the client with a private key. */
  readonly signature?: ClientAuth | undefined
  /** The issuer to prefer if the server names several. */
  readonly issuer?: string | undefined
  /** The current tokens. Called for every request. */
  tokens(): Tokens | undefined | Promise<Tokens | undefined>
  /** Reads the tokens of this authorization server again: another process may have replaced them. */
  reload(discovery: Discovery): Promise<Tokens | undefined>
  /** Runs the work while no other process that shares the credentials does. */
  lock<T>(work: () => Promise<T>): Promise<T>
  /** Called with what was discovered, which it may change. */
  onDiscovery?(discovery: Discovery): Promise<Discovery>
  /** The client that tokens of this authorization server were issued to. */
  client(context: AuthContext, server: AuthorizationServer): Promise<RegisteredClient | undefined>
  /** The context for requests to the token endpoint. Default: unchanged. */
  tokenContext?(context: AuthContext, server: AuthorizationServer): AuthContext
  /** Stores the tokens of a response, inside `lock`. */
  save(response: TokenEndpointResponse, grant: IssuedGrant): Promise<Tokens>
  /** Deletes the tokens that the authorization server rejected; with `'client'`, the client as well. */
  forget(what: 'tokens' | 'client', server: AuthorizationServer): Promise<void>
  /** Obtains and stores new tokens, from a user or with a grant. */
  obtain(request: ObtainRequest): Promise<Tokens>
  /** The key that tokens are bound to (RFC 9449). Without it, tokens are never bound. */
  dpopKey?(): Promise<DpopKey>
}

/** The authorization server, client, resource and scopes of issued tokens. */
export interface IssuedGrant {
  readonly server: AuthorizationServer
  readonly clientId: string
  readonly resource: string | undefined
  /** The scopes that were requested. */
  readonly scopes: readonly string[]
  /** The refresh token to keep if the response has no new one. */
  readonly refreshToken?: string | undefined
}

export interface ObtainRequest {
  readonly context: AuthContext
  readonly discovery: Discovery
  readonly challenge: Challenge | undefined
  /** The tokens that are being replaced. */
  readonly held: Tokens | undefined
  /** True if they lack scopes, which the challenge names. */
  readonly isStepUp: boolean
}

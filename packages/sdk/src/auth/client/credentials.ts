import {
  type AuthorizationServer,
  type ClientAuth,
  type DPoPHandle,
  isDPoPNonceError,
  type TokenEndpointResponse,
} from 'oauth4webapi'
import { clock } from '../../util/clock.ts'
import { type Challenge, scopesIn } from './challenge.ts'
import type { AuthContext } from './context.ts'
import type { DpopKey } from './dpop.ts'
import type { Discovery } from './metadata.ts'
import type { RegisteredClient } from './registration.ts'

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

/** Tokens as they are stored, for one server and its authorization server. */
export interface Tokens {
  readonly issuer: string
  readonly clientId: string
  readonly resource: string | undefined
  readonly accessToken: string
  readonly tokenType: 'bearer' | 'dpop'
  readonly refreshToken?: string | undefined
  /** Milliseconds since 1970. */
  readonly expiresAt?: number | undefined
  /** From this time on, it is replaced before it is used, in milliseconds since 1970. */
  readonly staleAt?: number | undefined
  /** The scopes that were requested, and are requested again when more are needed. */
  readonly scopes: readonly string[]
}

/** How long before its expiry a token is replaced; at most a tenth of its lifetime. */
const earlyMs = 30_000

export function isStale({ staleAt }: Tokens, now: number): boolean {
  return staleAt !== undefined && staleAt <= now
}

export function toTokens(response: TokenEndpointResponse, grant: IssuedGrant): Tokens {
  const { server, clientId, resource, scopes, refreshToken } = grant
  const granted = scopesIn(response.scope)
  const lifetimeMs = response.expires_in === undefined ? undefined : response.expires_in * 1_000
  return {
    issuer: server.issuer,
    clientId,
    resource,
    accessToken: response.access_token,
    tokenType: response.token_type === 'dpop' ? 'dpop' : 'bearer',
    refreshToken: response.refresh_token ?? refreshToken,
    ...(lifetimeMs !== undefined && {
      expiresAt: clock.now() + lifetimeMs,
      staleAt: clock.now() + lifetimeMs - Math.min(earlyMs, lifetimeMs / 10),
    }),
    scopes: [...new Set([...scopes, ...granted])],
  }
}

/** Repeats the request once if the authorization server requires a nonce in the proof (RFC 9449, 8). */
export async function withNonce<T>(dpop: DPoPHandle | undefined, request: () => Promise<T>): Promise<T> {
  try {
    return await request()
  } catch (error) {
    if (!dpop || !isDPoPNonceError(error)) throw error
    return request()
  }
}

import {
  type AuthorizationServer,
  type ClientAuth,
  ClientSecretPost,
  type DPoPHandle,
  isDPoPNonceError,
  None,
  type TokenEndpointResponse,
} from 'oauth4webapi'
import { AuthError } from '../../errors.ts'
import { clock } from '../../util/clock.ts'
import { scopesIn } from './challenge.ts'
import { secretBasic } from './client-authentication.ts'
import type { AuthContext } from './context.ts'
import type { RegisteredClient } from './registration.ts'

/** Tokens as they are kept, for one server and its one authorization server. */
export interface Tokens {
  readonly issuer: string
  readonly clientId: string
  readonly resource: string | undefined
  readonly accessToken: string
  readonly tokenType: 'bearer' | 'dpop'
  readonly refreshToken?: string | undefined
  /** Milliseconds since 1970. */
  readonly expiresAt?: number | undefined
  /** From then on it is replaced before it is used. */
  readonly staleAt?: number | undefined
  /** What was asked for, and is asked for again when more is needed. */
  readonly scopes: readonly string[]
}

/** A token that ends so soon is not worth sending; of a short life the last tenth. */
const earlyMs = 30_000

export function isStale({ staleAt }: Tokens, now: number): boolean {
  return staleAt !== undefined && staleAt <= now
}

export function toTokens(
  response: TokenEndpointResponse,
  server: AuthorizationServer,
  clientId: string,
  resource: string | undefined,
  asked: readonly string[],
  refreshToken?: string,
): Tokens {
  const granted = scopesIn(response.scope)
  const lifeMs = response.expires_in === undefined ? undefined : response.expires_in * 1_000
  return {
    issuer: server.issuer,
    clientId,
    resource,
    accessToken: response.access_token,
    tokenType: response.token_type === 'dpop' ? 'dpop' : 'bearer',
    refreshToken: response.refresh_token ?? refreshToken,
    ...(lifeMs !== undefined && {
      expiresAt: clock.now() + lifeMs,
      staleAt: clock.now() + lifeMs - Math.min(earlyMs, lifeMs / 10),
    }),
    scopes: [...new Set([...asked, ...granted])],
  }
}

/** How the client shows who it is, as it was registered. */
export function authenticationOf(
  { client_secret, token_endpoint_auth_method }: RegisteredClient,
  { signature, trace }: AuthContext,
): ClientAuth {
  if (token_endpoint_auth_method === 'private_key_jwt' && client_secret === undefined) {
    if (signature) return signature
    throw new AuthError('The client authenticates with a private key, and none was given: pass `privateKey`', trace)
  }
  if (typeof client_secret !== 'string' || token_endpoint_auth_method === 'none') return None()
  return token_endpoint_auth_method === 'client_secret_post'
    ? ClientSecretPost(client_secret)
    : secretBasic(client_secret)
}

/** A server may want a nonce of its own in the proof, and says so once (RFC 9449, 8). */
export async function withNonce<T>(dpop: DPoPHandle | undefined, request: () => Promise<T>): Promise<T> {
  try {
    return await request()
  } catch (error) {
    if (!dpop || !isDPoPNonceError(error)) throw error
    return request()
  }
}

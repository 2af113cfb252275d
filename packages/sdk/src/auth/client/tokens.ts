import { type DPoPHandle, isDPoPNonceError, type TokenEndpointResponse } from 'oauth4webapi'
import { clock } from '../../util/clock.ts'
import { scopesIn } from './challenge.ts'
import type { IssuedGrant } from './credentials.ts'

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

import type { TokenStore } from '../token-store.ts'
import { readJson, serverKey, withoutQuery } from './credential-storage.ts'
import type { Tokens } from './credentials.ts'

/** A login in a `TokenStore`, without its secrets. */
export interface StoredLogin {
  /** The authorization server that issued the token. */
  readonly issuer: string
  readonly clientId: string
  readonly scopes: readonly string[]
  /** Milliseconds since 1970; undefined if unknown. */
  readonly expiresAt: number | undefined
  /** Whether the token can be replaced without the user. */
  readonly isRefreshable: boolean
}

/**
 * Returns the login of `oauth()` for a server, or undefined if there is none. No request is sent, so the server may reject it.
 *
 * @example
 * const login = await findLogin('https://example.com/mcp', fileTokenStore())
 */
export async function findLogin(server: string | URL, store: TokenStore): Promise<StoredLogin | undefined> {
  const tokens = readJson<Tokens>(await store.get(serverKey('tokens', withoutQuery(new URL(server)))))
  if (!tokens) return undefined
  const { issuer, clientId, scopes, expiresAt, refreshToken } = tokens
  return { issuer, clientId, scopes, expiresAt, isRefreshable: refreshToken !== undefined }
}

/** Removes the login of `oauth()` for a server from the store. Returns false if there was none. */
export async function forgetLogin(server: string | URL, store: TokenStore): Promise<boolean> {
  const url = withoutQuery(new URL(server))
  return store.lock(serverKey('renew', url), async () => {
    const key = serverKey('tokens', url)
    if ((await store.get(key)) === undefined) return false
    await store.delete(key)
    await store.delete(serverKey('dpop', url))
    return true
  })
}

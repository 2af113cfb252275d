import type { AuthorizationServer } from 'oauth4webapi'
import { AuthError } from '../../errors.ts'
import { clock } from '../../util/clock.ts'
import type { TokenStore } from '../token-store.ts'
import type { AuthContext } from './context.ts'
import { DpopKey } from './dpop.ts'
import { type ClientIdentity, documentMethod, findClient, type RegisteredClient } from './registration.ts'
import type { Tokens } from './tokens.ts'

/** The server as keys name it: a query may hold secrets, and is no part of what a token is for. */
export function withoutQuery({ origin, pathname }: URL): URL {
  return new URL(origin + pathname)
}

export function serverKey(what: 'tokens' | 'dpop' | 'renew', server: URL): string {
  return `${what} ${server.href}`
}

/** Credentials are kept by issuer, so those of one never reach another (2026-07-28 authorization). */
export function clientKey({ issuer }: AuthorizationServer): string {
  return `client ${issuer}`
}

export async function keepTokens(store: TokenStore, server: URL, tokens: Tokens): Promise<void> {
  await store.lock(serverKey('renew', server), async () =>
    store.set(serverKey('tokens', server), JSON.stringify(tokens)),
  )
}

/** @param clientId The only one that will do, where one was given. */
export async function keptClient(
  store: TokenStore,
  server: AuthorizationServer,
  clientId: string | undefined,
): Promise<RegisteredClient | undefined> {
  const text = await store.get(clientKey(server))
  const client = readJson<RegisteredClient>(text)
  if (!client || isExpired(client)) return undefined
  return clientId === undefined || clientId === client.client_id ? client : undefined
}

export async function keepClient(
  store: TokenStore,
  server: AuthorizationServer,
  client: RegisteredClient,
): Promise<void> {
  await store.set(clientKey(server), JSON.stringify(client))
}

/** The client that is kept, if it may use this redirect, or another that is kept from now on. */
export async function clientFor(
  context: AuthContext,
  store: TokenStore,
  server: AuthorizationServer,
  identity: ClientIdentity,
  redirectUrl: string,
  scopes: readonly string[],
): Promise<RegisteredClient> {
  await checkIssuer(context, store, server, identity)
  // One that was given is used as it is given now: its secret may have been changed since.
  const known = identity.clientId === undefined ? await keptClient(store, server, undefined) : undefined
  const isSuited = known?.redirectUrl === undefined || known.redirectUrl === redirectUrl
  // A document may have got a key since, or lost it.
  const isCurrent = known?.origin !== 'document' || known.token_endpoint_auth_method === documentMethod(identity)
  if (known && isSuited && isCurrent) return known
  const client = await findClient(context, server, identity, redirectUrl, scopes.join(' '))
  await keepClient(store, server, client)
  return client
}

/**
 * 2026-07-28 authorization: credentials that were given belong to their issuer, which is the one that they were used with
 * first where none is named, and go to no other.
 */
export async function checkIssuer(
  { trace }: AuthContext,
  store: TokenStore,
  server: AuthorizationServer,
  { clientId, issuer }: Pick<ClientIdentity, 'clientId' | 'issuer'>,
): Promise<void> {
  if (clientId === undefined) return
  const key = `issuer of ${clientId}`
  const known = issuer ?? (await store.get(key))
  if (known === undefined) return store.set(key, server.issuer)
  if (known === server.issuer) return
  throw new AuthError(`The client id belongs to ${known}, but the server wants tokens of ${server.issuer}`, trace)
}

export async function keptDpopKey(store: TokenStore, server: URL): Promise<DpopKey> {
  const saved = await store.get(serverKey('dpop', server))
  const key = await DpopKey.create(saved)
  if (saved === undefined) await store.set(serverKey('dpop', server), await key.save())
  return key
}

/** RFC 7591, 3.2.1: in seconds since 1970, and 0 for never. */
function isExpired({ client_secret_expires_at: end }: RegisteredClient): boolean {
  return typeof end === 'number' && end > 0 && end * 1_000 <= clock.now()
}

/** What cannot be read is as good as absent. */
export function readJson<T>(text: string | undefined): T | undefined {
  if (text === undefined) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

import type { AuthorizationServer } from 'oauth4webapi'
import { AuthError } from '../../errors.ts'
import { clock } from '../../util/clock.ts'
import type { TokenStore } from '../token-store.ts'
import type { AuthContext } from './context.ts'
import type { Tokens } from './credentials.ts'
import { DpopKey } from './dpop.ts'
import { type ClientIdentity, documentMethod, findClient, type RegisteredClient } from './registration.ts'

/** The URL of a server as it appears in keys. A query may contain secrets, and does not belong to the resource. */
export function withoutQuery({ origin, pathname }: URL): URL {
  return new URL(origin + pathname)
}

export function serverKey(what: 'tokens' | 'dpop' | 'renew', server: URL): string {
  return `${what} ${server.href}`
}

/** Clients are stored by issuer, so that the credentials of one never reach another (2026-07-28 authorization). */
export function clientKey({ issuer }: AuthorizationServer): string {
  return `client ${issuer}`
}

export async function saveTokens(store: TokenStore, server: URL, tokens: Tokens): Promise<void> {
  await store.lock(serverKey('renew', server), async () =>
    store.set(serverKey('tokens', server), JSON.stringify(tokens)),
  )
}

/**
 * The stored client, if it has not expired.
 * @param clientId If given, a client with another id is ignored.
 */
export async function loadClient(
  store: TokenStore,
  server: AuthorizationServer,
  clientId: string | undefined,
): Promise<RegisteredClient | undefined> {
  const text = await store.get(clientKey(server))
  const client = readJson<RegisteredClient>(text)
  if (!client || isExpired(client)) return undefined
  return clientId === undefined || clientId === client.client_id ? client : undefined
}

export async function saveClient(
  store: TokenStore,
  server: AuthorizationServer,
  client: RegisteredClient,
): Promise<void> {
  await store.set(clientKey(server), JSON.stringify(client))
}

/** The stored client if it may use this redirect URL; otherwise a new one, which is stored. */
export async function clientFor(
  context: AuthContext,
  store: TokenStore,
  server: AuthorizationServer,
  identity: ClientIdentity,
  redirectUrl: string,
  scopes: readonly string[],
): Promise<RegisteredClient> {
  await checkIssuer(context, store, server, identity)
  // A client that was passed as an option is not read from the store: its secret may have changed.
  const known = identity.clientId === undefined ? await loadClient(store, server, undefined) : undefined
  const canRedirect = known?.redirectUrl === undefined || known.redirectUrl === redirectUrl
  // A metadata document may have gained or lost a key.
  const isCurrent = known?.origin !== 'document' || known.token_endpoint_auth_method === documentMethod(identity)
  if (known && canRedirect && isCurrent) return known
  const client = await findClient(context, server, identity, redirectUrl, scopes.join(' '))
  await saveClient(store, server, client)
  return client
}

/**
 * 2026-07-28 authorization: a client id belongs to one issuer and is never sent to another. Without the option `issuer`, that is
 * the issuer that it was first used with.
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
  throw new AuthError(`The client id belongs to ${known}, but the server requires tokens of ${server.issuer}`, trace)
}

export async function loadDpopKey(store: TokenStore, server: URL): Promise<DpopKey> {
  const saved = await store.get(serverKey('dpop', server))
  const key = await DpopKey.create(saved)
  if (saved === undefined) await store.set(serverKey('dpop', server), await key.save())
  return key
}

/** RFC 7591, 3.2.1: the time is in seconds since 1970; 0 means never. */
function isExpired({ client_secret_expires_at: end }: RegisteredClient): boolean {
  return typeof end === 'number' && end > 0 && end * 1_000 <= clock.now()
}

/** Parses JSON; undefined if it is invalid. */
export function readJson<T>(text: string | undefined): T | undefined {
  if (text === undefined) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

import { AuthError, McpError } from '../../errors.ts'
import { isObject } from '../../util/objects.ts'
import { MemoryTokenStore, type TokenStore } from '../token-store.ts'
import { bearerChallenge, type Challenge, scopesIn } from './challenge.ts'
import { type ClientKey, signatureOf } from './client-authentication.ts'
import { AuthContext, type AuthFetch, Trace } from './context.ts'
import { clientFor, clientKey, loadDpopKey, saveClient, saveTokens, withoutQuery } from './credential-storage.ts'
import { toTokens } from './credentials.ts'
import { beginFlow, completeFlow, type Flow } from './flow.ts'
import { chooseScopes, discover, fetchFor } from './metadata.ts'
import { type ClientIdentity, isNative } from './registration.ts'

/** Options of `completeAuthorization`. */
export interface CompleteAuthorizationOptions extends ClientKey {
  /**
   * Where tokens and registrations are stored. A store has one token for each server, so every user needs their own. Default: not
   * stored.
   */
  store?: TokenStore | undefined
  /** Sends the requests to authorization servers. Default: a `guardedFetch`, for public https addresses only. */
  fetch?: AuthFetch | undefined
}

/** Options of `beginAuthorization`. */
export interface BeginAuthorizationOptions
  extends CompleteAuthorizationOptions,
    Partial<Omit<ClientIdentity, 'clientName'>> {
  /** The URL that the user comes back to. */
  redirectUrl: string | URL
  /** The name of the client on consent pages. Default `Tenon`. */
  clientName?: string | undefined
  /** Scopes to request in addition to those that the server requires. Default: none. */
  scopes?: readonly string[] | undefined
  /** The `WWW-Authenticate` header of the server's 401. Default: the metadata is fetched from the well-known URLs. */
  challenge?: string | Challenge | undefined
  /** Binds the token to a key that is stored in `store` (RFC 9449). Default: if the challenge requires it. */
  dpop?: boolean | undefined
}

/** The new access token. The store has the refresh token as well. */
export interface CompletedAuthorization {
  readonly accessToken: string
  /** In milliseconds since 1970; undefined if the authorization server does not say. */
  readonly expiresAt: number | undefined
  readonly scopes: readonly string[]
  readonly issuer: string
}

/**
 * Begins the login of a user, for web applications: redirect the user to `url`, and store `flow` until they come back. `flow` is
 * JSON and secret. Store it in the user's session on your server, so that only the user who left can come back.
 *
 * @example
 * const { url, flow } = await beginAuthorization('https://example.com/mcp', { redirectUrl: 'https://my.app/back', store })
 * session.flow = flow
 * response.redirect(url.href)
 */
export async function beginAuthorization(
  serverUrl: string | URL,
  options: BeginAuthorizationOptions,
): Promise<{ url: URL; flow: string }> {
  const { scopes: more = [], store = new MemoryTokenStore(), clientName = 'Tenon' } = options
  const server = readServerUrl(serverUrl)
  const context = contextFor(server, options)
  const challenge = typeof options.challenge === 'string' ? bearerChallenge(options.challenge) : options.challenge
  const bindsToKey = options.dpop ?? challenge?.scheme === 'dpop'
  if (bindsToKey && !options.store) {
    throw new McpError('invalid-argument', 'beginAuthorization({ dpop }) requires a `store` for the key')
  }
  const redirectUrl = readRedirectUrl(options.redirectUrl)
  const found = await discover(context, challenge)
  const scopes = chooseScopes(found, challenge, more, false)
  const identity = { ...options, clientName }
  const client = await clientFor(context, store, found.server, identity, redirectUrl, scopes)
  const { server: authorizationServer, resource } = found
  const begun = await beginFlow({ context, server: authorizationServer, client, redirectUrl, resource, scopes })
  const leg: Leg = { version: 1, serverUrl: server.href, bindsToKey, flow: begun.flow }
  return { url: begun.url, flow: JSON.stringify(leg) }
}

/**
 * Completes the login of a user, perhaps in another process: checks that the answer belongs to this flow, and exchanges the code
 * for tokens. From then on, `connect(url, { auth: oauth({ store }) })` works with the same `store`.
 *
 * @param params The URL that the user came back to, or its parameters.
 * @example
 * await completeAuthorization(new URL(request.url, 'https://my.app'), session.flow, { store })
 */
export async function completeAuthorization(
  params: URL | URLSearchParams,
  flow: string,
  options: CompleteAuthorizationOptions = {},
): Promise<CompletedAuthorization> {
  const { serverUrl, bindsToKey, flow: begun } = parseLeg(flow)
  const { store } = options
  const server = new URL(serverUrl)
  const context = contextFor(server, options)
  if (bindsToKey && !store) {
    throw new AuthError('The token must be bound to a key, which is in the store. Pass `store`', context.trace)
  }
  const dpop = bindsToKey ? await loadDpopKey(store!, server) : undefined
  const answer = params instanceof URL ? params.searchParams : params
  const response = await completeFlow(context, begun, answer, dpop).catch(async (error: AuthError) => {
    // The authorization server does not know the client any more. It is registered again next time.
    const isUnknown = (error.cause as { error?: unknown } | undefined)?.error === 'invalid_client'
    if (isUnknown) await store?.delete(clientKey(begun.server))
    throw error
  })
  const tokens = toTokens(response, { ...begun, clientId: begun.client.client_id })
  if (store) {
    // The client is needed to refresh the token.
    await saveClient(store, begun.server, begun.client)
    await saveTokens(store, server, tokens)
  }
  return {
    accessToken: tokens.accessToken,
    expiresAt: tokens.expiresAt,
    // RFC 6749, 5.1: the response has no scope if all requested scopes were granted.
    scopes: response.scope === undefined ? begun.scopes : scopesIn(response.scope),
    issuer: tokens.issuer,
  }
}

interface Leg {
  readonly version: 1
  readonly serverUrl: string
  readonly bindsToKey: boolean
  readonly flow: Flow
}

function contextFor(server: URL, options: CompleteAuthorizationOptions): AuthContext {
  const fetch = options.fetch ?? fetchFor(server)
  return new AuthContext(server, new Trace(), fetch, undefined, signatureOf(options))
}

function readServerUrl(text: string | URL): URL {
  if (!URL.canParse(String(text)))
    throw new McpError('invalid-argument', 'Not a URL: pass the URL of the server to beginAuthorization')
  return withoutQuery(new URL(text))
}

/** 2025-11-25 authorization, communication security: a code in a plain http: URL can be read on the network. */
function readRedirectUrl(text: string | URL): string {
  const url = String(text)
  if (URL.canParse(url) && (new URL(url).protocol === 'https:' || isNative(url))) return url
  throw new McpError('invalid-argument', 'redirectUrl must be an https: URL, or a URL on this machine')
}

/** The text is secret, so the error does not contain it. */
function parseLeg(text: string): Leg {
  let leg: unknown
  try {
    leg = JSON.parse(text)
  } catch {}
  const isOurs =
    isObject(leg) && leg.version === 1 && isObject(leg.flow) && isObject(leg.flow.server) && isObject(leg.flow.client)
  if (!isOurs) throw new McpError('invalid-argument', 'Invalid flow: pass the `flow` that beginAuthorization returned')
  return leg as unknown as Leg
}

/** Sends users to an authorization page, and returns what they come back with. */
export interface UserAgent {
  /**
   * Prepares a redirect URL, before the client is registered with it.
   * @param registered The redirect URL that the client was registered with before.
   */
  prepare(registered: string | undefined): Promise<Redirect>
}

export interface Redirect {
  readonly url: string
  /** Opens the page, and resolves with the parameters of the URL that the user came back to. */
  visit(page: URL, state: string): Promise<URLSearchParams>
  close(): Promise<void> | void
}

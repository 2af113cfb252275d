import { AuthError, McpError } from '../../errors.ts'
import { isObject } from '../../util/objects.ts'
import { MemoryTokenStore, type TokenStore } from '../token-store.ts'
import { bearerChallenge, type Challenge, scopesIn } from './challenge.ts'
import { AuthContext, type AuthFetch } from './context.ts'
import { clientFor, clientKey, keepClient, keepTokens, keptDpopKey, withoutQuery } from './credential-storage.ts'
import { chooseScopes, discover, fetchFor } from './discovery.ts'
import { beginFlow, completeFlow, type Flow } from './flow.ts'
import { type ClientKey, signatureOf } from './private-key.ts'
import { type ClientIdentity, isNative } from './registration.ts'
import { toTokens } from './tokens.ts'
import { Trace } from './trace.ts'

export interface LegOptions extends ClientKey {
  /**
   * Where tokens and registrations are kept. It holds one user's token for each server, so every user needs one of their
   * own. Default: nowhere.
   */
  store?: TokenStore | undefined
  /** Makes the requests to authorization servers. Default: one that goes to public https addresses only. */
  fetch?: AuthFetch | undefined
}

export interface BeginOptions extends LegOptions, Partial<Omit<ClientIdentity, 'clientName'>> {
  /** Where the user comes back to. */
  redirectUrl: string | URL
  /** What users read on consent pages. Default `Tenon`. */
  clientName?: string | undefined
  /** Asked for besides what the server asks for. */
  scopes?: readonly string[] | undefined
  /** The `WWW-Authenticate` header of the server's refusal. Default: its metadata is looked for at the well-known places. */
  challenge?: string | Challenge | undefined
  /** Bind the token to a key that is kept in `store` (RFC 9449). Default: where the challenge wants it. */
  dpop?: boolean | undefined
}

/** What an application learns of the tokens; all of them are in the store. */
export interface Completed {
  readonly accessToken: string
  /** Milliseconds since 1970; undefined when the authorization server does not say. */
  readonly expiresAt: number | undefined
  readonly scopes: readonly string[]
  readonly issuer: string
}

/**
 * The first half of asking a user, for applications that have them in a browser of their own: send them to `url`, and keep
 * `flow` until they come back. It is JSON and secret: it belongs into the user's session on the server, which also makes
 * sure that whoever comes back is the one who left.
 *
 * @example
 * const { url, flow } = await beginAuthorization('https://example.com/mcp', { redirectUrl: 'https://my.app/back', store })
 * session.flow = flow
 * response.redirect(url.href)
 */
export async function beginAuthorization(
  serverUrl: string | URL,
  options: BeginOptions,
): Promise<{ url: URL; flow: string }> {
  const { scopes: more = [], store = new MemoryTokenStore(), clientName = 'Tenon' } = options
  const server = readServerUrl(serverUrl)
  const context = contextFor(server, options)
  const challenge = typeof options.challenge === 'string' ? bearerChallenge(options.challenge) : options.challenge
  const bindsToKey = options.dpop ?? challenge?.scheme === 'dpop'
  if (bindsToKey && !options.store) {
    throw new McpError('invalid-argument', 'beginAuthorization({ dpop }) needs a store, where the key is kept')
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
 * The second half, perhaps in another process: checks that what the user came back with answers this flow, and redeems it.
 * With the same `store`, `connect(url, { auth: oauth({ store }) })` is let in from now on.
 *
 * @param params The URL that the user came back to, or its parameters.
 * @example
 * await completeAuthorization(new URL(request.url, 'https://my.app'), session.flow, { store })
 */
export async function completeAuthorization(
  params: URL | URLSearchParams,
  flow: string,
  options: LegOptions = {},
): Promise<Completed> {
  const { serverUrl, bindsToKey, flow: begun } = parseLeg(flow)
  const { store } = options
  const server = new URL(serverUrl)
  const context = contextFor(server, options)
  if (bindsToKey && !store) {
    throw new AuthError('The token is to be bound to a key, and there is no store that has it', context.trace)
  }
  const dpop = bindsToKey ? await keptDpopKey(store!, server) : undefined
  const answer = params instanceof URL ? params.searchParams : params
  const response = await completeFlow(context, begun, answer, dpop).catch(async (error: AuthError) => {
    // The authorization server has forgotten the client; the next one begins with another.
    const isForgotten = (error.cause as { error?: unknown } | undefined)?.error === 'invalid_client'
    if (isForgotten) await store?.delete(clientKey(begun.server))
    throw error
  })
  const tokens = toTokens(response, begun.server, begun.client.client_id, begun.resource, begun.scopes)
  if (store) {
    // Whoever refreshes the token needs the client that it was given to.
    await keepClient(store, begun.server, begun.client)
    await keepTokens(store, server, tokens)
  }
  return {
    accessToken: tokens.accessToken,
    expiresAt: tokens.expiresAt,
    // RFC 6749, 5.1: nothing is said when all that was asked for was granted.
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

function contextFor(server: URL, options: LegOptions): AuthContext {
  const fetch = options.fetch ?? fetchFor(server)
  return new AuthContext(server, new Trace(), fetch, undefined, signatureOf(options))
}

function readServerUrl(text: string | URL): URL {
  if (!URL.canParse(String(text))) throw new McpError('invalid-argument', 'The server URL is no URL')
  return withoutQuery(new URL(text))
}

/** 2025-11-25 authorization, communication security: a code that comes back over plain http can be read on the way. */
function readRedirectUrl(text: string | URL): string {
  const url = String(text)
  if (URL.canParse(url) && (new URL(url).protocol === 'https:' || isNative(url))) return url
  throw new McpError('invalid-argument', 'redirectUrl must be an https: URL, or one on this machine')
}

/** Nothing of the text is shown when it cannot be read: it is secret. */
function parseLeg(text: string): Leg {
  let leg: unknown
  try {
    leg = JSON.parse(text)
  } catch {}
  const isOurs =
    isObject(leg) && leg.version === 1 && isObject(leg.flow) && isObject(leg.flow.server) && isObject(leg.flow.client)
  if (!isOurs) throw new McpError('invalid-argument', 'The flow is not one that beginAuthorization gave')
  return leg as unknown as Leg
}

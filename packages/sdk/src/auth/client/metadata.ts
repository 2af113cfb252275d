import type { AuthorizationServer } from 'oauth4webapi'
import { AuthError } from '../../errors.ts'
import { isLoopbackUrl } from '../../net/address-policy.ts'
import { guardedFetch } from '../../net/guarded-fetch.ts'
import type { FetchLike } from '../../net/send.ts'
import type { JsonObject } from '../../util/objects.ts'
import { isSameResource } from '../same-resource.ts'
import { type Challenge, scopesIn } from './challenge.ts'
import type { AuthContext, AuthFetch } from './context.ts'

/** The members of protected resource metadata (RFC 9728) that are used. */
export interface ResourceMetadata {
  readonly resource: string
  readonly authorizationServers: readonly string[]
  readonly scopesSupported: readonly string[]
}

/**
 * Finds the metadata of the protected resource: at the URL in the challenge, else at the well-known URLs, with the path first
 * (2025-11-25 authorization, protected resource metadata discovery). Undefined if there is none.
 */
export async function findResource(
  context: AuthContext,
  challenged: string | undefined,
): Promise<ResourceMetadata | undefined> {
  const { serverUrl, trace } = context
  const path = serverUrl.pathname.replace(/\/$/, '')
  if (challenged !== undefined && !URL.canParse(challenged, serverUrl.href)) {
    throw new AuthError('The challenge of the server has an invalid URL for its metadata', trace)
  }
  const places = challenged
    ? [new URL(challenged, serverUrl)]
    : [...new Set([wellKnown + path, wellKnown])].map((place) => new URL(place, serverUrl.origin))
  for (const place of places) {
    const document = await context.fetchJson(place, 'resource metadata')
    if (document) return readResource(document, place, context)
  }
  trace.skipped('resource metadata', 'the server has none')
  return undefined
}

const wellKnown = '/.well-known/oauth-protected-resource'

function readResource(document: JsonObject, place: URL, { serverUrl, trace }: AuthContext): ResourceMetadata {
  const { resource } = document
  const authorizationServers = stringsIn(document.authorization_servers)
  if (typeof resource !== 'string' || !namesFor(serverUrl, place).some((name) => isSameResource(name, resource))) {
    // RFC 9728, 3.3: metadata of another resource must not be used, because a token for it could be used there.
    throw new AuthError(`The resource metadata is that of ${JSON.stringify(resource)}, not of ${serverUrl.href}`, trace)
  }
  if (authorizationServers.length === 0)
    throw new AuthError('The resource metadata names no authorization server', trace)
  return { resource, authorizationServers, scopesSupported: stringsIn(document.scopes_supported) }
}

/** The resource identifiers that a server may have: its URL, and its origin if the metadata is that of the whole origin. */
function namesFor({ origin, pathname }: URL, place: URL): string[] {
  return place.href === origin + wellKnown ? [origin + pathname, origin] : [origin + pathname]
}

/** The URLs where an issuer may publish its metadata, in order (2025-11-25 authorization, metadata discovery). */
export function metadataPlaces(issuer: string): URL[] {
  const { origin, pathname } = new URL(issuer)
  const path = pathname.replace(/\/$/, '')
  const places = ['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration'].map(
    (place) => place + path,
  )
  if (path !== '') places.push(`${path}/.well-known/openid-configuration`)
  return places.map((place) => new URL(place, origin))
}

export async function findAuthorizationServer(context: AuthContext, issuer: string): Promise<AuthorizationServer> {
  if (!isHttp(issuer)) {
    throw new AuthError(`The authorization server ${JSON.stringify(issuer)} is not an https: URL`, context.trace)
  }
  for (const place of metadataPlaces(issuer)) {
    const document = await context.fetchJson(place, 'authorization server metadata')
    if (document) return readServer(document, issuer, context)
  }
  throw new AuthError(`The authorization server ${issuer} publishes no metadata`, context.trace)
}

/** 2026-07-28 authorization: the issuer is compared as text, and metadata of another issuer is rejected. */
function readServer(document: JsonObject, issuer: string, { trace }: AuthContext): AuthorizationServer {
  if (document.issuer !== issuer) {
    throw new AuthError(
      `The metadata of ${issuer} names another issuer, ${JSON.stringify(document.issuer)}, and was rejected`,
      trace,
    )
  }
  if (typeof document.token_endpoint !== 'string') {
    throw new AuthError(`The metadata of ${issuer} has no token endpoint`, trace)
  }
  return withLists(document)
}

/** Removes members that should be lists and are not. */
function withLists(document: JsonObject): AuthorizationServer {
  const clean = { ...document }
  for (const name of lists) {
    if (Array.isArray(document[name])) clean[name] = stringsIn(document[name])
    else delete clean[name]
  }
  return clean as unknown as AuthorizationServer
}

const lists = ['code_challenge_methods_supported', 'scopes_supported', 'token_endpoint_auth_methods_supported']

function isHttp(url: string): boolean {
  return URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)
}

/** 2025-03-26 authorization: without resource metadata, the server's origin is the authorization server, perhaps at default paths. */
export async function fallbackServer(context: AuthContext): Promise<AuthorizationServer> {
  const { origin } = context.serverUrl
  const [place] = metadataPlaces(origin)
  const document = await context.fetchJson(place!, "authorization server metadata at the server's origin")
  if (document) {
    const issuer = typeof document.issuer === 'string' ? document.issuer : origin
    if (!isHttp(issuer) || new URL(issuer).origin !== origin) {
      throw new AuthError(`The metadata of ${origin} names another authorization server, ${issuer}`, context.trace)
    }
    return { ...withLists(document), issuer }
  }
  context.trace.done('authorization server', `default paths at ${origin}`)
  context.triesDefaultPaths = true
  return {
    issuer: origin,
    authorization_endpoint: `${origin}/authorize`,
    token_endpoint: `${origin}/token`,
    registration_endpoint: `${origin}/register`,
    code_challenge_methods_supported: ['S256'],
  }
}

function stringsIn(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((each): each is string => typeof each === 'string') : []
}

/** The result of discovery: the authorization server of an MCP server, and the resource to request tokens for. */
export interface Discovery {
  readonly server: AuthorizationServer
  readonly resource: string | undefined
  readonly scopesSupported: readonly string[]
}

/**
 * Finds the authorization server of an MCP server.
 *
 * @param known The URL of the resource metadata in an earlier challenge, for challenges without one.
 * @param preferred The issuer to prefer if the server names several.
 */
export async function discover(
  context: AuthContext,
  challenge: Challenge | undefined,
  known?: string,
  preferred?: string,
): Promise<Discovery> {
  const metadata = await findResource(context, challenge?.params.resource_metadata ?? known)
  if (!metadata) {
    return { server: await fallbackServer(context), resource: undefined, scopesSupported: [] }
  }
  const issuers = metadata.authorizationServers
  const server = await findAuthorizationServer(context, issuers.find((issuer) => issuer === preferred) ?? issuers[0]!)
  return { server, resource: metadata.resource, scopesSupported: metadata.scopesSupported }
}

/** 2025-11-25 authorization, scope selection: the scopes of the challenge, else all that the resource lists, else none. */
export function chooseScopes(
  { server, scopesSupported }: Discovery,
  challenge: Challenge | undefined,
  more: readonly string[],
  isUnattended: boolean,
): string[] {
  const challenged = scopesIn(challenge?.params.scope)
  const chosen = new Set([...(challenged.length > 0 ? challenged : scopesSupported), ...more])
  // 2026-07-28 authorization, refresh tokens: only if the authorization server lists the scope.
  const wantsRefresh = !isUnattended && chosen.size > 0 && server.scopes_supported?.includes('offline_access')
  if (wantsRefresh) chosen.add('offline_access')
  return [...chosen]
}

/**
 * A `fetch` for the authorization server of this MCP server. Only a server on this machine may name an authorization server on
 * this machine.
 *
 * @param fetch Sends the requests. Default: see `guardedFetch`.
 */
export function fetchFor(server: URL, fetch?: FetchLike): AuthFetch {
  return guardedFetch({ fetch, allowLoopback: isLoopbackUrl(server) ? 'http' : false })
}

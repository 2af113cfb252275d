import type { AuthorizationServer } from 'oauth4webapi'
import { AuthError } from '../../errors.ts'
import type { JsonObject } from '../../util/objects.ts'
import { isSameResource } from '../same-resource.ts'
import type { AuthContext } from './context.ts'

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

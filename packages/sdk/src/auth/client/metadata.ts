import type { AuthorizationServer } from 'oauth4webapi'
import { AuthError } from '../../errors.ts'
import type { JsonObject } from '../../util/objects.ts'
import { isSameResource } from '../resource/same-resource.ts'
import type { AuthContext } from './context.ts'

/** RFC 9728, what we use of it. */
export interface ResourceMetadata {
  readonly resource: string
  readonly authorizationServers: readonly string[]
  readonly scopesSupported: readonly string[]
}

/**
 * The metadata of the protected resource: where the challenge says, else at the well-known places, the one with the path
 * first (2025-11-25 authorization, protected resource metadata discovery). Undefined: there is none anywhere.
 */
export async function findResource(
  context: AuthContext,
  challenged: string | undefined,
): Promise<ResourceMetadata | undefined> {
  const { serverUrl, trace } = context
  const path = serverUrl.pathname.replace(/\/$/, '')
  if (challenged !== undefined && !URL.canParse(challenged, serverUrl.href)) {
    throw new AuthError('The server says that its metadata is at something that is no URL', trace)
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
    // RFC 9728, 3.3: metadata of something else must not be used; a token for it would be of use elsewhere.
    throw new AuthError(`The server says that it is ${JSON.stringify(resource)}, which is not ${serverUrl.href}`, trace)
  }
  if (authorizationServers.length === 0) throw new AuthError('The server names no authorization server', trace)
  return { resource, authorizationServers, scopesSupported: stringsIn(document.scopes_supported) }
}

/** The identifiers that a server may have: its URL, and its origin if the metadata is that of the whole origin. */
function namesFor({ origin, pathname }: URL, place: URL): string[] {
  return place.href === origin + wellKnown ? [origin + pathname, origin] : [origin + pathname]
}

/** Where an issuer may publish itself, in order (2025-11-25 authorization, authorization server metadata discovery). */
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
    throw new AuthError(`The authorization server ${JSON.stringify(issuer)} is no https: URL`, context.trace)
  }
  for (const place of metadataPlaces(issuer)) {
    const document = await context.fetchJson(place, 'authorization server metadata')
    if (document) return readServer(document, issuer, context)
  }
  throw new AuthError(`The authorization server ${issuer} publishes no metadata`, context.trace)
}

/** 2026-07-28 authorization: the issuer is compared as it is written, and a document of another is not used. */
function readServer(document: JsonObject, issuer: string, { trace }: AuthContext): AuthorizationServer {
  if (document.issuer !== issuer) {
    throw new AuthError(
      `The metadata of ${issuer} is that of ${JSON.stringify(document.issuer)}: it may be someone else's, and is not used`,
      trace,
    )
  }
  if (typeof document.token_endpoint !== 'string') {
    throw new AuthError(`The authorization server ${issuer} names no token endpoint`, trace)
  }
  return withLists(document)
}

/** Lists that are none are as good as absent. */
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

/** 2025-03-26 authorization: without any metadata the server's own origin, with metadata at its root or default paths. */
export async function fallbackServer(context: AuthContext): Promise<AuthorizationServer> {
  const { origin } = context.serverUrl
  const [place] = metadataPlaces(origin)
  const document = await context.fetchJson(place!, "authorization server metadata at the server's origin")
  if (document) {
    const issuer = typeof document.issuer === 'string' ? document.issuer : origin
    if (!isHttp(issuer) || new URL(issuer).origin !== origin) {
      throw new AuthError(`${origin} says that it is the authorization server ${issuer}`, context.trace)
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

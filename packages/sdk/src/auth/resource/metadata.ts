import { isLoopbackUrl } from '../../net/address-policy.ts'
import { isObject } from '../../util/objects.ts'
import { warnOnce } from '../../util/warn.ts'
import { type EndpointError, type EndpointResponse, pathOf, type RequestHead } from '../http.ts'
import { isSameResource } from '../same-resource.ts'
import { checkScopeNames, withoutOffline } from './challenge.ts'
import type { AuthOptions, TokenRequest } from './options.ts'

const wellKnown = '/.well-known/oauth-protected-resource'

/** Returns the metadata URL of a resource: the well-known path goes between its host and its path (RFC 9728 3.1). */
export function metadataUrl(resource: string | URL): string {
  const { origin, pathname, search } = new URL(resource)
  return `${origin}${wellKnown}${pathname === '/' ? '' : pathname}${search}`
}

/** Returns the resource that a metadata URL belongs to, or undefined if it is not a metadata URL. */
export function resourceAt(metadata: string | URL): string | undefined {
  const { origin, pathname, search } = new URL(metadata)
  return pathname.startsWith(wellKnown) ? `${origin}${pathname.slice(wellKnown.length)}${search}` : undefined
}

/** Public documents may be read by pages of any origin. Clients fetch them whenever a request is refused. */
const documentHeaders = {
  'content-type': 'application/json',
  'access-control-allow-origin': '*',
  'cache-control': 'public, max-age=300',
}

/** Answers a request for a public document. */
export function documentResponse(request: RequestHead, document: object): EndpointResponse | EndpointError {
  const { method } = request
  if (method === 'GET' || method === 'HEAD') {
    return { status: 200, headers: documentHeaders, body: JSON.stringify(document) }
  }
  if (method === 'OPTIONS') return preflight(request)
  const allow = 'GET, HEAD, OPTIONS'
  return { status: 405, message: `Method not allowed: use ${allow}`, headers: { allow } }
}

function preflight(request: RequestHead): EndpointResponse {
  const headers = {
    'access-control-allow-origin': '*',
    'access-control-allow-methods': 'GET',
    'access-control-allow-headers': request.header('access-control-request-headers')?.slice(0, 1_000) ?? '*',
    'access-control-max-age': '86400',
  }
  return { status: 204, headers, body: '' }
}

/** A resource of this server: its identifier, byte for byte as published, and its URL. */
interface Resource {
  readonly id: string
  readonly url: URL
}

/** The endpoints of the HTTP+SSE transport. */
export interface SseEndpointPaths {
  readonly path: string
  readonly messagesPath: string
}

/** The protected resource metadata of this server (RFC 9728): its identifier, and the authorization servers that it trusts. */
export class ResourceMetadata {
  readonly #options: Omit<AuthOptions, 'verify'>
  readonly #document: object
  readonly #paths = new Set<string>()
  readonly #sse: SseEndpointPaths | undefined
  #resources: readonly Resource[] = []

  constructor(options: Omit<AuthOptions, 'verify'>, sse?: SseEndpointPaths) {
    this.#options = options
    this.#sse = sse
    this.#document = toDocument(options)
    if (options.resource !== undefined) this.#resources = [toResource(options.resource)]
    this.#learnPaths()
  }

  /** Without `auth.resource`, uses the URL that is served, under every name of the loopback address. */
  servedAt(url: string): void {
    if (this.#options.resource === undefined) {
      const { port, pathname, hostname } = new URL(url)
      const names = new Set([hostname, ...loopbackNames])
      this.#resources = [...names].map((name) => toResource(`http://${name}${port && `:${port}`}${pathname}`))
    }
    this.#paths.add(wellKnown + new URL(url).pathname)
    this.#learnPaths()
  }

  handles(path: string): boolean {
    return this.#paths.has(path)
  }

  /** Answers a request for the metadata document. */
  respond(request: RequestHead): EndpointResponse | EndpointError {
    const path = pathOf(request).slice(wellKnown.length)
    return documentResponse(request, { resource: this.#resourceOf(request, path).id, ...this.#document })
  }

  /** Returns the metadata URL for the challenge to a request. */
  urlFor(request: RequestHead): string {
    return metadataUrl(this.#resourceOf(request, pathOf(request)).url)
  }

  /** Returns the request as a token verifier sees it. */
  toTokenRequest(request: RequestHead): TokenRequest {
    const urlsOf = () => this.#urlsOf(request)
    return {
      method: request.method,
      get urls() {
        return urlsOf()
      },
      header: (name) => request.header(name),
      isFor: (audience) => this.#isFor(audience),
    }
  }

  /** The URLs that clients may have used. A proxy may have changed the path, so the resource itself is one of them. */
  #urlsOf(request: RequestHead): string[] {
    const path = pathOf(request)
    const { url } = this.#resourceOf(request, path)
    return [...new Set([url.origin + path, url.origin + url.pathname])]
  }

  #isFor(audience: unknown): boolean {
    if (Array.isArray(audience)) return audience.some((one) => this.#isFor(one))
    const wanted = audience instanceof URL ? audience.href : audience
    return typeof wanted === 'string' && this.#all().some(({ id }) => isSameResource(id, wanted))
  }

  #learnPaths(): void {
    this.#paths.add(wellKnown)
    for (const { url } of this.#all()) this.#paths.add(new URL(metadataUrl(url)).pathname)
  }

  /** Of the loopback names, picks the one that the client used, because it compares the resource with the URL it called. */
  #resourceOf(request: RequestHead, path: string): Resource {
    const host = request.header('host')?.toLowerCase()
    const main = this.#resources.find(({ url }) => url.host === host) ?? this.#resources[0]
    if (!main) throw new TypeError('auth.resource is missing.')
    const sse = this.#sse
    return sse && (path === sse.path || path === sse.messagesPath) ? beside(main, sse.path) : main
  }

  /** The HTTP+SSE transport has its own URL, and its clients use that as the resource. */
  #all(): readonly Resource[] {
    const sse = this.#sse
    return sse ? [...this.#resources, ...this.#resources.map((main) => beside(main, sse.path))] : this.#resources
  }
}

const loopbackNames = ['127.0.0.1', 'localhost', '[::1]']

function beside({ url }: Resource, path: string): Resource {
  const id = url.origin + path
  return { id, url: new URL(id) }
}

function toResource(resource: string | URL): Resource {
  const id = typeof resource === 'string' ? resource : resource.href.replace(/^(https?:\/\/[^/]*)\/$/, '$1')
  const url = toUrl('resource', id)
  if (url.hash !== '' || id.includes('#')) throw new TypeError('auth.resource must not have a fragment.')
  if (url.protocol === 'http:' && !isLoopbackUrl(url)) {
    warnOnce(
      'auth-over-http',
      `auth.resource is ${url.origin}: access tokens are sent unencrypted over http. Use https.`,
    )
  }
  return { id, url }
}

function toDocument(options: Omit<AuthOptions, 'verify'>): object {
  const { authorizationServers, requiredScopes = [], resourceName, resourceDocumentation, dpop } = options
  if (!Array.isArray(authorizationServers) || authorizationServers.length === 0) {
    throw new TypeError(
      'auth.authorizationServers must name at least one issuer, so that clients know where to log in.',
    )
  }
  const scopes = withoutOffline(checkScopeNames('scopesSupported', options.scopesSupported ?? requiredScopes))
  return {
    authorization_servers: authorizationServers.map(toIssuer),
    ...(scopes.length > 0 && { scopes_supported: scopes }),
    bearer_methods_supported: ['header'],
    ...(resourceName !== undefined && { resource_name: resourceName }),
    ...(resourceDocumentation && { resource_documentation: String(resourceDocumentation) }),
    ...(isObject(dpop) && {
      dpop_signing_alg_values_supported: dpop.algorithms,
      dpop_bound_access_tokens_required: dpop.required,
    }),
  }
}

/** Returns the issuer unchanged, because clients compare issuers byte for byte. */
function toIssuer(issuer: string): string {
  toUrl('authorizationServers', issuer)
  return issuer
}

function toUrl(option: string, value: string): URL {
  const url = URL.canParse(value) ? new URL(value) : undefined
  if (url && /^https?:$/.test(url.protocol)) return url
  throw new TypeError(
    `Invalid URL in auth.${option}: ${JSON.stringify(value)}. Use a URL such as 'https://mcp.example.com/mcp'.`,
  )
}

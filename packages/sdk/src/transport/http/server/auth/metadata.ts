import { isSameResource } from '../../../../auth/resource/same-resource.ts'
import { isObject } from '../../../../util/objects.ts'
import { warnOnce } from '../../../../util/warn.ts'
import { type HeaderFields, type HttpCall, jsonHeaders, Refusal, refusedCode } from '../call.ts'
import type { AuthOptions } from '../options.ts'
import { checkScopeNames, withoutOffline } from './challenge.ts'

const wellKnown = '/.well-known/oauth-protected-resource'

/** Where the metadata of a resource is (RFC 9728 3.1): between its host and its path. */
export function metadataUrl(resource: string | URL): string {
  const { origin, pathname, search } = new URL(resource)
  return `${origin}${wellKnown}${pathname === '/' ? '' : pathname}${search}`
}

/** The resource whose metadata is there; undefined when it is no such place. */
export function resourceAt(metadata: string | URL): string | undefined {
  const { origin, pathname, search } = new URL(metadata)
  return pathname.startsWith(wellKnown) ? `${origin}${pathname.slice(wellKnown.length)}${search}` : undefined
}

/** Node gives the path alone, `fetch` the whole URL. */
export function pathOf({ request }: Pick<HttpCall, 'request'>): string {
  return request.url.replace(/^https?:\/\/[^/?#]*/i, '').replace(/[?#].*$/s, '')
}

/** Anyone may read it, pages included; clients ask for it whenever they are refused. */
export const metadataHeaders: HeaderFields = {
  ...jsonHeaders,
  'access-control-allow-origin': '*',
  'cache-control': 'public, max-age=300',
}

/** Answers a request for a public document. */
export function answerWithDocument(call: HttpCall, document: object): void {
  if (call.method === 'GET' || call.method === 'HEAD') {
    return call.reply(200, metadataHeaders, JSON.stringify(document))
  }
  if (call.method === 'OPTIONS') {
    return call.reply(204, {
      'access-control-allow-origin': '*',
      'access-control-allow-methods': 'GET',
      'access-control-allow-headers': call.request.header('access-control-request-headers')?.slice(0, 1_000) ?? '*',
      'access-control-max-age': '86400',
    })
  }
  const allow = 'GET, HEAD, OPTIONS'
  new Refusal(405, refusedCode, `Method not allowed: use ${allow}`, undefined, { allow }).send(call)
}

/** A resource that this server is: its identifier, byte for byte as it is published, and where it is. */
export interface Resource {
  readonly id: string
  readonly url: URL
}

/** What this server is called, and by whom tokens for it are given out: protected resource metadata (RFC 9728). */
export class ResourceMetadata {
  readonly #options: Omit<AuthOptions, 'verify'>
  readonly #document: object
  readonly #paths = new Set<string>()
  readonly #sse: { readonly path: string; readonly messagesPath: string } | undefined
  #resources: readonly Resource[] = []

  constructor(options: Omit<AuthOptions, 'verify'>, sse: { path: string; messagesPath: string } | undefined) {
    this.#options = options
    this.#sse = sse
    this.#document = toDocument(options)
    if (options.resource !== undefined) this.#resources = [toResource(options.resource)]
    this.#learnPaths()
  }

  /** Takes the place where it is served for what it is called, under every name of this machine. */
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

  answer(call: HttpCall): void {
    const path = pathOf(call).slice(wellKnown.length)
    answerWithDocument(call, { resource: this.#resourceOf(call, path).id, ...this.#document })
  }

  /** What a challenge to this call names. */
  urlFor(call: HttpCall): string {
    return metadataUrl(this.#resourceOf(call, pathOf(call)).url)
  }

  /** Where a call was sent to, as clients may know it; someone on the way may have changed the path. */
  urlsOf(call: HttpCall): string[] {
    const path = pathOf(call)
    const { url } = this.#resourceOf(call, path)
    return [...new Set([url.origin + path, url.origin + url.pathname])]
  }

  /** Whether an audience, one or several, names this server. */
  isFor(audience: unknown): boolean {
    if (Array.isArray(audience)) return audience.some((one) => this.isFor(one))
    const wanted = audience instanceof URL ? audience.href : audience
    return typeof wanted === 'string' && this.#all().some(({ id }) => isSameResource(id, wanted))
  }

  #learnPaths(): void {
    this.#paths.add(wellKnown)
    for (const { url } of this.#all()) this.#paths.add(new URL(metadataUrl(url)).pathname)
  }

  /** Of the names of this machine, the one that the client used, since it compares it with where it went. */
  #resourceOf(call: HttpCall, path: string): Resource {
    const host = call.request.header('host')?.toLowerCase()
    const main = this.#resources.find(({ url }) => url.host === host) ?? this.#resources[0]
    if (!main) throw new TypeError('auth.resource is missing')
    const sse = this.#sse
    return sse && (path === sse.path || path === sse.messagesPath) ? beside(main, sse.path) : main
  }

  /** The old transport has a URL of its own, and its clients take that for the resource. */
  #all(): readonly Resource[] {
    const sse = this.#sse
    return sse ? [...this.#resources, ...this.#resources.map((main) => beside(main, sse.path))] : this.#resources
  }
}

const loopbackNames = ['127.0.0.1', 'localhost', '[::1]']

/** Whether only this machine can reach an address to listen on. */
export function isLoopback(host: string): boolean {
  return host === '::1' || loopbackNames.includes(host)
}

function beside({ url }: Resource, path: string): Resource {
  const id = url.origin + path
  return { id, url: new URL(id) }
}

function toResource(resource: string | URL): Resource {
  const id = typeof resource === 'string' ? resource : resource.href.replace(/^(https?:\/\/[^/]*)\/$/, '$1')
  const url = toUrl('resource', id)
  if (url.hash !== '' || id.includes('#')) throw new TypeError('auth.resource must not have a fragment')
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) {
    warnOnce('auth-over-http', `auth.resource is ${url.origin}: tokens travel unprotected over http`)
  }
  return { id, url }
}

function toDocument(options: Omit<AuthOptions, 'verify'>): object {
  const { authorizationServers, requiredScopes = [], resourceName, resourceDocumentation, dpop } = options
  if (!Array.isArray(authorizationServers) || authorizationServers.length === 0) {
    throw new TypeError('auth.authorizationServers must name at least one issuer: that is where clients log in')
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

/** As it was given: clients compare issuers byte for byte. */
function toIssuer(issuer: string): string {
  toUrl('authorizationServers', issuer)
  return issuer
}

function toUrl(option: string, value: string): URL {
  const url = URL.canParse(value) ? new URL(value) : undefined
  if (url && /^https?:$/.test(url.protocol)) return url
  throw new TypeError(`auth.${option}: ${JSON.stringify(value)} is no URL; write 'https://mcp.example.com/mcp'`)
}

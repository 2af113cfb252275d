import {
  allowInsecureRequests,
  ClientSecretBasic,
  ClientSecretPost,
  customFetch,
  type IntrospectionResponse,
  introspectionRequest,
  processIntrospectionResponse,
} from 'oauth4webapi'
import { sha256 } from '../../util/base64url.ts'
import { clock } from '../../util/clock.ts'
import { timeoutSignal } from '../../util/scheduler.ts'
import { isForUs, toAuthInfo, toList } from './claims.ts'
import { checkIssuerUrl, type Fetch, IssuerFetch } from './issuer-fetch.ts'
import type { TokenVerifier } from './options.ts'

/** Options of `introspectionVerifier`. */
export interface IntrospectionVerifierOptions {
  /** The introspection endpoint of the authorization server (RFC 7662). */
  endpoint: string | URL
  /** The client id of this server at the authorization server. */
  clientId: string
  /** The client secret of this server at the authorization server. */
  clientSecret: string
  /** How the client secret is sent. Default `'basic'`. */
  clientAuth?: 'basic' | 'post' | undefined
  /** Accepted values of `aud`. Default: the URL of this server, `auth.resource`. */
  audience?: string | readonly string[] | undefined
  /** Accept only tokens of this issuer, if the response names one. Default: every token that the endpoint reports as active. */
  issuer?: string | undefined
  /** How long responses are cached. A revoked token is accepted until then. Default 10,000; 0 disables the cache. */
  cacheMs?: number | undefined
  /** The maximum clock skew. Default 5. */
  clockToleranceSec?: number | undefined
  /** Sends the requests. Default: the global `fetch`. */
  fetch?: Fetch | undefined
}

const maxCachedResponses = 10_000

/**
 * Creates a verifier that asks the authorization server about each token (RFC 7662). Works with tokens of any format.
 *
 * @example
 * const verify = introspectionVerifier({ endpoint: 'https://auth.example.com/introspect', clientId, clientSecret })
 * await serveHttp(server, { auth: { verify, authorizationServers: ['https://auth.example.com'], resource } })
 */
export function introspectionVerifier(options: IntrospectionVerifierOptions): TokenVerifier {
  const { cacheMs = 10_000, clockToleranceSec = 5 } = options
  const audiences = toList(options.audience)
  const issuer = options.issuer ?? checkIssuerUrl('endpoint', options.endpoint).origin
  const introspect = createIntrospection(options)
  const cache = new ResponseCache(cacheMs)
  return async (token, request) => {
    const claims = await cache.get(await sha256(token), () => introspect(token))
    if (!isUsable(claims, options.issuer, clockToleranceSec)) return undefined
    if (!isForUs(claims.aud, audiences, request)) return undefined
    // A copy, so that changes that a handler makes do not affect the next request with this token.
    const { active: _active, ...rest } = structuredClone(claims)
    return { issuer, ...toAuthInfo(rest, clockToleranceSec) }
  }
}

function createIntrospection(options: IntrospectionVerifierOptions): (token: string) => Promise<IntrospectionResponse> {
  const endpoint = checkIssuerUrl('endpoint', options.endpoint)
  const server = { issuer: options.issuer ?? endpoint.origin, introspection_endpoint: endpoint.href }
  const client = { client_id: options.clientId }
  const authenticate = options.clientAuth === 'post' ? ClientSecretPost : ClientSecretBasic
  const authentication = authenticate(options.clientSecret)
  const fetch = new IssuerFetch(options.fetch)
  return async (token) => {
    const response = await introspectionRequest(server, client, authentication, token, {
      additionalParameters: { token_type_hint: 'access_token' },
      signal: timeoutSignal(5_000),
      // The URL was checked: plain http is possible only on loopback addresses.
      [allowInsecureRequests]: true,
      [customFetch]: (url, init) => fetch.send(url, init as RequestInit),
    })
    return processIntrospectionResponse(server, client, response)
  }
}

function isUsable(claims: IntrospectionResponse, issuer: string | undefined, clockToleranceSec: number): boolean {
  const { active, exp, nbf, iss, token_type } = claims
  const now = clock.now() / 1000
  if (!active) return false
  // Some servers also answer for refresh tokens, which are not access tokens.
  if (token_type !== undefined && /refresh|id_token/i.test(String(token_type))) return false
  if (issuer !== undefined && iss !== undefined && iss !== issuer) return false
  if (typeof exp === 'number' && exp + clockToleranceSec <= now) return false
  return !(typeof nbf === 'number' && nbf - clockToleranceSec > now)
}

/** Caches responses, including pending ones, by the hash of the token. */
class ResponseCache {
  readonly #ttlMs: number
  readonly #entries = new Map<string, { response: Promise<IntrospectionResponse>; expiresAt: number }>()

  constructor(ttlMs: number) {
    this.#ttlMs = ttlMs
  }

  get(key: string, request: () => Promise<IntrospectionResponse>): Promise<IntrospectionResponse> {
    const cached = this.#entries.get(key)
    if (cached && cached.expiresAt > clock.now()) return cached.response
    const response = request()
    if (this.#ttlMs <= 0) return response
    this.#entries.delete(key)
    if (this.#entries.size >= maxCachedResponses) this.#entries.delete(this.#entries.keys().next().value!)
    this.#entries.set(key, { response, expiresAt: clock.now() + this.#ttlMs })
    // Failures are not cached.
    response.catch(() => this.#entries.delete(key))
    return response
  }
}

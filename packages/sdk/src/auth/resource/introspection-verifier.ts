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
import { isForUs, toAuthInfo, toList } from './claims.ts'
import { checkIssuerUrl, type Fetch, IssuerFetch } from './issuer-fetch.ts'
import type { TokenVerifier } from './options.ts'

export interface IntrospectionVerifierOptions {
  /** Where the authorization server tells about tokens (RFC 7662). */
  endpoint: string | URL
  /** Who this server is to the authorization server. */
  clientId: string
  clientSecret: string
  /** How the secret is sent. Default `'basic'`. */
  clientAuth?: 'basic' | 'post' | undefined
  /** What tokens for this server have in `aud`. Default: the URL of this server, `auth.resource`. */
  audience?: string | readonly string[] | undefined
  /** Accept tokens of this issuer only, where the answer names one. Default: any that the endpoint calls active. */
  issuer?: string | undefined
  /** How long an answer is remembered; a token that was revoked is accepted so much longer. Default 10,000; 0: never. */
  cacheMs?: number | undefined
  /** How far clocks may be apart. Default 5. */
  clockToleranceSec?: number | undefined
  /** Default: the runtime's own. */
  fetch?: Fetch | undefined
}

/** Answers remembered. */
const maxKept = 10_000

/** Verifies tokens of any form by asking the authorization server about them. */
export function introspectionVerifier(options: IntrospectionVerifierOptions): TokenVerifier {
  const { cacheMs = 10_000, clockToleranceSec = 5 } = options
  const audiences = toList(options.audience)
  const issuer = options.issuer ?? checkIssuerUrl('endpoint', options.endpoint).origin
  const ask = asker(options)
  const kept = new Kept(cacheMs)
  return async (token, request) => {
    const claims = await kept.get(await sha256(token), () => ask(token))
    if (!isUsable(claims, options.issuer, clockToleranceSec)) return undefined
    if (!isForUs(claims.aud, audiences, request)) return undefined
    // A copy: what a handler does to it must not reach the next request with this token.
    const { active: _active, ...rest } = structuredClone(claims)
    return { issuer, ...toAuthInfo(rest, clockToleranceSec) }
  }
}

function asker(options: IntrospectionVerifierOptions): (token: string) => Promise<IntrospectionResponse> {
  const endpoint = checkIssuerUrl('endpoint', options.endpoint)
  const server = { issuer: options.issuer ?? endpoint.origin, introspection_endpoint: endpoint.href }
  const client = { client_id: options.clientId }
  const authenticate = options.clientAuth === 'post' ? ClientSecretPost : ClientSecretBasic
  const authentication = authenticate(options.clientSecret)
  const fetch = new IssuerFetch(options.fetch)
  return async (token) => {
    const response = await introspectionRequest(server, client, authentication, token, {
      additionalParameters: { token_type_hint: 'access_token' },
      signal: AbortSignal.timeout(5_000),
      // The endpoint was checked; http is possible only on this machine.
      [allowInsecureRequests]: true,
      [customFetch]: (url, init) => fetch.ask(url, init as RequestInit),
    })
    return processIntrospectionResponse(server, client, response)
  }
}

function isUsable(claims: IntrospectionResponse, issuer: string | undefined, clockToleranceSec: number): boolean {
  const { active, exp, nbf, iss, token_type } = claims
  const now = clock.now() / 1000
  if (!active) return false
  // Servers may tell about refresh tokens here, too, and those are no permission.
  if (token_type !== undefined && /refresh|id_token/i.test(String(token_type))) return false
  if (issuer !== undefined && iss !== undefined && iss !== issuer) return false
  if (typeof exp === 'number' && exp + clockToleranceSec <= now) return false
  return !(typeof nbf === 'number' && nbf - clockToleranceSec > now)
}

/** Answers by the digest of their token, and those on their way, so that a token is asked about once. */
class Kept {
  readonly #ms: number
  readonly #answers = new Map<string, { answer: Promise<IntrospectionResponse>; until: number }>()

  constructor(ms: number) {
    this.#ms = ms
  }

  get(key: string, ask: () => Promise<IntrospectionResponse>): Promise<IntrospectionResponse> {
    const kept = this.#answers.get(key)
    if (kept && kept.until > clock.now()) return kept.answer
    const answer = ask()
    if (this.#ms <= 0) return answer
    this.#answers.delete(key)
    if (this.#answers.size >= maxKept) this.#answers.delete(this.#answers.keys().next().value!)
    this.#answers.set(key, { answer, until: clock.now() + this.#ms })
    // A failure is no answer.
    answer.catch(() => this.#answers.delete(key))
    return answer
  }
}

import { createRemoteJWKSet, customFetch, errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose'
import {
  allowInsecureRequests,
  discoveryRequest,
  customFetch as oauthFetch,
  processDiscoveryResponse,
} from 'oauth4webapi'
import { clock } from '../../util/clock.ts'
import { timeoutSignal } from '../../util/scheduler.ts'
import { isForUs, toAuthInfo, toList } from './claims.ts'
import { checkIssuerUrl, cooldownMs, type Fetch, IssuerFetch } from './issuer-fetch.ts'
import type { TokenVerifier } from './options.ts'

/** Options of `jwtVerifier`. */
export interface JwtVerifierOptions {
  /** The issuer of the tokens, exactly as in its metadata and in the claim `iss`. */
  issuer: string
  /** Accepted values of `aud`. Default: the URL of this server, `auth.resource`. */
  audience?: string | readonly string[] | undefined
  /** The URL of the issuer's key set. Default: discovered from its metadata (RFC 8414 or OpenID Connect discovery). */
  jwksUri?: string | URL | undefined
  /** Accepted signature algorithms; never one with a shared secret. Default RS256, PS256, ES256 and EdDSA. */
  algorithms?: readonly string[] | undefined
  /** The maximum clock skew. Default 5. */
  clockToleranceSec?: number | undefined
  /** Sends the requests. Default: the global `fetch`. */
  fetch?: Fetch | undefined
}

/**
 * Creates a verifier for access tokens that are JWTs (RFC 9068; tokens without a type are accepted too). The issuer's keys
 * are fetched when first needed and cached for ten minutes. An unknown key id triggers a new fetch, at most twice a minute.
 *
 * @example
 * const issuer = 'https://auth.example.com'
 * const resource = 'https://mcp.example.com/mcp'
 * await serveHttp(server, { auth: { verify: jwtVerifier({ issuer }), authorizationServers: [issuer], resource } })
 */
export function jwtVerifier(options: JwtVerifierOptions): TokenVerifier {
  const { clockToleranceSec = 5 } = options
  const audiences = toList(options.audience)
  const algorithms = checkAlgorithms(options.algorithms ?? ['RS256', 'PS256', 'ES256', 'EdDSA', 'Ed25519'])
  const issuerKeys = new IssuerKeys(options)
  return async (token, request) => {
    const { keys, issuers } = await issuerKeys.find()
    const claims = await verify(token, keys, { algorithms, issuers, clockToleranceSec })
    return claims && isForUs(claims.aud, audiences, request) ? toAuthInfo(claims, clockToleranceSec) : undefined
  }
}

/** Throws on algorithms with a shared secret: everyone who can check such a signature could also create it. */
export function checkAlgorithms(algorithms: readonly string[]): string[] {
  for (const algorithm of algorithms) {
    if (!/^(?:RS|PS|ES)(?:256|384|512)$|^EdDSA$|^Ed25519$/.test(algorithm)) {
      throw new TypeError(
        `Algorithm not accepted: ${JSON.stringify(algorithm)}. Use a public-key signature, such as ES256.`,
      )
    }
  }
  return [...algorithms]
}

interface Rules {
  readonly algorithms: string[]
  readonly issuers: string[]
  readonly clockToleranceSec: number
}

/** Returns the claims, or undefined if the token is not valid. */
async function verify(token: string, keys: JWTVerifyGetKey, rules: Rules): Promise<JWTPayload | undefined> {
  const { algorithms, issuers, clockToleranceSec } = rules
  const options = {
    algorithms,
    issuer: issuers,
    clockTolerance: clockToleranceSec,
    requiredClaims: ['exp', 'iss', 'aud'],
  }
  try {
    const { payload, protectedHeader } = await jwtVerify(token, keys, options)
    return isAccessToken(protectedHeader.typ) ? payload : undefined
  } catch (error) {
    // Without a key id, every matching key has to be tried.
    if (error instanceof errors.JWKSMultipleMatchingKeys) {
      for await (const key of error) {
        const claims = await verify(token, async () => key, rules)
        if (claims) return claims
      }
      return undefined
    }
    if (isInvalidToken(error)) return undefined
    throw error
  }
}

/** RFC 9068 4: the type tells access tokens from other JWTs of the same issuer, such as proofs and assertions. */
function isAccessToken(typ: unknown): boolean {
  return typ === undefined || (typeof typ === 'string' && /^(?:application\/)?(?:at\+jwt|jwt)$/i.test(typ))
}

/** Tells an invalid token from keys that could not be loaded. */
function isInvalidToken(error: unknown): boolean {
  return (
    error instanceof errors.JWTExpired ||
    error instanceof errors.JWTClaimValidationFailed ||
    error instanceof errors.JWTInvalid ||
    error instanceof errors.JWSInvalid ||
    error instanceof errors.JWSSignatureVerificationFailed ||
    error instanceof errors.JOSEAlgNotAllowed ||
    error instanceof errors.JOSENotSupported ||
    error instanceof errors.JWKSNoMatchingKey
  )
}

interface KeySet {
  readonly keys: JWTVerifyGetKey
  readonly issuers: string[]
}

const timeoutMs = 5_000

/** The keys of an issuer, and the spellings of its identifier. */
class IssuerKeys {
  readonly #options: JwtVerifierOptions
  readonly #issuer: URL
  readonly #fetch: IssuerFetch
  #found: Promise<KeySet> | undefined
  #failedAt: number | undefined

  constructor(options: JwtVerifierOptions) {
    this.#options = options
    this.#issuer = checkIssuerUrl('issuer', options.issuer)
    this.#fetch = new IssuerFetch(options.fetch)
    if (options.jwksUri !== undefined) {
      const keys = this.#keysAt(checkIssuerUrl('jwksUri', options.jwksUri))
      this.#found = Promise.resolve({ keys, issuers: [options.issuer] })
    }
  }

  find(): Promise<KeySet> {
    if (this.#failedAt !== undefined && clock.now() - this.#failedAt >= cooldownMs) this.#found = undefined
    this.#found ??= this.#discover()
    return this.#found
  }

  #keysAt(url: URL): JWTVerifyGetKey {
    return createRemoteJWKSet(url, {
      timeoutDuration: timeoutMs,
      [customFetch]: (url, init) => this.#fetch.getWithCooldown(url, init),
    })
  }

  async #discover(): Promise<KeySet> {
    this.#failedAt = undefined
    const reasons: string[] = []
    for (const algorithm of ['oauth2', 'oidc'] as const) {
      try {
        const { issuer, jwks_uri } = await this.#metadata(algorithm)
        if (!jwks_uri) throw new Error('the metadata has no jwks_uri')
        // The metadata was compared, so the two can differ only in the slash after a bare host.
        return { keys: this.#keysAt(checkIssuerUrl('jwks_uri', jwks_uri)), issuers: [this.#options.issuer, issuer] }
      } catch (error) {
        reasons.push(error instanceof Error ? error.message : String(error))
      }
    }
    this.#failedAt = clock.now()
    throw new Error(`The keys of ${this.#options.issuer} could not be loaded: ${reasons.join('; ')}`)
  }

  async #metadata(algorithm: 'oauth2' | 'oidc') {
    const response = await discoveryRequest(this.#issuer, {
      algorithm,
      signal: timeoutSignal(timeoutMs),
      // The URL was checked: plain http is possible only on loopback addresses.
      [allowInsecureRequests]: true,
      [oauthFetch]: (url, init) => this.#fetch.get(url, init as RequestInit),
    })
    return processDiscoveryResponse(this.#issuer, response)
  }
}

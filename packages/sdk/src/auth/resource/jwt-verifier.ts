import { createRemoteJWKSet, customFetch, errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose'
import {
  allowInsecureRequests,
  discoveryRequest,
  customFetch as oauthFetch,
  processDiscoveryResponse,
} from 'oauth4webapi'
import { clock } from '../../util/clock.ts'
import { isForUs, toAuthInfo, toList } from './claims.ts'
import { checkIssuerUrl, type Fetch, IssuerFetch, pauseMs } from './issuer-fetch.ts'
import type { TokenVerifier } from './options.ts'

export interface JwtVerifierOptions {
  /** Who issues the tokens, exactly as its metadata and the claim `iss` say it. */
  issuer: string
  /** What tokens for this server have in `aud`. Default: the URL of this server, `auth.resource`. */
  audience?: string | readonly string[] | undefined
  /** Where the issuer's keys are. Default: as its metadata says (RFC 8414 or OpenID Connect discovery). */
  jwksUri?: string | URL | undefined
  /** Signatures that are accepted; never one by a shared secret. Default RS256, PS256, ES256 and EdDSA. */
  algorithms?: readonly string[] | undefined
  /** How far clocks may be apart. Default 5. */
  clockToleranceSec?: number | undefined
  /** Default: the runtime's own. */
  fetch?: Fetch | undefined
}

/**
 * Verifies tokens that are JWTs (RFC 9068, and those of issuers which do not name the type). The issuer's keys are fetched
 * when first needed and kept for ten minutes; a key that is not among them is looked for again, at most twice a minute.
 *
 * @example
 * serveHttp(server, { auth: { verify: jwtVerifier({ issuer }), authorizationServers: [issuer], resource } })
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

/** Those that only the issuer can make; one by a shared secret could be made by whoever checks it. */
export function checkAlgorithms(algorithms: readonly string[]): string[] {
  for (const algorithm of algorithms) {
    if (!/^(?:RS|PS|ES)(?:256|384|512)$|^EdDSA$|^Ed25519$/.test(algorithm)) {
      throw new TypeError(
        `${JSON.stringify(algorithm)} is not accepted: use a signature with a public key, such as ES256`,
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

/** The claims, or undefined when the token is not what it should be. */
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
    // Without a key id, every key that fits has to be tried.
    if (error instanceof errors.JWKSMultipleMatchingKeys) {
      for await (const key of error) {
        const claims = await verify(token, async () => key, rules)
        if (claims) return claims
      }
      return undefined
    }
    if (isAboutToken(error)) return undefined
    throw error
  }
}

/** RFC 9068 4: the type keeps other JWTs of the same issuer, such as proofs and assertions, from passing for a token. */
function isAccessToken(typ: unknown): boolean {
  return typ === undefined || (typeof typ === 'string' && /^(?:application\/)?(?:at\+jwt|jwt)$/i.test(typ))
}

/** What the caller sent is wrong, rather than that keys could not be had. */
function isAboutToken(error: unknown): boolean {
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

interface Found {
  readonly keys: JWTVerifyGetKey
  readonly issuers: string[]
}

const timeoutMs = 5_000

/** The keys of an issuer, and how it spells its own name. */
class IssuerKeys {
  readonly #options: JwtVerifierOptions
  readonly #issuer: URL
  readonly #fetch: IssuerFetch
  #found: Promise<Found> | undefined
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

  find(): Promise<Found> {
    if (this.#failedAt !== undefined && clock.now() - this.#failedAt >= pauseMs) this.#found = undefined
    this.#found ??= this.#discover()
    return this.#found
  }

  #keysAt(url: URL): JWTVerifyGetKey {
    return createRemoteJWKSet(url, {
      timeoutDuration: timeoutMs,
      [customFetch]: (where, init) => this.#fetch.getWithPauses(where, init),
    })
  }

  async #discover(): Promise<Found> {
    this.#failedAt = undefined
    const reasons: string[] = []
    for (const algorithm of ['oauth2', 'oidc'] as const) {
      try {
        const { issuer, jwks_uri } = await this.#metadata(algorithm)
        if (!jwks_uri) throw new Error('its metadata names no jwks_uri')
        // Only the slash after a bare host may differ: that is how far the metadata was compared.
        return { keys: this.#keysAt(checkIssuerUrl('jwks_uri', jwks_uri)), issuers: [this.#options.issuer, issuer] }
      } catch (error) {
        reasons.push((error as Error).message)
      }
    }
    this.#failedAt = clock.now()
    throw new Error(`The keys of ${this.#options.issuer} were not found: ${reasons.join('; ')}`)
  }

  async #metadata(algorithm: 'oauth2' | 'oidc') {
    const response = await discoveryRequest(this.#issuer, {
      algorithm,
      signal: AbortSignal.timeout(timeoutMs),
      // The issuer was checked; http is possible only on this machine.
      [allowInsecureRequests]: true,
      [oauthFetch]: (url, init) => this.#fetch.get(url, init as RequestInit),
    })
    return processDiscoveryResponse(this.#issuer, response)
  }
}

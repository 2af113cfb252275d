import { calculateJwkThumbprint, decodeProtectedHeader, EmbeddedJWK, type JWTPayload, jwtVerify } from 'jose'
import { OAuthError } from '../../auth/server/oauth-error.ts'
import { isObject, type JsonObject } from '../../util/objects.ts'
import { random } from '../../util/random.ts'
import type { Call } from './http.ts'
import { signingAlgorithms } from './keys.ts'
import type { Settings } from './options.ts'

/** The maximum difference between the time of a proof and the clock of the server. */
const windowSeconds = 60

/** DPoP proofs of token requests (RFC 9449). */
export class Proofs {
  readonly #settings: Settings
  readonly #seen = new Set<string>()
  #nonce: string | undefined

  constructor(settings: Settings) {
    this.#settings = settings
    if (settings.dpopNonce) this.rotateNonce()
  }

  /** The nonce that the next proof must contain. */
  get nonce(): string | undefined {
    return this.#nonce
  }

  /** Changes the nonce. Proofs with the old one are rejected. */
  rotateNonce(): void {
    this.#nonce = random.uuid()
  }

  /**
   * Returns the thumbprint of the key whose possession the request proves, or undefined if it contains no proof.
   * RFC 9449 section 4.3.
   *
   * @param address The URL of the request, without query.
   */
  async check(call: Call, address: string): Promise<string | undefined> {
    const [proof, ...others] = call.headerValues('dpop')
    if (proof === undefined || this.#settings.dpop === false) return undefined
    if (others.length > 0) throw invalid('The request has more than one DPoP header')
    const jwk = keyOf(proof)
    const claims = await this.#verify(proof)
    if (claims.htm !== call.method) throw invalid(`htm must be ${call.method}`)
    if (!isSameAddress(claims.htu, address)) throw invalid(`htu must be ${address}`)
    if (Math.abs((claims.iat ?? 0) - this.#settings.now() / 1_000) > windowSeconds) throw invalid('iat is not current')
    if (this.#nonce !== undefined && claims.nonce !== this.#nonce) throw useNonce()
    const thumbprint = await calculateJwkThumbprint(jwk)
    if (typeof claims.jti !== 'string' || this.#seen.has(`${thumbprint} ${claims.jti}`)) {
      throw invalid('jti is missing or was already used')
    }
    this.#seen.add(`${thumbprint} ${claims.jti}`)
    return thumbprint
  }

  async #verify(proof: string): Promise<JWTPayload> {
    try {
      const { payload } = await jwtVerify(proof, EmbeddedJWK, {
        typ: 'dpop+jwt',
        algorithms: signingAlgorithms,
        requiredClaims: ['jti', 'htm', 'htu', 'iat'],
        currentDate: new Date(this.#settings.now()),
        clockTolerance: windowSeconds,
      })
      return payload
    } catch (error) {
      throw invalid(error instanceof Error ? error.message : 'The proof is not a JWT')
    }
  }
}

/** The signature check verifies that it is a public key, and the one that signed. */
function keyOf(proof: string): JsonObject {
  const { jwk } = headerOf(proof)
  if (!isObject(jwk)) throw invalid('The header has no jwk')
  return jwk
}

function headerOf(proof: string): { jwk?: unknown } {
  try {
    return decodeProtectedHeader(proof)
  } catch {
    throw invalid('The proof is not a JWT')
  }
}

/** RFC 9449 section 4.3, 9: compared without query and fragment, and normalized. */
function isSameAddress(htu: unknown, address: string): boolean {
  if (typeof htu !== 'string' || !URL.canParse(htu)) return false
  const url = new URL(htu)
  return `${url.origin}${url.pathname}` === new URL(address).href
}

function invalid(description: string): OAuthError {
  return new OAuthError('invalid_dpop_proof', description)
}

function useNonce(): OAuthError {
  return new OAuthError('use_dpop_nonce', 'The proof must contain the nonce of the DPoP-Nonce header')
}

import { calculateJwkThumbprint, decodeProtectedHeader, EmbeddedJWK, type JWTPayload, jwtVerify } from 'jose'
import { OAuthError } from '../../auth/server/oauth-error.ts'
import { isObject, type JsonObject } from '../../util/objects.ts'
import { random } from '../../util/random.ts'
import type { Call } from './http.ts'
import { signingAlgorithms } from './keys.ts'
import type { Settings } from './options.ts'

/** How far a proof's time may be from ours, either way. */
const windowSeconds = 60

/** Proofs of possession of a key (RFC 9449), as token requests carry them. */
export class Proofs {
  readonly #settings: Settings
  readonly #seen = new Set<string>()
  #nonce: string | undefined

  constructor(settings: Settings) {
    this.#settings = settings
    if (settings.dpopNonce) this.rotateNonce()
  }

  /** What the next proof has to carry. */
  get nonce(): string | undefined {
    return this.#nonce
  }

  /** Proofs with the nonce so far are sent back for the new one. */
  rotateNonce(): void {
    this.#nonce = random.uuid()
  }

  /**
   * The thumbprint of the key that the request proves to have; undefined when it does not claim any. RFC 9449 section 4.3.
   *
   * @param address Where the request went to, without query.
   */
  async check(call: Call, address: string): Promise<string | undefined> {
    const [proof, ...others] = call.headerValues('dpop')
    if (proof === undefined || this.#settings.dpop === false) return undefined
    if (others.length > 0) throw invalid('There is more than one DPoP header')
    const jwk = keyOf(proof)
    const claims = await this.#verify(proof)
    if (claims.htm !== call.method) throw invalid(`htm is not ${call.method}`)
    if (!isSameAddress(claims.htu, address)) throw invalid(`htu is not ${address}`)
    if (Math.abs((claims.iat ?? 0) - this.#settings.now() / 1_000) > windowSeconds) throw invalid('iat is not now')
    if (this.#nonce !== undefined && claims.nonce !== this.#nonce) throw useNonce()
    const thumbprint = await calculateJwkThumbprint(jwk)
    if (typeof claims.jti !== 'string' || this.#seen.has(`${thumbprint} ${claims.jti}`)) {
      throw invalid('jti is missing, or was there before')
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
      throw invalid(error instanceof Error ? error.message : 'The proof is no JWT')
    }
  }
}

/** That it is a public key, and the one that signed, is checked with the signature. */
function keyOf(proof: string): JsonObject {
  const { jwk } = headerOf(proof)
  if (!isObject(jwk)) throw invalid('The header has no jwk')
  return jwk
}

function headerOf(proof: string): { jwk?: unknown } {
  try {
    return decodeProtectedHeader(proof)
  } catch {
    throw invalid('The proof is no JWT')
  }
}

/** RFC 9449 section 4.3, 9: without query and fragment, and normalised. */
function isSameAddress(htu: unknown, address: string): boolean {
  if (typeof htu !== 'string' || !URL.canParse(htu)) return false
  const url = new URL(htu)
  return `${url.origin}${url.pathname}` === new URL(address).href
}

function invalid(description: string): OAuthError {
  return new OAuthError('invalid_dpop_proof', description)
}

function useNonce(): OAuthError {
  return new OAuthError('use_dpop_nonce', 'The proof needs the nonce of the DPoP-Nonce header')
}

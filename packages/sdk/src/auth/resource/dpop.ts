import { calculateJwkThumbprint, EmbeddedJWK, type JWK, type JWTPayload, jwtVerify } from 'jose'
import { McpError } from '../../errors.ts'
import { sha256, toBase64Url } from '../../util/base64url.ts'
import { clock } from '../../util/clock.ts'
import { lazy } from '../../util/lazy.ts'
import { random } from '../../util/random.ts'
import { checkAlgorithms } from './jwt-verifier.ts'
import type { DpopCheck, TokenRequest } from './options.ts'

/** Options of `dpop`. */
export interface DpopOptions {
  /** Reject tokens that are not bound to a key. Default false: they are accepted as bearer tokens. */
  required?: boolean | undefined
  /** Accepted signature algorithms. Default ES256, EdDSA, PS256 and RS256. */
  algorithms?: readonly string[] | undefined
  /** The maximum age of a proof, and the maximum clock skew, because clocks of clients are often minutes off. Default 300. */
  maxAgeSec?: number | undefined
  /**
   * Require a recent nonce of this server in every proof, so that proofs cannot be created in advance. In a cluster, pass the
   * same `secret` to every process. Default false.
   */
  nonce?: boolean | { secret: string } | undefined
  /** Remembers used proofs. Default: in the memory of this process. */
  replays?: Replays | undefined
}

/**
 * Accepts access tokens that are bound to a key of the client (DPoP, RFC 9449).
 *
 * @example
 * await serveHttp(server, { auth: { verify, authorizationServers: [issuer], resource, dpop: dpop() } })
 */
export function dpop(options: DpopOptions = {}): DpopCheck {
  const { required = false, maxAgeSec = 300, replays = new MemoryReplays(), nonce = false } = options
  const algorithms = checkAlgorithms(options.algorithms ?? ['ES256', 'EdDSA', 'PS256', 'RS256'])
  const nonces = nonce ? new Nonces(nonce === true ? undefined : nonce.secret) : undefined
  return {
    algorithms,
    required,
    async check(request, token, thumbprint) {
      const [proof, current] = await Promise.all([readProof(request, algorithms), nonces?.current()])
      const next = current === undefined ? {} : { nonce: current }
      const description =
        typeof proof === 'string' ? proof : await problemWith(proof, { request, token, thumbprint, maxAgeSec })
      if (typeof proof === 'string' || description) return { problem: invalidProof(description ?? ''), ...next }
      const { nonce: sent, jti } = proof.claims
      if (nonces && !(await nonces.accepts(sent))) return { problem: nonceRequired, ...next }
      // Last, so that a proof that fails another check is not used up.
      const until = (proof.claims.iat as number) + maxAgeSec + 1
      const isFirst = await replays.add(`${thumbprint} ${jti}`, until * 1000)
      return isFirst ? next : { problem: invalidProof('The DPoP proof has already been used.'), ...next }
    },
  }
}

const nonceRequired = {
  error: 'use_dpop_nonce',
  description: 'The DPoP proof must contain the nonce of this response.',
}

function invalidProof(description: string): { error: string; description: string } {
  return { error: 'invalid_dpop_proof', description }
}

interface Proof {
  readonly claims: JWTPayload
  readonly thumbprint: string
}

/** Returns the proof after checking its signature, or a description of the problem (RFC 9449 4.3, checks 1 to 7). */
async function readProof(request: TokenRequest, algorithms: string[]): Promise<Proof | string> {
  const header = request.header('dpop')
  if (header === undefined) return 'The DPoP header is missing.'
  // Repeated headers arrive joined by a comma, which a proof cannot contain.
  if (header.includes(',')) return 'Send exactly one DPoP header.'
  try {
    const { payload, protectedHeader } = await jwtVerify(header, EmbeddedJWK, { typ: 'dpop+jwt', algorithms })
    const jwk = protectedHeader.jwk as JWK
    if (secretMembers.some((member) => member in jwk)) return 'The key in the DPoP proof must be a public key.'
    return { claims: payload, thumbprint: await calculateJwkThumbprint(jwk) }
  } catch {
    return 'The DPoP proof is malformed, or its signature is not valid.'
  }
}

const secretMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k', 'priv']

interface Expected {
  readonly request: TokenRequest
  readonly token: string
  readonly thumbprint: string
  readonly maxAgeSec: number
}

/** Returns a description of the problem with the claims of a proof (RFC 9449 4.3, checks 8 to 12), or undefined. */
async function problemWith({ claims, thumbprint }: Proof, expected: Expected): Promise<string | undefined> {
  const { htm, htu, iat, jti, ath } = claims
  const { request, token, maxAgeSec } = expected
  if (typeof jti !== 'string' || jti === '' || jti.length > maxJtiLength) return 'The DPoP proof has no valid jti.'
  if (htm !== request.method) return 'The DPoP proof is for another method.'
  if (!isSameUrl(htu, request.urls)) return 'The DPoP proof is for another URL.'
  if (typeof iat !== 'number' || !(Math.abs(clock.now() / 1000 - iat) <= maxAgeSec)) {
    return 'The DPoP proof is too old, or its iat is in the future.'
  }
  if (ath !== (await sha256(token))) return 'The DPoP proof is for another access token.'
  return thumbprint === expected.thumbprint
    ? undefined
    : 'The DPoP proof is signed with another key than the one the access token is bound to.'
}

/** The maximum length of an id, because used ids are remembered. */
const maxJtiLength = 256

/** Compares URLs without query and fragment, in normalized form. */
function isSameUrl(htu: unknown, urls: readonly string[]): boolean {
  if (typeof htu !== 'string' || !URL.canParse(htu)) return false
  const wanted = withoutQuery(htu)
  return urls.some((url) => withoutQuery(url) === wanted)
}

function withoutQuery(href: string): string {
  const { origin, pathname } = new URL(href)
  return origin + pathname
}

/** How long a nonce is issued. It is accepted for twice as long. */
const periodMs = 120_000

type CryptoKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>

/** Stateless nonces: a signature of the current period. Those of this period and the previous one are accepted. */
export class Nonces {
  readonly #key: () => Promise<CryptoKey>

  /** @param secret Shared by all processes. Default: a random key of this process. */
  constructor(secret: string | undefined) {
    const raw = secret === undefined ? undefined : new TextEncoder().encode(secret)
    if (raw && raw.length < 16) throw new TypeError('nonce.secret must have at least 16 bytes.')
    this.#key = lazy(() => importKey(raw ?? random.bytes(32)))
  }

  current(): Promise<string> {
    return this.#of(period())
  }

  async accepts(nonce: unknown): Promise<boolean> {
    return nonce === (await this.#of(period())) || nonce === (await this.#of(period() - 1))
  }

  async #of(number: number): Promise<string> {
    const text = new TextEncoder().encode(`dpop-nonce ${number}`)
    return toBase64Url(new Uint8Array(await crypto.subtle.sign('HMAC', await this.#key(), text)))
  }
}

function importKey(raw: Uint8Array<ArrayBuffer>): Promise<CryptoKey> {
  return crypto.subtle.importKey('raw', raw, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
}

function period(): number {
  return Math.floor(clock.now() / periodMs)
}

/** Remembers values that may be used only once. Implement it on a shared store to cover several processes. */
export interface Replays {
  /**
   * Returns true if the key is new. Must be atomic: of two concurrent calls with the same key, only one returns true.
   * @param until How long to remember the key, in milliseconds since 1970.
   */
  add(key: string, until: number): boolean | Promise<boolean>
}

/** Keeps a limited number of values in memory. Rejects new ones rather than dropping old ones too early. */
export class MemoryReplays implements Replays {
  readonly #until = new Map<string, number>()
  readonly #max: number

  /** @param max The number of values to keep. */
  constructor(max = 500_000) {
    this.#max = max
  }

  add(key: string, until: number): boolean {
    const now = clock.now()
    const known = this.#until.get(key)
    if (known !== undefined && known > now) return false
    this.#until.delete(key)
    if (this.#until.size >= this.#max) this.#removeExpired(now)
    if (this.#until.size >= this.#max)
      throw new McpError('overloaded', 'Too many DPoP proofs at once. Try again later.')
    this.#until.set(key, until)
    return true
  }

  #removeExpired(now: number): void {
    for (const [key, until] of this.#until) if (until <= now) this.#until.delete(key)
  }
}

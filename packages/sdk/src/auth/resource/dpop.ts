import { calculateJwkThumbprint, EmbeddedJWK, type JWK, type JWTPayload, jwtVerify } from 'jose'
import { sha256 } from '../../util/base64url.ts'
import { clock } from '../../util/clock.ts'
import { checkAlgorithms } from './jwt-verifier.ts'
import { Nonces } from './nonces.ts'
import type { DpopCheck, TokenRequest } from './options.ts'
import { MemoryReplays, type Replays } from './replays.ts'

export interface DpopOptions {
  /** Refuse tokens that are bound to no key. Default false: those are taken as bearer tokens. */
  required?: boolean | undefined
  /** Signatures that are accepted. Default ES256, EdDSA, PS256 and RS256. */
  algorithms?: readonly string[] | undefined
  /** How old a proof may be, and how far ahead its clock. Default 60. */
  maxAgeSec?: number | undefined
  /**
   * Demand that proofs carry a value that we gave out lately, so that none can be made in advance. With `secret`, shared by
   * every process that serves the same, each takes the others' values. Default false.
   */
  nonce?: boolean | { secret: string } | undefined
  /** Where proofs that were used are remembered. Default: in this process. */
  replays?: Replays | undefined
}

/** Proofs of possession (RFC 9449). */
export function dpop(options: DpopOptions = {}): DpopCheck {
  const { required = false, maxAgeSec = 60, replays = new MemoryReplays(), nonce = false } = options
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
      if (typeof proof === 'string' || description) return { problem: bad(description ?? ''), ...next }
      const { nonce: given, jti } = proof.claims
      if (nonces && !(await nonces.accepts(given))) return { problem: wantsNonce, ...next }
      // Last, so that a proof which is refused for something else can be sent again.
      const until = (proof.claims.iat as number) + maxAgeSec + 1
      const isFirst = await replays.add(`${thumbprint} ${jti}`, until * 1000)
      return isFirst ? next : { problem: bad('The proof was used before'), ...next }
    },
  }
}

const wantsNonce = { error: 'use_dpop_nonce', description: 'The proof must carry the nonce given with this answer' }

function bad(description: string): { error: string; description: string } {
  return { error: 'invalid_dpop_proof', description }
}

interface Proof {
  readonly claims: JWTPayload
  readonly thumbprint: string
}

/** The proof with its own signature checked, or what is wrong with it (RFC 9449 4.3, checks 1 to 7). */
async function readProof(request: TokenRequest, algorithms: string[]): Promise<Proof | string> {
  const header = request.header('dpop')
  if (header === undefined) return 'The DPoP header is missing'
  // Several headers arrive joined by a comma, which no proof has.
  if (header.includes(',')) return 'There must be one DPoP header'
  try {
    const { payload, protectedHeader } = await jwtVerify(header, EmbeddedJWK, { typ: 'dpop+jwt', algorithms })
    const jwk = protectedHeader.jwk as JWK
    if (secretMembers.some((member) => member in jwk)) return 'The key in the proof must be a public one'
    return { claims: payload, thumbprint: await calculateJwkThumbprint(jwk) }
  } catch {
    return 'The proof cannot be read, or its signature does not fit'
  }
}

const secretMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k', 'priv']

interface Expected {
  readonly request: TokenRequest
  readonly token: string
  readonly thumbprint: string
  readonly maxAgeSec: number
}

/** What is wrong with what the proof says (RFC 9449 4.3, checks 8 to 12), or undefined. */
async function problemWith({ claims, thumbprint }: Proof, expected: Expected): Promise<string | undefined> {
  const { htm, htu, iat, jti, ath } = claims
  const { request, token, maxAgeSec } = expected
  if (typeof jti !== 'string' || jti === '' || jti.length > maxJti) return 'The proof has no usable jti'
  if (htm !== request.method) return 'The proof is for another method'
  if (!isSamePlace(htu, request.urls)) return 'The proof is for another URL'
  if (typeof iat !== 'number' || !(Math.abs(clock.now() / 1000 - iat) <= maxAgeSec)) {
    return 'The proof is too old, or from the future'
  }
  if (ath !== (await sha256(token))) return 'The proof is for another token'
  return thumbprint === expected.thumbprint ? undefined : 'The proof is by another key than the token is bound to'
}

/** Characters of an id that is to be remembered. */
const maxJti = 256

/** Without query and fragment, and however scheme, host and port are written. */
function isSamePlace(htu: unknown, urls: readonly string[]): boolean {
  if (typeof htu !== 'string' || !URL.canParse(htu)) return false
  const wanted = bare(htu)
  return urls.some((url) => bare(url) === wanted)
}

function bare(href: string): string {
  const { origin, pathname } = new URL(href)
  return origin + pathname
}

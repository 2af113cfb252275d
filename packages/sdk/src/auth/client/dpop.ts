import { DPoP, type DPoPHandle } from 'oauth4webapi'
import { createDpopProof } from './dpop-proof.ts'

type KeyPair = { publicKey: CryptoKey; privateKey: CryptoKey }
type CryptoKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>

/** A key that tokens are bound to, so that a stolen token cannot be used (RFC 9449). */
export class DpopKey {
  readonly #pair: KeyPair
  readonly #publicJwk: object
  /** Creates proofs for the authorization server, which has its own nonces. */
  readonly handle: DPoPHandle
  /** The nonce that the MCP server requires in the next proof. */
  nonce: string | undefined

  private constructor(pair: KeyPair, publicJwk: object) {
    this.#pair = pair
    this.#publicJwk = publicJwk
    this.handle = DPoP({}, pair as never)
  }

  /** @param saved The result of `save`. Default: a new key. */
  static async create(saved?: string): Promise<DpopKey> {
    const algorithm = { name: 'ECDSA', namedCurve: 'P-256' }
    const jwk = saved === undefined ? undefined : JSON.parse(saved)
    const pair = jwk
      ? {
          privateKey: await crypto.subtle.importKey('jwk', jwk, algorithm, true, ['sign']),
          publicKey: await crypto.subtle.importKey('jwk', publicPart(jwk), algorithm, true, ['verify']),
        }
      : ((await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])) as KeyPair)
    return new DpopKey(pair, publicPart(await crypto.subtle.exportKey('jwk', pair.publicKey)))
  }

  /** The private key as text. Keep it secret: tokens that are bound to it can be used with it. */
  async save(): Promise<string> {
    return JSON.stringify(await crypto.subtle.exportKey('jwk', this.#pair.privateKey))
  }

  /** Creates the proof for one request with this token. */
  async proof(method: string, url: URL, accessToken: string): Promise<string> {
    const key = { privateKey: this.#pair.privateKey as never, publicJwk: this.#publicJwk, algorithm: 'ES256' }
    return createDpopProof(key, { method, url, accessToken, nonce: this.nonce })
  }
}

function publicPart({ kty, crv, x, y }: { kty?: string; crv?: string; x?: string; y?: string }): object {
  return { kty, crv, x, y }
}

import { SignJWT } from 'jose'
import { DPoP, type DPoPHandle } from 'oauth4webapi'
import { sha256 } from '../../util/base64url.ts'

type KeyPair = { publicKey: CryptoKey; privateKey: CryptoKey }
type CryptoKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>

/** A key that tokens are bound to, so that they are of no use to whoever finds them (RFC 9449). */
export class DpopKey {
  readonly #pair: KeyPair
  readonly #publicJwk: object
  /** For the authorization server, which has nonces of its own. */
  readonly handle: DPoPHandle
  /** What the resource server wants to see in the next proof. */
  nonce: string | undefined

  private constructor(pair: KeyPair, publicJwk: object) {
    this.#pair = pair
    this.#publicJwk = publicJwk
    this.handle = DPoP({}, pair as never)
  }

  /** @param saved As `save` gave it; a new key without. */
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

  /** Secret: tokens that are bound to it can be used with it. */
  async save(): Promise<string> {
    return JSON.stringify(await crypto.subtle.exportKey('jwk', this.#pair.privateKey))
  }

  /** A fresh proof for one request with this token. */
  async proof(method: string, url: URL, accessToken: string): Promise<string> {
    const claims = {
      htm: method,
      htu: url.origin + url.pathname,
      ath: await sha256(accessToken),
      jti: crypto.randomUUID(),
      ...(this.nonce !== undefined && { nonce: this.nonce }),
    }
    return new SignJWT(claims)
      .setProtectedHeader({ alg: 'ES256', typ: 'dpop+jwt', jwk: this.#publicJwk })
      .setIssuedAt()
      .sign(this.#pair.privateKey as never)
  }
}

function publicPart({ kty, crv, x, y }: { kty?: string; crv?: string; x?: string; y?: string }): object {
  return { kty, crv, x, y }
}

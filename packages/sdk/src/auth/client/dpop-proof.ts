import { type CryptoKey, calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'
import { sha256 } from '../../util/base64url.ts'
import { clock } from '../../util/clock.ts'
import { random } from '../../util/random.ts'

/** A key pair that tokens can be bound to (RFC 9449). */
export interface DpopKeyPair {
  readonly privateKey: CryptoKey
  readonly publicKey: CryptoKey
  /** The public key as proofs contain it. */
  readonly publicJwk: JWK
  /** The thumbprint of the public key (RFC 7638), which bound tokens contain as `cnf.jkt`. */
  readonly thumbprint: string
  readonly algorithm: string
}

/** Options of `generateDpopKeyPair`. */
export interface DpopKeyPairOptions {
  /** An asymmetric algorithm. Default `ES256`. */
  algorithm?: string | undefined
  /** Whether the private key can be exported, for example to store it. Default false. */
  extractable?: boolean | undefined
}

/** Creates a key pair to bind tokens to, for requests of your own. `oauth({ dpop: true })` has its own. */
export async function generateDpopKeyPair({
  algorithm = 'ES256',
  extractable = false,
}: DpopKeyPairOptions = {}): Promise<DpopKeyPair> {
  const { privateKey, publicKey } = await generateKeyPair(algorithm, { extractable })
  const publicJwk = await exportJWK(publicKey)
  return { privateKey, publicKey, publicJwk, thumbprint: await calculateJwkThumbprint(publicJwk), algorithm }
}

/** The request that a proof is for. */
export interface DpopProofRequest {
  method: string
  /** Its query and fragment are not part of the proof. */
  url: string | URL
  /** The token that is sent with the proof. Default: none, as in requests to a token endpoint. */
  accessToken?: string | undefined
  /** The nonce that the server requires. Default: none. */
  nonce?: string | undefined
}

/**
 * Signs the proof that a request comes from the holder of a key (RFC 9449, 4.2). Each request needs a new one.
 *
 * @example
 * const key = await generateDpopKeyPair()
 * const DPoP = await createDpopProof(key, { method: 'GET', url, accessToken })
 * await fetch(url, { headers: { authorization: `DPoP ${accessToken}`, DPoP } })
 */
export async function createDpopProof(
  { privateKey, publicJwk, algorithm }: Pick<DpopKeyPair, 'privateKey' | 'publicJwk' | 'algorithm'>,
  { method, url, accessToken, nonce }: DpopProofRequest,
): Promise<string> {
  const { origin, pathname } = new URL(url)
  const claims = {
    htm: method.toUpperCase(),
    htu: origin + pathname,
    jti: random.uuid(),
    ...(accessToken !== undefined && { ath: await sha256(accessToken) }),
    ...(nonce !== undefined && { nonce }),
  }
  return new SignJWT(claims)
    .setProtectedHeader({ alg: algorithm, typ: 'dpop+jwt', jwk: publicJwk })
    .setIssuedAt(Math.floor(clock.now() / 1_000))
    .sign(privateKey)
}

import type { createDpopProof, DpopKeyPair as TenonKeyPair } from 'tenon/auth/client'

export { isDpopNonceChallenge } from './oauth/challenge.ts'

/** The algorithms that proofs can be signed with (RFC 9449, 4.2). */
export const DPOP_SUPPORTED_ALGS = [
  'ES256',
  'ES384',
  'ES512',
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'EdDSA',
] as const
export type DpopAlg = (typeof DPOP_SUPPORTED_ALGS)[number]

/** A key pair that tokens are bound to. */
export interface DpopKeyPair extends Omit<TenonKeyPair, 'algorithm'> {
  alg: DpopAlg
}

/** Options of `generateDpopKeyPair`. */
export interface GenerateDpopKeyPairOptions {
  /** Default `ES256`. */
  alg?: DpopAlg
  /** Whether the private key can be exported. Default false. */
  extractable?: boolean
}

/** Creates a key pair to bind tokens to (RFC 9449). */
export async function generateDpopKeyPair(options: GenerateDpopKeyPairOptions = {}): Promise<DpopKeyPair> {
  const { alg = 'ES256', extractable } = options
  const { generateDpopKeyPair: generate } = await loadAuth()
  const { algorithm, ...pair } = await generate({ algorithm: alg, extractable })
  return { ...pair, alg: algorithm as DpopAlg }
}

/** The hash of an access token, as proofs contain it (RFC 9449, 4.2). */
export async function accessTokenHash(accessToken: string): Promise<string> {
  checkCrypto()
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(accessToken))
  return btoa(String.fromCharCode(...new Uint8Array(digest)))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
}

/** The request that a proof is for. */
export interface DpopProofRequest {
  /** The method. */
  htm: string
  /** The URL. Its query and fragment are not part of the proof. */
  htu: string | URL
  /** The token that is sent with the proof. */
  accessToken?: string
  /** Default: the last nonce of this origin. */
  nonce?: string
}

/** A key, and the nonces of the servers that it is used with. Use one session for one client registration. */
export class DpopSession {
  private readonly _tenonKeyPair: DpopKeyPair
  private readonly _tenonNonces = new Map<string, string>()

  private constructor(keyPair: DpopKeyPair) {
    this._tenonKeyPair = keyPair
  }

  /** Creates a session with this key pair, or a new one. */
  static async create(options: { alg?: DpopAlg; keyPair?: DpopKeyPair } = {}): Promise<DpopSession> {
    return new DpopSession(options.keyPair ?? (await generateDpopKeyPair({ alg: options.alg })))
  }

  /** The thumbprint of the public key, which bound tokens contain as `cnf.jkt`. */
  get thumbprint(): string {
    return this._tenonKeyPair.thumbprint
  }

  get alg(): DpopAlg {
    return this._tenonKeyPair.alg
  }

  get publicJwk(): DpopKeyPair['publicJwk'] {
    return this._tenonKeyPair.publicJwk
  }

  /** The last nonce of the origin of a URL. */
  nonceFor(url: string | URL): string | undefined {
    return this._tenonNonces.get(new URL(url).origin)
  }

  /** Stores the nonce for the next proof for this origin. */
  rememberNonce(url: string | URL, nonce: string): void {
    this._tenonNonces.set(new URL(url).origin, nonce)
  }

  /** Stores the nonce of a response, if it has one. Call it after every request. */
  observeNonce(response: Response, url: string | URL): void {
    const nonce = response.headers.get('dpop-nonce')
    if (nonce) this.rememberNonce(url, nonce)
  }

  /** Signs the proof for one request. */
  async buildProof({ htm, htu, accessToken, nonce }: DpopProofRequest): Promise<string> {
    const { createDpopProof: sign } = await loadAuth()
    const { alg: algorithm, privateKey, publicJwk } = this._tenonKeyPair
    const request: Parameters<typeof createDpopProof>[1] = {
      method: htm,
      url: htu,
      accessToken,
      nonce: nonce ?? this.nonceFor(htu),
    }
    return sign({ algorithm, privateKey, publicJwk }, request)
  }
}

/** Loaded when used: most programs sign nothing. */
function loadAuth() {
  checkCrypto()
  return import('tenon/auth/client')
}

function checkCrypto(): void {
  if (globalThis.crypto?.subtle !== undefined) return
  throw new TypeError('crypto is not available, please ensure you have Web Crypto API support')
}

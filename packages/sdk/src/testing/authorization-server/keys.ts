import {
  type CryptoKey,
  calculateJwkThumbprint,
  createLocalJWKSet,
  exportJWK,
  generateKeyPair,
  type JSONWebKeySet,
  type JWTHeaderParameters,
  type JWTPayload,
  type JWTVerifyOptions,
  jwtVerify,
  SignJWT,
} from 'jose'

/** The algorithms accepted for assertions and proofs: asymmetric only. */
export const signingAlgorithms: string[] = ['ES256', 'ES384', 'RS256', 'PS256', 'EdDSA', 'Ed25519']

/** The signing keys of this server. The newest one signs, all are published. */
export class Keys {
  readonly #algorithm: string
  #published: JSONWebKeySet = { keys: [] }
  #signing!: { key: CryptoKey; kid: string }

  private constructor(algorithm: string) {
    this.#algorithm = algorithm
  }

  static async create(algorithm: string): Promise<Keys> {
    const keys = new Keys(algorithm)
    await keys.rotate()
    return keys
  }

  get jwks(): JSONWebKeySet {
    return this.#published
  }

  get algorithm(): string {
    return this.#algorithm
  }

  async rotate(): Promise<void> {
    const { privateKey, publicKey } = await generateKeyPair(this.#algorithm)
    const jwk = await exportJWK(publicKey)
    const kid = await calculateJwkThumbprint(jwk)
    this.#published = { keys: [{ ...jwk, kid, alg: this.#algorithm, use: 'sig' }, ...this.#published.keys] }
    this.#signing = { key: privateKey, kid }
  }

  sign(claims: JWTPayload, header: Partial<JWTHeaderParameters> = {}): Promise<string> {
    const { key, kid } = this.#signing
    return new SignJWT(claims).setProtectedHeader({ alg: this.#algorithm, kid, ...header }).sign(key)
  }

  /** Returns the claims of a token that this server signed. Throws if it is not valid or `options` are not met. */
  async verify(token: string, options: JWTVerifyOptions): Promise<JWTPayload> {
    const { payload } = await jwtVerify(token, createLocalJWKSet(this.#published), {
      algorithms: [this.#algorithm],
      ...options,
    })
    return payload
  }
}

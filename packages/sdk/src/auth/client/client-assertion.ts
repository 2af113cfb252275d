import { type CryptoKey, importJWK, importPKCS8, type JWK, SignJWT } from 'jose'
import { clock } from '../../util/clock.ts'
import { random } from '../../util/random.ts'

/** Options of `createClientAssertion`. */
export interface ClientAssertionOptions {
  /** The `iss` claim: the client id. */
  issuer: string
  /** The `sub` claim. Default: the issuer, as authorization servers require of clients. */
  subject?: string | undefined
  /** The `aud` claim: the issuer URL of the authorization server, or its token endpoint. */
  audience: string
  /** PKCS #8 in PEM, a JWK, or the secret of an HMAC algorithm. */
  privateKey: string | Uint8Array | Record<string, unknown>
  /** The algorithm of the key, such as `ES256`. */
  algorithm: string
  /** Default 300. */
  lifetimeSeconds?: number | undefined
  /** Further claims. They cannot replace the registered ones above. Default: none. */
  claims?: Readonly<Record<string, unknown>> | undefined
}

/**
 * Signs the assertion with which a client authenticates itself at a token endpoint (`private_key_jwt`, RFC 7523). `oauth` and
 * `clientCredentials` do this when you pass them a `privateKey`: use it for token requests of your own.
 *
 * @example
 * const assertion = await createClientAssertion({
 *   issuer: 'nightly-report',
 *   audience: 'https://auth.example.com',
 *   privateKey: await readFile('client.pem', 'utf8'),
 *   algorithm: 'ES256',
 * })
 */
export async function createClientAssertion(options: ClientAssertionOptions): Promise<string> {
  const { issuer, subject = issuer, audience, algorithm, lifetimeSeconds = 300, claims } = options
  const key = await importKey(options.privateKey, algorithm)
  const now = Math.floor(clock.now() / 1_000)
  return new SignJWT({ ...claims })
    .setProtectedHeader({ alg: algorithm, typ: 'JWT' })
    .setIssuer(issuer)
    .setSubject(subject)
    .setAudience(audience)
    .setIssuedAt(now)
    .setExpirationTime(now + lifetimeSeconds)
    .setJti(random.uuid())
    .sign(key)
}

async function importKey(
  key: ClientAssertionOptions['privateKey'],
  algorithm: string,
): Promise<CryptoKey | Uint8Array> {
  if (typeof key !== 'string' && !(key instanceof Uint8Array)) return importJWK(key as JWK, algorithm)
  if (algorithm.startsWith('HS')) return typeof key === 'string' ? new TextEncoder().encode(key) : key
  if (!/^(RS|PS|ES|Ed)/.test(algorithm)) throw new TypeError(`Unsupported algorithm ${algorithm}`)
  return importPKCS8(typeof key === 'string' ? key : new TextDecoder().decode(key), algorithm)
}

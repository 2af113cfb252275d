import type { AddClientAuthentication } from './provider.ts'

/** Options of `createPrivateKeyJwtAuth`. */
export interface PrivateKeyJwtOptions {
  /** The `iss` claim: the client id. */
  issuer: string
  /** The `sub` claim: the client id. */
  subject: string
  /** PKCS #8 in PEM, a JWK, or the secret of an HMAC algorithm. */
  privateKey: string | Uint8Array | Record<string, unknown>
  /** The algorithm of the key, such as `ES256`. */
  alg: string
  /** Default: the issuer of the authorization server, else its token endpoint. */
  audience?: string | URL
  /** Default 300. */
  lifetimeSeconds?: number
  /** Further claims. */
  claims?: Record<string, unknown>
}

/** Authenticates a client with a new assertion for every request (RFC 7523, 2.2). */
export function signedAssertion(options: PrivateKeyJwtOptions, withoutCrypto: string): AddClientAuthentication {
  const { issuer, subject, privateKey, alg: algorithm, lifetimeSeconds, claims } = options
  return async (_headers, params, url, metadata) => {
    if (typeof globalThis.crypto === 'undefined') throw new TypeError(withoutCrypto)
    const audience = String(options.audience ?? metadata?.issuer ?? url)
    // Loaded when used: most programs sign nothing.
    const { createClientAssertion } = await import('tenon/auth/client')
    const assertion = { issuer, subject, audience, privateKey, algorithm, lifetimeSeconds, claims }
    setAssertion(params, await createClientAssertion(assertion))
  }
}

/** Authenticates a client with an assertion that was signed elsewhere. */
export function fixedAssertion(assertion: string): AddClientAuthentication {
  return (_headers, params) => setAssertion(params, assertion)
}

function setAssertion(params: URLSearchParams, assertion: string): void {
  params.set('client_assertion', assertion)
  params.set('client_assertion_type', 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer')
}

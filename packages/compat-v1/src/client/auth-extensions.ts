import type { OAuthClientInformation, OAuthClientMetadata, OAuthTokens } from '../shared/auth.ts'
import type { AddClientAuthentication, OAuthClientProvider } from './oauth/provider.ts'

const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

/**
 * Authenticates a client with signed assertions (`private_key_jwt`, RFC 7523). Use the result as `addClientAuthentication` of a
 * provider.
 *
 * @param options.privateKey PKCS #8 in PEM, a JWK, or the secret of an HMAC algorithm.
 * @param options.audience Default: the issuer of the authorization server, else its token endpoint.
 * @param options.lifetimeSeconds Default 300.
 * @param options.claims Further claims.
 */
export function createPrivateKeyJwtAuth(options: {
  issuer: string
  subject: string
  privateKey: string | Uint8Array | Record<string, unknown>
  alg: string
  audience?: string | URL
  lifetimeSeconds?: number
  claims?: Record<string, unknown>
}): AddClientAuthentication {
  const { issuer, subject, privateKey, alg: algorithm, lifetimeSeconds, claims } = options
  return async (_headers, params, url, metadata) => {
    if (typeof globalThis.crypto === 'undefined') {
      // The text begins as in the official SDK, because programs show it.
      throw new TypeError(
        'crypto is not available, please ensure you add have Web Crypto API support for older Node.js versions (globalThis.crypto)',
      )
    }
    const audience = String(options.audience ?? metadata?.issuer ?? url)
    // Loaded when used: most programs sign nothing.
    const { createClientAssertion } = await import('tenon/auth/client')
    const assertion = { issuer, subject, audience, privateKey, algorithm, lifetimeSeconds, claims }
    params.set('client_assertion', await createClientAssertion(assertion))
    params.set('client_assertion_type', assertionType)
  }
}

/** What the providers of this file have in common: the `client_credentials` grant, with everything in memory. */
abstract class ClientCredentialsGrant implements OAuthClientProvider {
  #client: OAuthClientInformation
  #tokens: OAuthTokens | undefined
  readonly #metadata: OAuthClientMetadata

  constructor(client: OAuthClientInformation, metadata: Omit<OAuthClientMetadata, 'redirect_uris' | 'grant_types'>) {
    this.#client = client
    this.#metadata = { redirect_uris: [], grant_types: ['client_credentials'], ...metadata }
  }

  get redirectUrl(): undefined {
    return undefined
  }

  get clientMetadata(): OAuthClientMetadata {
    return this.#metadata
  }

  clientInformation(): OAuthClientInformation {
    return this.#client
  }

  saveClientInformation(info: OAuthClientInformation): void {
    this.#client = info
  }

  tokens(): OAuthTokens | undefined {
    return this.#tokens
  }

  saveTokens(tokens: OAuthTokens): void {
    this.#tokens = tokens
  }

  redirectToAuthorization(): void {
    throw new Error('redirectToAuthorization is not used for client_credentials flow')
  }

  saveCodeVerifier(): void {}

  codeVerifier(): string {
    throw new Error('codeVerifier is not used for client_credentials flow')
  }

  prepareTokenRequest(scope?: string): URLSearchParams {
    return new URLSearchParams({ grant_type: 'client_credentials', ...(scope && { scope }) })
  }
}

interface ProviderOptions {
  /** The id of the client. */
  clientId: string
  /** The name of the client in its metadata. */
  clientName?: string
  /** The scopes to request, separated by spaces. */
  scope?: string
  /**
   * The issuer that the client is registered with. `auth` then throws if the MCP server names another authorization server.
   * Without it, the MCP server decides who gets the credentials, which is deprecated.
   */
  expectedIssuer?: string
}

/** Options of `ClientCredentialsProvider`. */
export interface ClientCredentialsProviderOptions extends ProviderOptions {
  /** The secret of the client. */
  clientSecret: string
}

/**
 * Authorizes a machine with a client id and secret.
 *
 * @example
 * const authProvider = new ClientCredentialsProvider({
 *   clientId: 'nightly-report',
 *   clientSecret: process.env.CLIENT_SECRET,
 *   expectedIssuer: 'https://auth.example.com',
 * })
 */
export class ClientCredentialsProvider extends ClientCredentialsGrant {
  constructor(options: ClientCredentialsProviderOptions & { expectedIssuer: string })
  /** @deprecated Pass `expectedIssuer`, so that no other authorization server gets the secret. */
  constructor(options: ClientCredentialsProviderOptions)
  constructor({ clientId, clientSecret, clientName, scope, expectedIssuer }: ClientCredentialsProviderOptions) {
    super(
      { client_id: clientId, client_secret: clientSecret, issuer: checkIssuer(expectedIssuer) },
      {
        client_name: clientName ?? 'client-credentials-client',
        token_endpoint_auth_method: 'client_secret_basic',
        scope,
      },
    )
  }
}

/** Options of `PrivateKeyJwtProvider`. */
export interface PrivateKeyJwtProviderOptions extends ProviderOptions {
  /** PKCS #8 in PEM, a JWK, or the secret of an HMAC algorithm. */
  privateKey: string | Uint8Array | Record<string, unknown>
  /** The algorithm of the key, such as `ES256`. */
  algorithm: string
  /** How long an assertion is valid. Default 300. */
  jwtLifetimeSeconds?: number
}

/**
 * Authorizes a machine with a private key: every token request has a newly signed assertion (RFC 7523, 2.2).
 *
 * @example
 * const authProvider = new PrivateKeyJwtProvider({
 *   clientId: 'nightly-report',
 *   privateKey: pem,
 *   algorithm: 'ES256',
 *   expectedIssuer: 'https://auth.example.com',
 * })
 */
export class PrivateKeyJwtProvider extends ClientCredentialsGrant {
  addClientAuthentication: AddClientAuthentication

  constructor(options: PrivateKeyJwtProviderOptions & { expectedIssuer: string })
  /** @deprecated Pass `expectedIssuer`, so that no other authorization server gets an assertion. */
  constructor(options: PrivateKeyJwtProviderOptions)
  constructor(options: PrivateKeyJwtProviderOptions) {
    const { clientId, clientName, scope, privateKey, algorithm, jwtLifetimeSeconds, expectedIssuer } = options
    super(
      { client_id: clientId, issuer: checkIssuer(expectedIssuer) },
      { client_name: clientName ?? 'private-key-jwt-client', token_endpoint_auth_method: 'private_key_jwt', scope },
    )
    this.addClientAuthentication = createPrivateKeyJwtAuth({
      issuer: clientId,
      subject: clientId,
      privateKey,
      alg: algorithm,
      lifetimeSeconds: jwtLifetimeSeconds,
    })
  }
}

/** Options of `StaticPrivateKeyJwtProvider`. */
export interface StaticPrivateKeyJwtProviderOptions extends ProviderOptions {
  /** A signed assertion, with the claims that the authorization server requires. */
  jwtBearerAssertion: string
}

/** Authorizes a machine with an assertion that was signed elsewhere. */
export class StaticPrivateKeyJwtProvider extends ClientCredentialsGrant {
  addClientAuthentication: AddClientAuthentication

  constructor(options: StaticPrivateKeyJwtProviderOptions & { expectedIssuer: string })
  /** @deprecated Pass `expectedIssuer`, so that no other authorization server gets the assertion. */
  constructor(options: StaticPrivateKeyJwtProviderOptions)
  constructor({ clientId, clientName, scope, jwtBearerAssertion, expectedIssuer }: StaticPrivateKeyJwtProviderOptions) {
    super(
      { client_id: clientId, issuer: checkIssuer(expectedIssuer) },
      {
        client_name: clientName ?? 'static-private-key-jwt-client',
        token_endpoint_auth_method: 'private_key_jwt',
        scope,
      },
    )
    this.addClientAuthentication = (_headers, params) => {
      params.set('client_assertion', jwtBearerAssertion)
      params.set('client_assertion_type', assertionType)
    }
  }
}

/** Warns if the authorization server of fixed credentials is not known. */
function checkIssuer(expectedIssuer: string | undefined): string | undefined {
  if (expectedIssuer === undefined) {
    console.warn(
      'Pass `expectedIssuer`, the issuer URL of your authorization server. ' +
        'Without it, the MCP server decides which authorization server gets the credentials of this client.',
    )
  } else if (typeof expectedIssuer !== 'string' || expectedIssuer === '') {
    throw new Error("expectedIssuer must be the authorization server's issuer URL")
  }
  return expectedIssuer
}

import type { OAuthClientInformation } from '../shared/auth.ts'
import { fixedAssertion, type PrivateKeyJwtOptions, signedAssertion } from './oauth/client-assertion.ts'
import { checkIssuer, clientCredentialsRequest, UnattendedProvider } from './oauth/client-credentials-grant.ts'
import type { AddClientAuthentication, OAuthClientProvider } from './oauth/provider.ts'

/**
 * Authenticates a client with signed assertions (`private_key_jwt`, RFC 7523). Use the result as `addClientAuthentication` of a
 * provider.
 */
export function createPrivateKeyJwtAuth(options: PrivateKeyJwtOptions): AddClientAuthentication {
  // The text of the official SDK, because programs compare it.
  return signedAssertion(
    options,
    'crypto is not available, please ensure you add have Web Crypto API support for older Node.js versions',
  )
}

/** The `client_credentials` grant. */
abstract class ClientCredentialsGrant extends UnattendedProvider implements OAuthClientProvider {
  private _tenonSaved: OAuthClientInformation | undefined

  override clientInformation(): OAuthClientInformation {
    return this._tenonSaved ?? super.clientInformation()
  }

  saveClientInformation(info: OAuthClientInformation): void {
    this._tenonSaved = info
  }

  prepareTokenRequest(scope?: string): URLSearchParams {
    return clientCredentialsRequest(scope)
  }
}

const grant_types = ['client_credentials']

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
        grant_types,
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
      {
        client_name: clientName ?? 'private-key-jwt-client',
        grant_types,
        token_endpoint_auth_method: 'private_key_jwt',
        scope,
      },
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
        grant_types,
        token_endpoint_auth_method: 'private_key_jwt',
        scope,
      },
    )
    this.addClientAuthentication = fixedAssertion(jwtBearerAssertion)
  }
}

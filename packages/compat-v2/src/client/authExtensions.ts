import {
  fixedAssertion,
  type PrivateKeyJwtOptions,
  signedAssertion,
} from '@tenon/compat-v1/client/oauth/client-assertion.js'
import {
  checkIssuer,
  clientCredentialsRequest,
  UnattendedProvider,
} from '@tenon/compat-v1/client/oauth/client-credentials-grant.js'
import type { FetchLike } from '@tenon/compat-v1/shared/transport.js'
import type { AddClientAuthentication, OAuthClientProvider } from './oauth/provider.ts'

/**
 * Authenticates a client with signed assertions (`private_key_jwt`, RFC 7523). Use the result as `addClientAuthentication` of a
 * provider.
 */
export function createPrivateKeyJwtAuth(options: PrivateKeyJwtOptions): AddClientAuthentication {
  // The text of the official SDK, because programs compare it.
  return signedAssertion(
    options,
    'crypto is not available, please ensure you have Web Crypto API support for older Node.js versions',
  )
}

const grant_types = ['client_credentials']

interface ProviderOptions {
  /** The id of the client. */
  clientId: string
  /** The name of the client in its metadata. */
  clientName?: string
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
  /** The scopes to request, separated by spaces. */
  scope?: string
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
export class ClientCredentialsProvider extends UnattendedProvider implements OAuthClientProvider {
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

  prepareTokenRequest(scope?: string): URLSearchParams {
    return clientCredentialsRequest(scope)
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
  /** The scopes to request, separated by spaces. */
  scope?: string
  /** Further claims of the assertions. */
  claims?: Record<string, unknown>
}

/** Authorizes a machine with a private key: every token request has a newly signed assertion (RFC 7523, 2.2). */
export class PrivateKeyJwtProvider extends UnattendedProvider implements OAuthClientProvider {
  addClientAuthentication: AddClientAuthentication

  constructor(options: PrivateKeyJwtProviderOptions) {
    const { clientId, clientName, scope, privateKey, algorithm, jwtLifetimeSeconds, expectedIssuer, claims } = options
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
      claims,
    })
  }

  prepareTokenRequest(scope?: string): URLSearchParams {
    return clientCredentialsRequest(scope)
  }
}

/** Options of `StaticPrivateKeyJwtProvider`. */
export interface StaticPrivateKeyJwtProviderOptions extends ProviderOptions {
  /** A signed assertion, with the claims that the authorization server requires. */
  jwtBearerAssertion: string
  /** The scopes to request, separated by spaces. */
  scope?: string
}

/** Authorizes a machine with an assertion that was signed elsewhere. */
export class StaticPrivateKeyJwtProvider extends UnattendedProvider implements OAuthClientProvider {
  addClientAuthentication: AddClientAuthentication

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

  prepareTokenRequest(scope?: string): URLSearchParams {
    return clientCredentialsRequest(scope)
  }
}

/** What an ID-JAG is requested for. */
export interface CrossAppAccessContext {
  /** The audience: the issuer of the MCP server's authorization server. */
  authorizationServerUrl: string
  /** The MCP server. */
  resourceUrl: string
  scope?: string
  fetchFn: FetchLike
}

/** Returns an ID-JAG, for example with `discoverAndRequestJwtAuthGrant`. */
export type AssertionCallback = (context: CrossAppAccessContext) => string | Promise<string>

/** Options of `CrossAppAccessProvider`. */
export interface CrossAppAccessProviderOptions extends ProviderOptions {
  /** Gets an ID-JAG from the identity provider. Called for every token. */
  assertion: AssertionCallback
  /** The secret of the client at the MCP server's authorization server. */
  clientSecret: string
  /** Passed to `assertion`. Default: the global `fetch`. */
  fetchFn?: FetchLike
}

const jwtBearer = 'urn:ietf:params:oauth:grant-type:jwt-bearer'

/**
 * Authorizes a user who is signed in at the identity provider of their enterprise (ID-JAG).
 *
 * @example
 * const authProvider = new CrossAppAccessProvider({
 *   clientId: 'app',
 *   clientSecret: process.env.CLIENT_SECRET,
 *   expectedIssuer: 'https://auth.example.com',
 *   assertion: async ({ authorizationServerUrl: audience, resourceUrl: resource, scope, fetchFn }) => {
 *     const request = { idpUrl, audience, resource, scope, fetchFn, idToken, clientId: 'app-at-the-idp' }
 *     return (await discoverAndRequestJwtAuthGrant(request)).jwtAuthGrant
 *   },
 * })
 */
export class CrossAppAccessProvider extends UnattendedProvider implements OAuthClientProvider {
  private readonly _tenonAssertion: AssertionCallback
  private readonly _fetchFn: FetchLike
  private _authorizationServerUrl: string | undefined
  private _resourceUrl: string | undefined

  constructor({
    assertion,
    clientId,
    clientSecret,
    clientName,
    fetchFn,
    expectedIssuer,
  }: CrossAppAccessProviderOptions) {
    super(
      { client_id: clientId, client_secret: clientSecret, issuer: checkIssuer(expectedIssuer) },
      {
        client_name: clientName ?? 'cross-app-access-client',
        grant_types: [jwtBearer],
        token_endpoint_auth_method: 'client_secret_basic',
      },
      'jwt-bearer',
    )
    this._tenonAssertion = assertion
    this._fetchFn = fetchFn ?? fetch
  }

  saveAuthorizationServerUrl(authorizationServerUrl: string): void {
    this._authorizationServerUrl = authorizationServerUrl
  }

  authorizationServerUrl(): string | undefined {
    return this._authorizationServerUrl
  }

  saveResourceUrl(resourceUrl: string): void {
    this._resourceUrl = resourceUrl
  }

  resourceUrl(): string | undefined {
    return this._resourceUrl
  }

  async prepareTokenRequest(scope?: string): Promise<URLSearchParams> {
    const authorizationServerUrl = this._authorizationServerUrl
    const resourceUrl = this._resourceUrl
    if (!authorizationServerUrl) {
      throw new Error('Authorization server URL not available. Ensure auth() has been called first.')
    }
    if (!resourceUrl) {
      throw new Error(
        'Resource URL not available — server may not implement RFC 9728 Protected Resource Metadata (required for Cross-App Access), or auth() has not been called',
      )
    }
    const context = { authorizationServerUrl, resourceUrl, scope, fetchFn: this._fetchFn }
    const assertion = await this._tenonAssertion(context)
    return new URLSearchParams({ grant_type: jwtBearer, assertion, ...(scope && { scope }) })
  }
}

import type {
  AuthorizationServerMetadata,
  OAuthClientInformationMixed,
  OAuthClientMetadata,
  OAuthProtectedResourceMetadata,
  OAuthTokens,
} from '../../shared/auth.ts'

/**
 * Authenticates the client in a token request, by changing its headers or form parameters.
 *
 * @param url The token endpoint.
 */
export type AddClientAuthentication = (
  headers: Headers,
  params: URLSearchParams,
  url: string | URL,
  metadata?: AuthorizationServerMetadata,
) => void | Promise<void>

/**
 * The application's side of OAuth for one MCP server: it stores the client registration, the tokens and the PKCE verifier of one
 * user, and sends the user to the authorization server.
 */
export interface OAuthClientProvider {
  /** Where the user comes back to. Undefined for grants without a user, such as `client_credentials`. */
  get redirectUrl(): string | URL | undefined
  /** The https: URL of the client ID metadata document, used as client id where the authorization server supports it. */
  clientMetadataUrl?: string
  /** Describes the client when it is registered. */
  get clientMetadata(): OAuthClientMetadata
  /** Returns the `state` of an authorization request. */
  state?(): string | Promise<string>
  /**
   * Returns the registered client, or undefined if there is none. Include `issuer`, the authorization server that it is
   * registered with; then no other one gets to see it.
   */
  clientInformation(): OAuthClientInformationMixed | undefined | Promise<OAuthClientInformationMixed | undefined>
  /** Stores a registered client unchanged, with its `issuer`. Without this method, clients are not registered dynamically. */
  saveClientInformation?(clientInformation: OAuthClientInformationMixed): void | Promise<void>
  /** Returns the stored tokens, or undefined if there are none. */
  tokens(): OAuthTokens | undefined | Promise<OAuthTokens | undefined>
  /** Stores tokens unchanged, with the `issuer` that issued them. */
  saveTokens(tokens: OAuthTokens): void | Promise<void>
  /** Sends the user to the authorization server. */
  redirectToAuthorization(authorizationUrl: URL): void | Promise<void>
  /** Stores the PKCE code verifier until the user comes back. */
  saveCodeVerifier(codeVerifier: string): void | Promise<void>
  /** Returns the PKCE code verifier that was stored before the user left. */
  codeVerifier(): string | Promise<string>
  /** Authenticates the client in token requests, instead of its secret. */
  addClientAuthentication?: AddClientAuthentication
  /** Chooses the resource indicator (RFC 8707) instead of the default rule. It must belong to the MCP server. */
  validateResourceURL?(serverUrl: string | URL, resource?: string): Promise<URL | undefined>
  /** Deletes credentials that the authorization server rejected. */
  invalidateCredentials?(scope: 'all' | 'client' | 'tokens' | 'verifier' | 'discovery'): void | Promise<void>
  /** Returns the parameters of a token request, for grants other than `authorization_code`. Undefined for that one. */
  prepareTokenRequest?(scope?: string): URLSearchParams | Promise<URLSearchParams | undefined> | undefined
  /** Stores the result of discovery, so that the next call of `auth` need not repeat it. */
  saveDiscoveryState?(state: OAuthDiscoveryState): void | Promise<void>
  /** Returns the stored result of discovery. Delete it in `invalidateCredentials` for `'discovery'` and `'all'`. */
  discoveryState?(): OAuthDiscoveryState | undefined | Promise<OAuthDiscoveryState | undefined>
}

/** The authorization server of an MCP server, and the metadata that was found. */
export interface OAuthServerInfo {
  /** As named in the resource metadata, else the origin of the MCP server. */
  authorizationServerUrl: string
  /** Undefined if the authorization server publishes none. */
  authorizationServerMetadata?: AuthorizationServerMetadata
  /** Undefined if the MCP server publishes none (RFC 9728). */
  resourceMetadata?: OAuthProtectedResourceMetadata
}

/** The result of discovery, as a provider stores it. */
export interface OAuthDiscoveryState extends OAuthServerInfo {
  /** Where the resource metadata was found, if the server named its URL. */
  resourceMetadataUrl?: string
}

/** `AUTHORIZED`: tokens are stored. `REDIRECT`: the user was sent to the authorization server. */
export type AuthResult = 'AUTHORIZED' | 'REDIRECT'

/** The authorization server that credentials are from or for. */
export interface ProviderContext {
  issuer: string
}

/** A response of the token endpoint, and the authorization server that issued it. */
export interface ProviderTokens {
  access_token: string
  token_type: string
  id_token?: string | undefined
  expires_in?: number | undefined
  scope?: string | undefined
  refresh_token?: string | undefined
  /** The authorization server that issued them. Another one never gets the refresh token. */
  issuer?: string | undefined
}

/** A client as registered at an authorization server (RFC 7591). */
export interface ProviderClientInformation {
  client_id: string
  client_secret?: string | undefined
  client_id_issued_at?: number | undefined
  client_secret_expires_at?: number | undefined
  token_endpoint_auth_method?: string | undefined
  /** The authorization server that knows the client. Another one never gets its secret. */
  issuer?: string | undefined
}

/** The metadata to register the client with. Members that are not listed here are sent, too. */
export interface ProviderClientMetadata {
  redirect_uris: string[]
  client_name?: string | undefined
  scope?: string | undefined
  grant_types?: string[] | undefined
  response_types?: string[] | undefined
  token_endpoint_auth_method?: string | undefined
}

/** The result of discovery, to be stored while the user logs in. */
export interface ProviderDiscovery {
  authorizationServerUrl: string
  authorizationServerMetadata?: object | undefined
  resourceMetadata?: { resource: string } | undefined
}

/**
 * The interface with which applications of other MCP SDKs store the credentials of one user for one server, and redirect that
 * user. `withProvider` turns it into a value for `auth`.
 */
export interface OAuthClientProvider {
  /** The URL that the user comes back to. Undefined if there is no user; then `prepareTokenRequest` prepares a grant. */
  readonly redirectUrl: string | URL | undefined
  readonly clientMetadata: ProviderClientMetadata
  /** The URL of a Client ID Metadata Document. */
  clientMetadataUrl?: string | undefined
  /** The `state` of the authorization request. Default: random. */
  state?(): string | Promise<string>
  clientInformation(
    context?: ProviderContext,
  ): ProviderClientInformation | undefined | Promise<ProviderClientInformation | undefined>
  /** Without it, the client is never registered, and `clientInformation` must return one. */
  saveClientInformation?(information: ProviderClientInformation, context?: ProviderContext): void | Promise<void>
  tokens(context?: ProviderContext): ProviderTokens | undefined | Promise<ProviderTokens | undefined>
  saveTokens(tokens: ProviderTokens, context?: ProviderContext): void | Promise<void>
  redirectToAuthorization(page: URL): void | Promise<void>
  saveCodeVerifier(codeVerifier: string): void | Promise<void>
  codeVerifier(): string | Promise<string>
  /** Authenticates the client at the token endpoint, instead of the registered method. */
  addClientAuthentication?(
    headers: Headers,
    params: URLSearchParams,
    url: string | URL,
    metadata?: object,
  ): void | Promise<void>
  /** Chooses the resource that tokens are requested for (RFC 8707). Default: that of the server's metadata. */
  validateResourceURL?(server: string | URL, resource?: string): Promise<URL | undefined>
  /** Deletes credentials that the server rejected. */
  invalidateCredentials?(what: 'all' | 'client' | 'tokens' | 'verifier' | 'discovery'): void | Promise<void>
  /** The parameters of a token request without a user, including `grant_type`. Default: client credentials. */
  prepareTokenRequest?(scope?: string): URLSearchParams | undefined | Promise<URLSearchParams | undefined>
  /** With this and `discoveryState`, the user may come back to another process than the one that redirected them. */
  saveDiscoveryState?(state: ProviderDiscovery): void | Promise<void>
  discoveryState?(): ProviderDiscovery | undefined | Promise<ProviderDiscovery | undefined>
  saveAuthorizationServerUrl?(issuer: string): void | Promise<void>
  saveResourceUrl?(resource: string): void | Promise<void>
}

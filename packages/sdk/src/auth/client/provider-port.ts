/** What a provider may be told about where credentials are from or for. */
export interface ProviderContext {
  issuer: string
}

/** Tokens as the token endpoint gives them, and who gave them. */
export interface ProviderTokens {
  access_token: string
  token_type: string
  id_token?: string | undefined
  expires_in?: number | undefined
  scope?: string | undefined
  refresh_token?: string | undefined
  /** The authorization server that gave them; another one never gets the refresh token. */
  issuer?: string | undefined
}

/** A client as an authorization server registered it (RFC 7591), and who did. */
export interface ProviderClientInformation {
  client_id: string
  client_secret?: string | undefined
  client_id_issued_at?: number | undefined
  client_secret_expires_at?: number | undefined
  token_endpoint_auth_method?: string | undefined
  /** The authorization server that knows the client; another one never gets its secret. */
  issuer?: string | undefined
}

/** What is sent when the client is registered; members that are not named here are sent as well. */
export interface ProviderClientMetadata {
  redirect_uris: string[]
  client_name?: string | undefined
  scope?: string | undefined
  grant_types?: string[] | undefined
  response_types?: string[] | undefined
  token_endpoint_auth_method?: string | undefined
}

/** What was found out about a server, to be remembered while the user is away. */
export interface ProviderDiscovery {
  authorizationServerUrl: string
  authorizationServerMetadata?: object | undefined
  resourceMetadata?: { resource: string } | undefined
}

/**
 * The interface by which applications of other MCP SDKs keep what belongs to the authorization of one user at one server,
 * and send that user to a page. `withProvider` makes it a value for `auth`.
 */
export interface OAuthClientProvider {
  /** Where the user comes back to. Undefined: there is no user, and `prepareTokenRequest` says how to get a token. */
  readonly redirectUrl: string | URL | undefined
  readonly clientMetadata: ProviderClientMetadata
  /** The URL of a Client ID Metadata Document. */
  clientMetadataUrl?: string | undefined
  /** Default: random. */
  state?(): string | Promise<string>
  clientInformation(
    context?: ProviderContext,
  ): ProviderClientInformation | undefined | Promise<ProviderClientInformation | undefined>
  /** Without it no client is registered: `clientInformation` has to know one. */
  saveClientInformation?(information: ProviderClientInformation, context?: ProviderContext): void | Promise<void>
  tokens(context?: ProviderContext): ProviderTokens | undefined | Promise<ProviderTokens | undefined>
  saveTokens(tokens: ProviderTokens, context?: ProviderContext): void | Promise<void>
  redirectToAuthorization(page: URL): void | Promise<void>
  saveCodeVerifier(codeVerifier: string): void | Promise<void>
  codeVerifier(): string | Promise<string>
  /** Shows at the token endpoint who the client is, in place of what its registration says. */
  addClientAuthentication?(
    headers: Headers,
    params: URLSearchParams,
    url: string | URL,
    metadata?: object,
  ): void | Promise<void>
  /** Chooses what tokens are for (RFC 8707). Default: what the server's metadata says. */
  validateResourceURL?(server: string | URL, resource?: string): Promise<URL | undefined>
  /** What it names is no good any more. */
  invalidateCredentials?(what: 'all' | 'client' | 'tokens' | 'verifier' | 'discovery'): void | Promise<void>
  /** The token request of a grant that needs no user, `grant_type` included. Default: client credentials. */
  prepareTokenRequest?(scope?: string): URLSearchParams | undefined | Promise<URLSearchParams | undefined>
  /** With these two, the user may come back to another process than the one that sent them away. */
  saveDiscoveryState?(state: ProviderDiscovery): void | Promise<void>
  discoveryState?(): ProviderDiscovery | undefined | Promise<ProviderDiscovery | undefined>
  saveAuthorizationServerUrl?(issuer: string): void | Promise<void>
  saveResourceUrl?(resource: string): void | Promise<void>
}

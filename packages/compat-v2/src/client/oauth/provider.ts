import type { OAuthProtectedResourceMetadata } from '@tenon/compat-v1/shared/auth.js'
import type { FetchLike } from '@tenon/compat-v1/shared/transport.js'
import type { DpopSession } from '../dpop.ts'
import type {
  AuthorizationServerMetadata,
  OAuthClientMetadata,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from './schemas.ts'

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

/** A request that the server refused with 401. */
export interface UnauthorizedContext {
  response: Response
  serverUrl: URL
  /** Sends requests with the options of the transport. */
  fetchFn: FetchLike
}

/** Provides tokens to a transport, without OAuth. */
export interface AuthProvider {
  /** Returns the current token, or undefined if there is none. Called for every request. */
  token(): Promise<string | undefined>
  /** Called when the server answers 401. When it resolves, the request is sent once more. */
  onUnauthorized?(ctx: UnauthorizedContext): Promise<void>
}

/** The authorization server that credentials are read or stored for. */
export interface OAuthClientInformationContext {
  issuer: string
}

/**
 * The application's side of OAuth for one MCP server: it stores the client registration, the tokens and the PKCE verifier of one
 * user, and sends the user to the authorization server. Pass it to a transport as `authProvider`.
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
  /** Returns the client that is registered with this authorization server, or undefined if there is none. */
  clientInformation(
    ctx?: OAuthClientInformationContext,
  ): StoredOAuthClientInformation | undefined | Promise<StoredOAuthClientInformation | undefined>
  /** Stores a registered client unchanged, with its `issuer`. Without this method, clients are not registered dynamically. */
  saveClientInformation?(
    clientInformation: StoredOAuthClientInformation,
    ctx?: OAuthClientInformationContext,
  ): void | Promise<void>
  /** Returns the stored tokens, or undefined if there are none. Without `ctx`, return those that were stored last. */
  tokens(ctx?: OAuthClientInformationContext): StoredOAuthTokens | undefined | Promise<StoredOAuthTokens | undefined>
  /** Stores tokens unchanged, with the `issuer` that issued them. */
  saveTokens(tokens: StoredOAuthTokens, ctx?: OAuthClientInformationContext): void | Promise<void>
  /** Sends the user to the authorization server. */
  redirectToAuthorization(authorizationUrl: URL): void | Promise<void>
  /** Stores the PKCE code verifier until the user comes back. */
  saveCodeVerifier(codeVerifier: string): void | Promise<void>
  /** Returns the PKCE code verifier that was stored before the user left. */
  codeVerifier(): string | Promise<string>
  /** Authenticates the client in token requests, instead of its secret. */
  addClientAuthentication?: AddClientAuthentication
  /** Binds tokens to a key (RFC 9449). Return the same session every time. */
  dpop?(): DpopSession | undefined | Promise<DpopSession | undefined>
  /** Chooses the resource indicator (RFC 8707) instead of the default rule. It must belong to the MCP server. */
  validateResourceURL?(serverUrl: string | URL, resource?: string): Promise<URL | undefined>
  /** Returns the scope to send when tokens are refreshed, for servers that require it. Default: none. */
  scopeForRefresh?(tokens: StoredOAuthTokens): string | undefined | Promise<string | undefined>
  /** Deletes credentials that the authorization server rejected. */
  invalidateCredentials?(scope: 'all' | 'client' | 'tokens' | 'verifier' | 'discovery'): void | Promise<void>
  /** Returns the parameters of a token request, for grants other than `authorization_code`. Undefined for that one. */
  prepareTokenRequest?(scope?: string): URLSearchParams | Promise<URLSearchParams | undefined> | undefined
  /**
   * Called with the issuer of the authorization server.
   *
   * @deprecated Read `issuer` of the tokens and the client, or `ctx.issuer`.
   */
  saveAuthorizationServerUrl?(authorizationServerUrl: string): void | Promise<void>
  /** @deprecated Never called. */
  authorizationServerUrl?(): string | undefined | Promise<string | undefined>
  /** Called with the resource indicator. */
  saveResourceUrl?(resourceUrl: string): void | Promise<void>
  /** Never called: for providers that need the resource themselves. */
  resourceUrl?(): string | undefined | Promise<string | undefined>
  /** Stores the result of discovery as durably as the code verifier: it says which server the user was sent to. */
  saveDiscoveryState?(state: OAuthDiscoveryState): void | Promise<void>
  /** Returns the stored result of discovery. */
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

/** Options of `auth`. */
export interface AuthOptions {
  /** The URL of the MCP server. */
  serverUrl: string | URL
  /** The code that the user came back with. */
  authorizationCode?: string
  /** The `iss` parameter that the user came back with (RFC 9207). */
  iss?: string
  /** The scope that the server requires, from its challenge. */
  scope?: string
  /** The URL of the resource metadata, from the challenge. */
  resourceMetadataUrl?: URL
  /** Default: the global `fetch`. */
  fetchFn?: FetchLike
  /** Accepts metadata that name another issuer. **Weakens security**: only for servers that are known to do so. Default false. */
  skipIssuerMetadataValidation?: boolean
  /** Sends the user to authorize even if tokens could be refreshed: refreshing cannot add scopes. Default false. */
  forceReauthorization?: boolean
}

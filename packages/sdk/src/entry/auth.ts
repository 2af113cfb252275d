export type { BrokerOptions } from '../auth/broker/options.ts'
export { type ProviderClient, providers, type UpstreamProvider } from '../auth/broker/providers.ts'
export type { Challenge } from '../auth/client/challenge.ts'
export {
  type ClientMetadataDocument,
  type ClientMetadataOptions,
  clientMetadata,
} from '../auth/client/client-metadata.ts'
export type { AuthFetch } from '../auth/client/context.ts'
export {
  type AuthFor,
  bearer,
  type CommonOptions,
  clientCredentials,
  enterpriseManaged,
  type OAuthOptions,
  oauth,
  workloadIdentity,
} from '../auth/client/oauth.ts'
export { type Answer, type ProviderAuth, type ProviderOptions, withProvider } from '../auth/client/provider.ts'
export type {
  OAuthClientProvider,
  ProviderClientInformation,
  ProviderClientMetadata,
  ProviderContext,
  ProviderDiscovery,
  ProviderTokens,
} from '../auth/client/provider-port.ts'
export {
  type BeginOptions,
  beginAuthorization,
  type Completed,
  completeAuthorization,
  type LegOptions,
} from '../auth/client/redirect-flow.ts'
export type { AuthCall, AuthReply, AuthRoutes } from '../auth/http.ts'
export { openBrowser } from '../auth/node/browser.ts'
export { type FileStoreOptions, fileTokenStore } from '../auth/node/file-store.ts'
export { type AwaitedRedirect, type RedirectOptions, waitForRedirect } from '../auth/node/loopback.ts'
export { type DpopOptions, dpop } from '../auth/resource/dpop.ts'
export {
  type IntrospectionVerifierOptions,
  introspectionVerifier,
} from '../auth/resource/introspection-verifier.ts'
export { InvalidTokenError } from '../auth/resource/invalid-token-error.ts'
export { type JwtVerifierOptions, jwtVerifier } from '../auth/resource/jwt-verifier.ts'
export type {
  AuthMetadataOptions,
  BearerAuthInfo,
  BearerAuthOptions,
  OAuthTokenVerifier,
} from '../auth/resource/middleware.ts'
export type {
  AuthInfo,
  AuthOptions,
  DpopCheck,
  DpopResult,
  TokenRequest,
  TokenVerifier,
} from '../auth/resource/options.ts'
export { MemoryReplays, type Replays } from '../auth/resource/replays.ts'
export type { OAuthTokens } from '../auth/server/backend.ts'
export type { OAuthClient, OAuthClientMetadata } from '../auth/server/client.ts'
export { OAuthError } from '../auth/server/oauth-error.ts'
export type { RegistrationOptions } from '../auth/server/provider-backend.ts'
export type {
  AuthorizationParams,
  OAuthRegisteredClientsStore,
  OAuthServerProvider,
  RedirectingResponse,
} from '../auth/server/provider-port.ts'
export { type ProxyEndpoints, ProxyOAuthServerProvider, type ProxyOptions } from '../auth/server/proxy-provider.ts'
export type { AuthRouterOptions } from '../auth/server/router.ts'
export { MemoryTokenStore, type TokenStore } from '../auth/token-store.ts'
export { AuthError } from '../errors.ts'
export { GuardError, type GuardRule, type Permissions } from '../net/address-policy.ts'
export { type GuardedFetch, type GuardedFetchOptions, guardedFetch } from '../net/guarded-fetch.ts'
export { MemoryValueStore, type MemoryValueStoreOptions } from '../store/memory.ts'
export type { ValueStore } from '../store/ports.ts'
export {
  type Broker,
  broker,
  mcpAuthMetadataRouter,
  mcpAuthRouter,
  requireBearerAuth,
} from '../transport/http/server/auth-middleware.ts'
export type { NodeMiddleware } from '../transport/http/server/auth-routes.ts'
export { checkScopes, hasScopes, InsufficientScopeError } from '../util/scopes.ts'

export type { BrokerOptions } from '../auth/broker/options.ts'
export { type ProviderClient, providers, type UpstreamProvider } from '../auth/broker/providers.ts'
export type { AuthRoutes, EndpointRequest, EndpointResponse, RequestHead } from '../auth/http.ts'
export { type DpopOptions, dpop, MemoryReplays, type Replays } from '../auth/resource/dpop.ts'
export {
  type IntrospectionVerifierOptions,
  introspectionVerifier,
} from '../auth/resource/introspection-verifier.ts'
export type { Fetch } from '../auth/resource/issuer-fetch.ts'
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
export { InvalidTokenError } from '../auth/resource/options.ts'
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
export { GuardError, type GuardRule, type Permissions } from '../net/address-policy.ts'
export { type GuardedFetch, type GuardedFetchOptions, guardedFetch } from '../net/guarded-fetch.ts'
export type { FetchInit, FetchLike } from '../net/send.ts'
export { checkScopes, hasScopes, InsufficientScopeError } from '../protocol/scopes.ts'
export { MemoryValueStore, type MemoryValueStoreOptions } from '../store/memory/values.ts'
export type { ValueStore } from '../store/ports.ts'
export {
  type Broker,
  broker,
  mcpAuthMetadataRouter,
  mcpAuthRouter,
  requireBearerAuth,
} from '../transport/http/server/auth-middleware.ts'
export type { NodeMiddleware } from '../transport/http/server/auth-routes.ts'
export type { NodeRequest } from '../transport/http/server/node-request.ts'

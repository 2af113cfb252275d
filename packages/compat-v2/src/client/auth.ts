export { startAuthorization } from '@tenon/compat-v1/client/oauth/authorization-request.js'
export { extractResourceMetadataUrl } from '@tenon/compat-v1/client/oauth/challenge.js'
export { type ClientAuthMethod, selectClientAuthMethod } from '@tenon/compat-v1/client/oauth/client-authentication.js'
export { isHttpsUrl } from '@tenon/compat-v1/client/oauth/registration.js'
export { selectResourceURL } from '@tenon/compat-v1/client/oauth/resource.js'
export { prepareAuthorizationCodeRequest } from '@tenon/compat-v1/client/oauth/token-request.js'
export { buildDiscoveryUrls } from '@tenon/compat-v1/client/oauth/well-known.js'
export {
  AuthorizationServerMismatchError,
  InsecureTokenEndpointError,
  IssuerMismatchError,
  RegistrationRejectedError,
  UnauthorizedError,
} from './authErrors.ts'
export { validateAuthorizationResponseIssuer } from './oauth/callback.ts'
export { extractWWWAuthenticateParams } from './oauth/challenge.ts'
export {
  discoverAuthorizationServerMetadata,
  discoverOAuthMetadata,
  discoverOAuthProtectedResourceMetadata,
  discoverOAuthServerInfo,
} from './oauth/discovery.ts'
export { parseErrorResponse } from './oauth/error-response.ts'
export { auth } from './oauth/flow.ts'
export type {
  AddClientAuthentication,
  AuthOptions,
  AuthProvider,
  AuthResult,
  OAuthClientInformationContext,
  OAuthClientProvider,
  OAuthDiscoveryState,
  OAuthServerInfo,
  UnauthorizedContext,
} from './oauth/provider.ts'
export { registerClient, resolveClientMetadata, validateClientMetadataUrl } from './oauth/registration.ts'
export { computeScopeUnion, isStrictScopeSuperset } from './oauth/scopes.ts'
export {
  assertSecureTokenEndpoint,
  exchangeAuthorization,
  fetchToken,
  refreshAuthorization,
} from './oauth/tokens.ts'

export { startAuthorization } from './oauth/authorization-request.ts'
export { extractResourceMetadataUrl, extractWWWAuthenticateParams } from './oauth/challenge.ts'
export { selectClientAuthMethod } from './oauth/client-authentication.ts'
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
  AuthResult,
  OAuthClientProvider,
  OAuthDiscoveryState,
  OAuthServerInfo,
} from './oauth/provider.ts'
export { isHttpsUrl, registerClient } from './oauth/registration.ts'
export { selectResourceURL } from './oauth/resource.ts'
export { prepareAuthorizationCodeRequest } from './oauth/token-request.ts'
export { exchangeAuthorization, fetchToken, refreshAuthorization } from './oauth/tokens.ts'
export { UnauthorizedError } from './oauth/unauthorized-error.ts'
export { buildDiscoveryUrls } from './oauth/well-known.ts'

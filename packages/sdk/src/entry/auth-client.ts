export { type Challenge, parseChallenges } from '../auth/client/challenge.ts'
export { type ClientAssertionOptions, createClientAssertion } from '../auth/client/client-assertion.ts'
export type { AuthRefusal, AuthRequest, ClientAuth } from '../auth/client/client-auth.ts'
export type { ClientKey } from '../auth/client/client-authentication.ts'
export {
  type ClientMetadataDocument,
  type ClientMetadataOptions,
  clientMetadata,
} from '../auth/client/client-metadata.ts'
export type { AuthFetch } from '../auth/client/context.ts'
export {
  createDpopProof,
  type DpopKeyPair,
  type DpopKeyPairOptions,
  type DpopProofRequest,
  generateDpopKeyPair,
} from '../auth/client/dpop-proof.ts'
export type {
  ClientCredentialsOptions,
  EnterpriseManagedOptions,
  WorkloadIdentityOptions,
} from '../auth/client/grants.ts'
export {
  bearer,
  type ClientAuthFactory,
  type ClientAuthOptions,
  clientCredentials,
  enterpriseManaged,
  type OAuthOptions,
  oauth,
  type ShownPage,
  workloadIdentity,
} from '../auth/client/oauth.ts'
export {
  type ProviderAuth,
  type ProviderOptions,
  type ProviderSession,
  type RedirectResult,
  withProvider,
} from '../auth/client/provider.ts'
export type {
  OAuthClientProvider,
  ProviderClientInformation,
  ProviderClientMetadata,
  ProviderContext,
  ProviderDiscovery,
  ProviderTokens,
} from '../auth/client/provider-port.ts'
export {
  type BeginAuthorizationOptions,
  beginAuthorization,
  type CompleteAuthorizationOptions,
  type CompletedAuthorization,
  completeAuthorization,
} from '../auth/client/redirect-flow.ts'
export type { ClientGiven, ClientIdentity } from '../auth/client/registration.ts'
export { findLogin, forgetLogin, type StoredLogin } from '../auth/client/stored-login.ts'
export { openBrowser } from '../auth/node/browser.ts'
export { type FileStoreOptions, fileTokenStore } from '../auth/node/file-store.ts'
export { type AwaitedRedirect, type RedirectOptions, waitForRedirect } from '../auth/node/loopback.ts'
export { MemoryTokenStore, type TokenStore } from '../auth/token-store.ts'
export { AuthError } from '../errors.ts'
export { GuardError, type GuardRule, type Permissions } from '../net/address-policy.ts'
export { type GuardedFetch, type GuardedFetchOptions, guardedFetch } from '../net/guarded-fetch.ts'
export type { RedirectRules } from '../net/redirect.ts'
export type { FetchInit, FetchLike, ReadHeader, ResponseHead } from '../net/send.ts'

// Metadata, tokens and clients of OAuth.

import type {
  OAuthClientInformation,
  OAuthClientInformationFull,
  OAuthMetadata,
  OpenIdProviderDiscoveryMetadata,
} from '../generated/oauth-types.ts'

export * from '../generated/oauth-schemas.ts'
export type * from '../generated/oauth-types.ts'

/** A client with or without what it registered. */
export type OAuthClientInformationMixed = OAuthClientInformation | OAuthClientInformationFull

/** Metadata of an authorization server of either kind. */
export type AuthorizationServerMetadata = OAuthMetadata | OpenIdProviderDiscoveryMetadata

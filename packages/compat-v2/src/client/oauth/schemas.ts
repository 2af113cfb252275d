import {
  type AuthorizationServerMetadata as AnyServerMetadata,
  type OAuthClientInformationFull as FullInformationOfV1,
  OAuthClientInformationFullSchema as FullSchemaOfV1,
  type OAuthClientMetadata as MetadataOfV1,
  OAuthMetadataSchema,
  OpenIdProviderDiscoveryMetadataSchema,
  type OAuthClientInformation as StoredInformation,
  type OAuthTokens as TokensOfV1,
  OAuthTokensSchema as TokensSchemaOfV1,
} from '@tenon/compat-v1/shared/auth.js'
import * as z from 'zod/v4'

// What 2.x has in addition to the schemas of 1.x.

/** RFC 9207. Servers that send something else than a boolean do not support it. */
const issParameter = { authorization_response_iss_parameter_supported: z.boolean().optional().catch(undefined) }
const oauthMetadata = OAuthMetadataSchema.extend(issParameter)
const openIdMetadata = OpenIdProviderDiscoveryMetadataSchema.extend(issParameter)

/** Metadata of an authorization server (RFC 8414, OpenID Connect Discovery). */
export type AuthorizationServerMetadata = AnyServerMetadata & {
  authorization_response_iss_parameter_supported?: boolean | undefined
}

export function parseServerMetadata(type: 'oauth' | 'oidc', document: unknown): AuthorizationServerMetadata {
  return (type === 'oauth' ? oauthMetadata : openIdMetadata).parse(document)
}

/** The response of a token endpoint. The issuer is not part of it: the client adds it. */
export type OAuthTokens = Omit<TokensOfV1, 'issuer'>
export const OAuthTokensSchema = TokensSchemaOfV1.omit({ issuer: true })

/** Metadata of a client (RFC 7591). */
export type OAuthClientMetadata = MetadataOfV1 & {
  /** `native` or `web` (OpenID Connect Dynamic Client Registration). */
  application_type?: string | undefined
}

/** The id and secret of a registered client. */
export type OAuthClientInformation = Omit<StoredInformation, 'issuer'>
/** A registered client, with everything it registered. */
export type OAuthClientInformationFull = Omit<FullInformationOfV1, 'issuer'> & { application_type?: string | undefined }
/** A client with or without what it registered. */
export type OAuthClientInformationMixed = OAuthClientInformation | OAuthClientInformationFull

export const OAuthClientInformationFullSchema = FullSchemaOfV1.omit({ issuer: true }).extend({
  application_type: z.string().optional(),
})

/** Tokens as they are stored, with the authorization server that issued them. */
export type StoredOAuthTokens = OAuthTokens & { issuer?: string | undefined }
/** A client as it is stored, with the authorization server that it is registered with. */
export type StoredOAuthClientInformation = OAuthClientInformationMixed & { issuer?: string | undefined }

/** The response of an identity provider to a token exchange for an ID-JAG. */
export type IdJagTokenExchangeResponse = z.infer<typeof IdJagTokenExchangeResponseSchema>
export const IdJagTokenExchangeResponseSchema = z.object({
  issued_token_type: z.literal('urn:ietf:params:oauth:token-type:id-jag'),
  access_token: z.string(),
  // RFC 8693, 2.2.1: the token is no access token, so servers send `N_A`, or nothing.
  token_type: z.string().optional(),
  expires_in: z.number().optional(),
  scope: z.string().optional(),
})

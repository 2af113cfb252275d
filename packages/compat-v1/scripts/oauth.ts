/** Metadata, tokens and clients of OAuth 2.1 and OpenID Connect. See `schema-language.ts`. */

import { type Fields, loose, type Noun, type Nouns, strip, type TypeNode } from './schema-language.ts'

const noun = (doc: string, type: TypeNode, more?: Partial<Noun>): Noun => ({ doc, type, ...more })

const listsOf = (...names: string[]): Fields =>
  Object.fromEntries(names.map((name) => [`${name}_supported?`, 'string[]']))
const flags = (...names: string[]): Fields => Object.fromEntries(names.map((name) => [`${name}?`, 'boolean']))
const texts = (...names: string[]): Fields => Object.fromEntries(names.map((name) => [`${name}?`, 'string']))

const serverMetadata: Nouns = {
  SafeUrl: noun(
    'A URL that cannot run a script.',
    {
      kind: 'code',
      code: {
        schema: `z.url().superRefine(mustParse).refine(hasSafeScheme, {
          message: 'URL cannot use javascript:, data:, or vbscript: scheme',
        })`,
        schemaType: 'z.ZodURL',
        type: 'string',
      },
    },
    { exports: 'schema' },
  ),
  OAuthProtectedResourceMetadata: noun(
    'Metadata of a protected resource (RFC 9728).',
    loose({
      resource: 'url',
      'authorization_servers?': 'SafeUrl[]',
      'jwks_uri?': 'url',
      ...listsOf('scopes', 'bearer_methods', 'resource_signing_alg_values'),
      ...texts('resource_name', 'resource_documentation'),
      'resource_policy_uri?': 'url',
      'resource_tos_uri?': 'url',
      ...flags('tls_client_certificate_bound_access_tokens'),
      ...listsOf('authorization_details_types', 'dpop_signing_alg_values'),
      ...flags('dpop_bound_access_tokens_required'),
    }),
  ),
  OAuthMetadata: noun(
    'Metadata of an authorization server (RFC 8414).',
    loose({
      issuer: 'string',
      authorization_endpoint: 'SafeUrl',
      token_endpoint: 'SafeUrl',
      'registration_endpoint?': 'SafeUrl',
      ...listsOf('scopes'),
      response_types_supported: 'string[]',
      ...listsOf('response_modes', 'grant_types'),
      ...listsOf('token_endpoint_auth_methods', 'token_endpoint_auth_signing_alg_values'),
      'service_documentation?': 'SafeUrl',
      'revocation_endpoint?': 'SafeUrl',
      ...listsOf('revocation_endpoint_auth_methods', 'revocation_endpoint_auth_signing_alg_values'),
      ...texts('introspection_endpoint'),
      ...listsOf('introspection_endpoint_auth_methods', 'introspection_endpoint_auth_signing_alg_values'),
      ...listsOf('code_challenge_methods'),
      ...flags('client_id_metadata_document_supported'),
    }),
  ),
  OpenIdProviderMetadata: noun(
    'Metadata of an OpenID provider (OpenID Connect Discovery 1.0).',
    loose({
      issuer: 'string',
      authorization_endpoint: 'SafeUrl',
      token_endpoint: 'SafeUrl',
      'userinfo_endpoint?': 'SafeUrl',
      jwks_uri: 'SafeUrl',
      'registration_endpoint?': 'SafeUrl',
      ...listsOf('scopes'),
      response_types_supported: 'string[]',
      ...listsOf('response_modes', 'grant_types', 'acr_values'),
      subject_types_supported: 'string[]',
      id_token_signing_alg_values_supported: 'string[]',
      ...listsOf('id_token_encryption_alg_values', 'id_token_encryption_enc_values'),
      ...listsOf('userinfo_signing_alg_values', 'userinfo_encryption_alg_values', 'userinfo_encryption_enc_values'),
      ...listsOf('request_object_signing_alg_values'),
      ...listsOf('request_object_encryption_alg_values', 'request_object_encryption_enc_values'),
      ...listsOf('token_endpoint_auth_methods', 'token_endpoint_auth_signing_alg_values'),
      ...listsOf('display_values', 'claim_types', 'claims'),
      ...texts('service_documentation'),
      ...listsOf('claims_locales', 'ui_locales'),
      ...flags('claims_parameter_supported', 'request_parameter_supported', 'request_uri_parameter_supported'),
      ...flags('require_request_uri_registration'),
      'op_policy_uri?': 'SafeUrl',
      'op_tos_uri?': 'SafeUrl',
      ...flags('client_id_metadata_document_supported'),
    }),
  ),
  OpenIdProviderDiscoveryMetadata: noun(
    'Metadata of an OpenID provider, with the PKCE methods of an authorization server.',
    strip(listsOf('code_challenge_methods'), 'OpenIdProviderMetadata'),
  ),
}

/**
 * The authorization server that issued tokens or registered a client. The client adds it before it stores them, and
 * compares it when it reads them; a value that is not a text counts as absent.
 */
const issuer: TypeNode = {
  kind: 'code',
  code: {
    schema: 'z.string().optional().catch(undefined)',
    schemaType: 'z.ZodCatch<z.ZodOptional<z.ZodString>>',
    type: 'string',
    optional: true,
  },
}

const tokens: Nouns = {
  OAuthTokens: noun(
    'The response of a token endpoint.',
    strip({
      access_token: 'string',
      ...texts('id_token'),
      token_type: 'string',
      'expires_in?': 'numeric # Lifetime of the access token, in seconds.',
      ...texts('scope', 'refresh_token'),
      issuer,
    }),
  ),
  OAuthErrorResponse: noun(
    'An error response of an authorization server.',
    strip({ error: 'string', ...texts('error_description', 'error_uri') }),
  ),
  OAuthTokenRevocationRequest: noun(
    'A request to revoke a token (RFC 7009).',
    strip({ token: 'string', ...texts('token_type_hint') }),
  ),
}

const clients: Nouns = {
  OptionalSafeUrl: noun(
    'A URL that cannot run a script, or nothing. An empty text counts as nothing.',
    {
      kind: 'code',
      code: {
        schema: "SafeUrlSchema.optional().or(z.literal('').transform(() => undefined))",
        schemaType:
          "z.ZodUnion<[z.ZodOptional<typeof SafeUrlSchema>, z.ZodPipe<z.ZodLiteral<''>, z.ZodTransform<undefined, ''>>]>",
        type: 'string',
        optional: true,
      },
    },
    { exports: 'schema' },
  ),
  OAuthClientMetadata: noun(
    'What a client registers (RFC 7591).',
    strip({
      redirect_uris: 'SafeUrl[]',
      ...texts('token_endpoint_auth_method'),
      'grant_types?': 'string[]',
      'response_types?': 'string[]',
      ...texts('client_name'),
      'client_uri?': 'SafeUrl',
      logo_uri: 'OptionalSafeUrl',
      ...texts('scope'),
      'contacts?': 'string[]',
      tos_uri: 'OptionalSafeUrl',
      ...texts('policy_uri'),
      'jwks_uri?': 'SafeUrl',
      'jwks?': 'any',
      ...texts('software_id', 'software_version', 'software_statement'),
    }),
  ),
  OAuthClientInformation: noun(
    'The id and secret of a registered client.',
    strip({
      client_id: 'string',
      ...texts('client_secret'),
      'client_id_issued_at?': 'number # In seconds since 1970.',
      'client_secret_expires_at?': 'number # In seconds since 1970; 0 means never.',
      issuer,
    }),
  ),
  OAuthClientInformationFull: noun(
    'A registered client, with everything it registered.',
    strip({}, 'OAuthClientMetadata', 'OAuthClientInformation'),
  ),
  OAuthClientRegistrationError: noun(
    'An error response to a registration.',
    strip({ error: 'string', ...texts('error_description') }),
  ),
}

/** Every noun, in an order in which none refers to a later one. */
export const oauth: Nouns = { ...serverMetadata, ...tokens, ...clients }

import { jsonResponse } from '../../auth/http.ts'
import { signingAlgorithms } from './keys.ts'
import type { Endpoint, EndpointName, State } from './state.ts'

export function addressOf(endpoint: Exclude<EndpointName, 'metadata'>, issuer: string): string {
  return `${issuer}/${endpoint}`
}

/** Returns the paths at which the metadata is served. */
export function metadataPaths({ settings }: State): string[] {
  const { metadata, issuerPath } = settings
  const has = (...forms: string[]) => forms.includes(metadata)
  return [
    ...(has('both', 'oauth') ? [`/.well-known/oauth-authorization-server${issuerPath}`] : []),
    ...(has('both', 'openid', 'openid-inserted') ? [`/.well-known/openid-configuration${issuerPath}`] : []),
    ...(has('both', 'openid', 'openid-appended') ? [`${issuerPath}/.well-known/openid-configuration`] : []),
  ]
}

/** RFC 8414 and OpenID Connect Discovery 1.0 in one document. */
export const metadata: Endpoint = (_call, { settings, issuer, keys }) =>
  jsonResponse({
    issuer,
    authorization_endpoint: addressOf('authorize', issuer),
    token_endpoint: addressOf('token', issuer),
    jwks_uri: addressOf('jwks', issuer),
    introspection_endpoint: addressOf('introspect', issuer),
    revocation_endpoint: addressOf('revoke', issuer),
    ...(settings.registration && { registration_endpoint: addressOf('register', issuer) }),
    ...(settings.scopesSupported.length > 0 && { scopes_supported: settings.scopesSupported }),
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: settings.grantTypes,
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: settings.tokenEndpointAuthMethods,
    ...(settings.tokenEndpointAuthMethods.includes('private_key_jwt') && {
      token_endpoint_auth_signing_alg_values_supported: signingAlgorithms,
    }),
    introspection_endpoint_auth_methods_supported: settings.tokenEndpointAuthMethods.filter((it) => it !== 'none'),
    revocation_endpoint_auth_methods_supported: settings.tokenEndpointAuthMethods,
    ...(settings.issParameter && { authorization_response_iss_parameter_supported: true }),
    ...(settings.clientIdMetadataDocuments && { client_id_metadata_document_supported: true }),
    ...(settings.dpop !== false && { dpop_signing_alg_values_supported: signingAlgorithms }),
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: [keys.algorithm],
  })

export const jwks: Endpoint = (_call, { keys }) => jsonResponse(keys.jwks)

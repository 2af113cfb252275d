import { isObject, type JsonObject } from '../../util/objects.ts'
import { OAuthError } from './oauth-error.ts'

/** Client metadata (RFC 7591). */
export interface OAuthClientMetadata {
  client_id_issued_at?: number | undefined
  client_secret?: string | undefined
  /** In seconds since 1970; 0 means never. */
  client_secret_expires_at?: number | undefined
  client_name?: string | undefined
  client_uri?: string | undefined
  redirect_uris: readonly string[]
  /** Default: by its secret, if it has one. */
  token_endpoint_auth_method?: string | undefined
  grant_types?: readonly string[] | undefined
  response_types?: readonly string[] | undefined
  application_type?: string | undefined
  scope?: string | undefined
}

/** A client that is registered at an authorization server. */
export interface OAuthClient extends OAuthClientMetadata {
  client_id: string
}

/** Throws unless the members that are used as text are strings. */
export function checkTexts(metadata: JsonObject): void {
  for (const name of ['client_name', 'client_uri', 'scope', 'jwks_uri']) {
    const isText = metadata[name] === undefined || typeof metadata[name] === 'string'
    if (!isText) throw invalidMetadata(`${name} must be a string.`)
  }
  const isKeySet = metadata.jwks === undefined || isObject(metadata.jwks)
  if (!isKeySet) throw invalidMetadata('jwks must be a JSON Web Key Set.')
}

export function invalidMetadata(description: string): OAuthError {
  return new OAuthError('invalid_client_metadata', description)
}

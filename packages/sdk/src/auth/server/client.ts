import { isObject, type JsonObject } from '../../util/objects.ts'
import { OAuthError } from './oauth-error.ts'

/** What is known of a client besides its id, in the words of RFC 7591. */
export interface OAuthClientMetadata {
  client_id_issued_at?: number | undefined
  client_secret?: string | undefined
  /** In seconds since 1970; 0 is never. */
  client_secret_expires_at?: number | undefined
  client_name?: string | undefined
  client_uri?: string | undefined
  redirect_uris: readonly string[]
  /** Default: by its secret if it has one. */
  token_endpoint_auth_method?: string | undefined
  grant_types?: readonly string[] | undefined
  response_types?: readonly string[] | undefined
  application_type?: string | undefined
  scope?: string | undefined
}

/** A client as an authorization server knows it. */
export interface OAuthClient extends OAuthClientMetadata {
  client_id: string
}

/** What a client says about itself is used as text in some places. */
export function checkTexts(metadata: JsonObject): void {
  for (const name of ['client_name', 'client_uri', 'scope', 'jwks_uri']) {
    const isText = metadata[name] === undefined || typeof metadata[name] === 'string'
    if (!isText) throw invalidMetadata(`${name} is a text`)
  }
  const isKeySet = metadata.jwks === undefined || isObject(metadata.jwks)
  if (!isKeySet) throw invalidMetadata('jwks is a key set')
}

export function invalidMetadata(description: string): OAuthError {
  return new OAuthError('invalid_client_metadata', description)
}

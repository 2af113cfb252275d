import { isObject, type JsonObject } from '../../util/objects.ts'
import { checkTexts, invalidMetadata, type OAuthClientMetadata } from './client.ts'
import { checkRedirectUris } from './redirect-uris.ts'

/** How clients can authenticate at the token endpoint. */
export const clientAuthMethods = ['none', 'client_secret_basic', 'client_secret_post']
export const grantTypes = ['authorization_code', 'refresh_token']

/** Returns the checked metadata of a client that registers itself (RFC 7591), without members that the server chooses. */
export function readRegistration(body: string, schemes?: readonly string[]): OAuthClientMetadata {
  const metadata = parseBody(body)
  // RFC 7591, 2: the software statement is not verified, so it is not echoed.
  const { client_id: _id, client_secret: _secret, software_statement: _statement, ...requested } = metadata
  checkTexts(requested)
  const { token_endpoint_auth_method: method = 'client_secret_basic' } = requested
  if (typeof method !== 'string' || !clientAuthMethods.includes(method)) {
    throw invalidMetadata(`token_endpoint_auth_method must be one of ${clientAuthMethods.join(', ')}.`)
  }
  return {
    ...requested,
    redirect_uris: checkRedirectUris(requested.redirect_uris, requested.application_type, schemes),
    token_endpoint_auth_method: method,
    grant_types: namesIn(requested, 'grant_types', grantTypes),
    response_types: namesIn(requested, 'response_types', ['code']),
  }
}

/** Returns the supported names among those of the client, which must include the first. */
function namesIn(metadata: JsonObject, name: string, known: readonly string[]): string[] {
  const named = metadata[name] ?? [known[0]]
  if (!Array.isArray(named)) throw invalidMetadata(`${name} must be an array of strings.`)
  if (!named.includes(known[0])) throw invalidMetadata(`${name} must include ${known[0]}.`)
  return known.filter((each) => named.includes(each))
}

function parseBody(body: string): JsonObject {
  try {
    const metadata: unknown = JSON.parse(body)
    if (isObject(metadata)) return metadata
  } catch {
    // Reported below.
  }
  throw invalidMetadata('The body must be a JSON object.')
}

import { isObject, type JsonObject } from '../../util/objects.ts'
import { checkTexts, invalidMetadata, type OAuthClientMetadata } from './client.ts'
import { checkRedirectUris } from './redirect-uris.ts'

/** How clients can show at the token endpoint who they are. */
export const clientAuthMethods = ['none', 'client_secret_basic', 'client_secret_post']
export const grantTypes = ['authorization_code', 'refresh_token']

/** What a client that registers itself says (RFC 7591), checked; what is for the server to choose is left out. */
export function readRegistration(body: string, schemes?: readonly string[]): OAuthClientMetadata {
  const metadata = parsed(body)
  // RFC 7591, 2: the software statement is not looked at, so nothing of it may seem to hold.
  const { client_id: _id, client_secret: _secret, software_statement: _statement, ...wanted } = metadata
  checkTexts(wanted)
  const { token_endpoint_auth_method: method = 'client_secret_basic' } = wanted
  if (typeof method !== 'string' || !clientAuthMethods.includes(method)) {
    throw invalidMetadata(`token_endpoint_auth_method is one of ${clientAuthMethods.join(', ')}`)
  }
  return {
    ...wanted,
    redirect_uris: checkRedirectUris(wanted.redirect_uris, wanted.application_type, schemes),
    token_endpoint_auth_method: method,
    grant_types: namesIn(wanted, 'grant_types', grantTypes),
    response_types: namesIn(wanted, 'response_types', ['code']),
  }
}

/** Those that there are, out of what the client named; the first one must be among them. */
function namesIn(metadata: JsonObject, name: string, known: readonly string[]): string[] {
  const named = metadata[name] ?? [known[0]]
  if (!Array.isArray(named)) throw invalidMetadata(`${name} is a list of names`)
  if (!named.includes(known[0])) throw invalidMetadata(`${name} must have ${known[0]}`)
  return known.filter((each) => named.includes(each))
}

function parsed(body: string): JsonObject {
  try {
    const metadata: unknown = JSON.parse(body)
    if (isObject(metadata)) return metadata
  } catch {
    // Said below.
  }
  throw invalidMetadata('The body is no JSON object')
}

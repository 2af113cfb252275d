import { jsonResponse } from '../../auth/http.ts'
import { checkTexts, invalidMetadata as invalid } from '../../auth/server/client.ts'
import { checkRedirectUris } from '../../auth/server/redirect-uris.ts'
import { isObject, type JsonObject } from '../../util/objects.ts'
import type { ClientMetadata } from './clients.ts'
import type { ClientAuthMethod, Settings } from './options.ts'
import type { Endpoint } from './state.ts'

/** Dynamic client registration (RFC 7591). */
export const register: Endpoint = ({ body }, { settings, clients, tokens }) => {
  const client = clients.add(checked(parsed(body), settings))
  return jsonResponse(
    {
      ...client,
      client_id_issued_at: tokens.now,
      ...(client.client_secret !== undefined && { client_secret_expires_at: 0 }),
    },
    201,
  )
}

function parsed(body: string): JsonObject {
  try {
    const metadata: unknown = JSON.parse(body)
    if (isObject(metadata)) return metadata
  } catch {
    // The error below covers this.
  }
  throw invalid('The body is not a JSON object')
}

function checked(metadata: JsonObject, settings: Settings): ClientMetadata {
  // The server chooses both.
  const { client_id: _id, client_secret: _secret, ...wanted } = metadata
  checkTexts(wanted)
  const grantTypes = wanted.grant_types ?? ['authorization_code']
  if (!isTexts(grantTypes)) throw invalid('grant_types must be an array of strings')
  const hasRedirects = grantTypes.includes('authorization_code')
  return {
    ...wanted,
    grant_types: grantTypes.filter((name) => settings.grantTypes.includes(name)),
    ...(hasRedirects && { redirect_uris: checkRedirectUris(wanted.redirect_uris, wanted.application_type) }),
    token_endpoint_auth_method: methodOf(wanted, settings),
  }
}

function methodOf(
  { token_endpoint_auth_method: wanted, jwks, jwks_uri }: JsonObject,
  settings: Settings,
): ClientAuthMethod {
  const methods = settings.tokenEndpointAuthMethods
  // RFC 7591 section 2: client_secret_basic is the default.
  if (wanted === undefined) return methods.includes('client_secret_basic') ? 'client_secret_basic' : methods[0]!
  const method = methods.find((name) => name === wanted)
  if (method === undefined) throw invalid(`token_endpoint_auth_method must be one of ${methods.join(', ')}`)
  const hasKeys = jwks !== undefined || jwks_uri !== undefined
  if (method === 'private_key_jwt' && !hasKeys) throw invalid('private_key_jwt requires jwks or jwks_uri')
  return method
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((it) => typeof it === 'string')
}

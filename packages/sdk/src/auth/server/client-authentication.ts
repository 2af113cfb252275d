import { decodeJwt } from 'jose'
import { invalidClient, OAuthError } from './oauth-error.ts'
import type { Params } from './params.ts'

/** The credentials with which a client authenticates. */
export interface ClientCredentials {
  readonly method: 'none' | 'client_secret_basic' | 'client_secret_post' | 'private_key_jwt'
  readonly clientId: string
  /** The secret or the assertion. Empty without authentication. */
  readonly proof: string
}

const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

/** Returns undefined if the request does not name a client. */
export function readClientCredentials(
  params: Params,
  authorization: string | undefined,
): ClientCredentials | undefined {
  const clientId = params.get('client_id')
  const assertion = params.get('client_assertion')
  const secret = params.get('client_secret')
  const basic = basicCredentials(authorization)
  if ([assertion, secret, basic].filter((method) => method !== undefined).length > 1) {
    throw new OAuthError('invalid_request', 'Use only one client authentication method per request.')
  }
  if (basic) return sameClient({ method: 'client_secret_basic', ...basic }, clientId)
  if (assertion !== undefined) {
    if (params.require('client_assertion_type') !== assertionType)
      throw invalidClient(`The client_assertion_type must be ${assertionType}.`)
    return sameClient({ method: 'private_key_jwt', clientId: subjectOf(assertion), proof: assertion }, clientId)
  }
  if (clientId === undefined) return undefined
  return { method: secret === undefined ? 'none' : 'client_secret_post', clientId, proof: secret ?? '' }
}

/** Adds a Basic challenge if the client used the Authorization header (RFC 6749, 5.2). */
export function withBasicChallenge(error: unknown, authorization: string | undefined): unknown {
  if (!(error instanceof OAuthError) || error.status !== 401 || authorization === undefined) return error
  const { errorCode, message, status } = error
  return new OAuthError(errorCode, message, status, { 'www-authenticate': 'Basic realm="clients"' })
}

function sameClient(credentials: ClientCredentials, clientId: string | undefined): ClientCredentials {
  if (clientId === undefined || clientId === credentials.clientId) return credentials
  throw new OAuthError('invalid_request', 'The client_id does not match the client that authenticates.')
}

/** RFC 6749, 2.3.1: id and secret are form-encoded before they are joined. */
function basicCredentials(
  authorization: string | undefined,
): Pick<ClientCredentials, 'clientId' | 'proof'> | undefined {
  const encoded = /^Basic +([A-Za-z0-9+/]+=*)$/i.exec(authorization ?? '')?.[1]
  if (encoded === undefined) return undefined
  const [id = '', ...secret] = decodeBase64(encoded).split(':')
  return { clientId: decodeForm(id), proof: decodeForm(secret.join(':')) }
}

function decodeBase64(base64: string): string {
  try {
    return new TextDecoder().decode(Uint8Array.from(atob(base64), (character) => character.charCodeAt(0)))
  } catch {
    throw invalidClient('The client credentials are not valid base64.')
  }
}

function decodeForm(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    throw invalidClient('The client credentials are not form-encoded.')
  }
}

function subjectOf(assertion: string): string {
  try {
    return decodeJwt(assertion).sub ?? ''
  } catch {
    throw invalidClient('The client assertion is not a JWT.')
  }
}

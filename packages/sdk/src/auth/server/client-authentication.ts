import { decodeJwt } from 'jose'
import { invalidClient, OAuthError } from './oauth-error.ts'
import type { Params } from './params.ts'

/** What a request says about the client that sends it. */
export interface ClientClaim {
  readonly method: 'none' | 'client_secret_basic' | 'client_secret_post' | 'private_key_jwt'
  readonly clientId: string
  /** A secret, or an assertion. */
  readonly proof: string
}

const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

/** Undefined when the request names no client. */
export function readClientClaim(params: Params, authorization: string | undefined): ClientClaim | undefined {
  const clientId = params.get('client_id')
  const assertion = params.get('client_assertion')
  const secret = params.get('client_secret')
  const basic = basicCredentials(authorization)
  if ([assertion, secret, basic].filter((it) => it !== undefined).length > 1) {
    throw new OAuthError('invalid_request', 'The client authenticates in more than one way')
  }
  if (basic) return sameClient({ method: 'client_secret_basic', ...basic }, clientId)
  if (assertion !== undefined) {
    if (params.need('client_assertion_type') !== assertionType)
      throw invalidClient(`client_assertion_type is ${assertionType}`)
    return sameClient({ method: 'private_key_jwt', clientId: subjectOf(assertion), proof: assertion }, clientId)
  }
  if (clientId === undefined) return undefined
  return { method: secret === undefined ? 'none' : 'client_secret_post', clientId, proof: secret ?? '' }
}

/** RFC 6749, 5.2: a client that came with the header is told so. */
export function withBasicChallenge(error: unknown, authorization: string | undefined): unknown {
  if (!(error instanceof OAuthError) || error.status !== 401 || authorization === undefined) return error
  const { errorCode, message, status } = error
  return new OAuthError(errorCode, message, status, { 'www-authenticate': 'Basic realm="clients"' })
}

function sameClient(claim: ClientClaim, clientId: string | undefined): ClientClaim {
  if (clientId === undefined || clientId === claim.clientId) return claim
  throw new OAuthError('invalid_request', 'client_id is not the client that authenticates')
}

/** RFC 6749, 2.3.1: each half is form-encoded before they are joined. */
function basicCredentials(authorization: string | undefined): Pick<ClientClaim, 'clientId' | 'proof'> | undefined {
  const encoded = /^Basic +([A-Za-z0-9+/]+=*)$/i.exec(authorization ?? '')?.[1]
  if (encoded === undefined) return undefined
  const [id = '', ...secret] = decoded(encoded).split(':')
  return { clientId: formDecoded(id), proof: formDecoded(secret.join(':')) }
}

function decoded(base64: string): string {
  try {
    return new TextDecoder().decode(Uint8Array.from(atob(base64), (character) => character.charCodeAt(0)))
  } catch {
    throw invalidClient('The credentials are not base64')
  }
}

function formDecoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    throw invalidClient('The credentials are not form-encoded')
  }
}

function subjectOf(assertion: string): string {
  try {
    return decodeJwt(assertion).sub ?? ''
  } catch {
    throw invalidClient('The assertion is no JWT')
  }
}

import {
  type ClientCredentials,
  readClientCredentials,
  withBasicChallenge,
} from '../../auth/server/client-authentication.ts'
import { invalidClient } from '../../auth/server/oauth-error.ts'
import { verifyAssertion } from './assertions.ts'
import type { RegisteredClient } from './clients.ts'
import type { Call } from './http.ts'
import type { State } from './state.ts'

/** Authenticates the client of a request. Returns undefined if the request names no client. */
export async function findClient(call: Call, state: State): Promise<RegisteredClient | undefined> {
  try {
    return await identify(call, state)
  } catch (error) {
    throw withBasicChallenge(error, call.headers.authorization)
  }
}

/** Like `findClient`, but requires a client. */
export async function authenticate(call: Call, state: State): Promise<RegisteredClient> {
  const client = await findClient(call, state)
  if (!client) throw invalidClient('The request names no client')
  return client
}

async function identify(call: Call, state: State): Promise<RegisteredClient | undefined> {
  const claim = readClientCredentials(call.params, call.headers.authorization)
  if (!claim) return undefined
  const client = await state.clients.find(claim.clientId)
  const expected = client.token_endpoint_auth_method
  if (claim.method !== expected)
    throw invalidClient(`The client is registered for ${expected}, not for ${claim.method}`)
  if (!state.settings.tokenEndpointAuthMethods.includes(expected)) throw invalidClient(`${expected} is not supported`)
  if (expected === 'private_key_jwt') await checkAssertion(claim, client, state)
  else if (expected !== 'none' && claim.proof !== client.client_secret) throw invalidClient('Wrong client secret')
  return client
}

/** RFC 7523 section 3. The audience must be the issuer alone, so that an assertion is useless at another server. */
async function checkAssertion(
  { clientId, proof }: ClientCredentials,
  client: RegisteredClient,
  state: State,
): Promise<void> {
  const keys = client.jwks ?? client.jwks_uri
  if (keys === undefined) throw invalidClient('The client has not registered any keys')
  const expected = { issuer: clientId, subject: clientId, audience: state.issuer, requiredClaims: ['jti'] }
  const claims = await verifyAssertion(proof, keys, state.settings, expected).catch((error: Error) => {
    throw invalidClient(`Invalid assertion: ${error.message}`)
  })
  if (Array.isArray(claims.aud) && claims.aud.length > 1)
    throw invalidClient('The assertion must have the issuer as its only audience')
  const name = `${clientId} ${claims.jti}`
  if (state.usedAssertions.has(name)) throw invalidClient('The assertion was already used')
  state.usedAssertions.add(name)
}

import { sha256 } from '../../util/base64url.ts'
import { clock } from '../../util/clock.ts'
import type { AuthCall } from '../http.ts'
import type { Backend } from './backend.ts'
import type { OAuthClient } from './client.ts'
import { type ClientClaim, readClientClaim, withBasicChallenge } from './client-authentication.ts'
import { invalidClient } from './oauth-error.ts'
import type { Params } from './params.ts'

/** The client that sent a request, once it has proved to be it. */
export async function authenticate(call: AuthCall, params: Params, backend: Backend): Promise<OAuthClient> {
  const authorization = call.header('authorization')
  try {
    const claim = readClientClaim(params, authorization)
    if (!claim) throw invalidClient('The request does not say which client it is from')
    const client = await backend.findClient(claim.clientId)
    if (!client) throw invalidClient('There is no such client')
    await checkClaim(claim, client, backend)
    return client
  } catch (error) {
    throw withBasicChallenge(error, authorization)
  }
}

async function checkClaim({ method, proof }: ClientClaim, client: OAuthClient, backend: Backend): Promise<void> {
  const { token_endpoint_auth_method: registered, client_secret_expires_at: until = 0 } = client
  // A client of which nothing else is said may show its secret in either way.
  const expected = registered ?? (client.client_secret === undefined ? 'none' : method)
  if (method !== expected) throw invalidClient(`The client is registered for ${expected}, not for ${method}`)
  if (method === 'none' && registered === undefined && client.client_secret !== undefined) {
    throw invalidClient('The secret is missing')
  }
  if (method === 'none') return
  if (method === 'private_key_jwt') throw invalidClient('private_key_jwt is not supported')
  if (until !== 0 && until <= clock.now() / 1000) throw invalidClient('The secret has expired: register again')
  const isRight = await (backend.hasSecret?.(client, proof) ?? isSecret(client, proof))
  if (!isRight) throw invalidClient('The secret is wrong')
}

/** By their hashes, so that how long it takes tells nothing of the secret. */
async function isSecret({ client_secret: secret }: OAuthClient, given: string): Promise<boolean> {
  return secret !== undefined && (await sha256(secret)) === (await sha256(given))
}

import { sha256 } from '../../util/base64url.ts'
import { clock } from '../../util/clock.ts'
import type { EndpointRequest } from '../http.ts'
import type { Backend } from './backend.ts'
import type { OAuthClient } from './client.ts'
import { type ClientCredentials, readClientCredentials, withBasicChallenge } from './client-authentication.ts'
import { invalidClient } from './oauth-error.ts'
import type { Params } from './params.ts'

/** Returns the client that sent a request, after checking its credentials. */
export async function authenticateClient(
  call: EndpointRequest,
  params: Params,
  backend: Backend,
): Promise<OAuthClient> {
  const authorization = call.header('authorization')
  try {
    const credentials = readClientCredentials(params, authorization)
    if (!credentials) throw invalidClient('The client_id is missing.')
    const client = await backend.findClient(credentials.clientId)
    if (!client) throw invalidClient('Client not found.')
    await checkCredentials(credentials, client, backend)
    return client
  } catch (error) {
    throw withBasicChallenge(error, authorization)
  }
}

async function checkCredentials(
  { method, proof }: ClientCredentials,
  client: OAuthClient,
  backend: Backend,
): Promise<void> {
  const { token_endpoint_auth_method: registered, client_secret_expires_at: until = 0 } = client
  // A client without a registered method may send its secret either way.
  const expected = registered ?? (client.client_secret === undefined ? 'none' : method)
  if (method !== expected)
    throw invalidClient(
      `Wrong client authentication method: the client is registered for ${expected}, not for ${method}.`,
    )
  if (method === 'none' && registered === undefined && client.client_secret !== undefined) {
    throw invalidClient('The client secret is missing.')
  }
  if (method === 'none') return
  if (method === 'private_key_jwt') throw invalidClient('private_key_jwt is not supported.')
  if (until !== 0 && until <= clock.now() / 1000)
    throw invalidClient('The client secret has expired. Register the client again.')
  const isValid = await (backend.hasSecret?.(client, proof) ?? isSecret(client, proof))
  if (!isValid) throw invalidClient('The client secret is not valid.')
}

/** Compares hashes, so that the time it takes does not leak the secret. */
async function isSecret({ client_secret: secret }: OAuthClient, given: string): Promise<boolean> {
  return secret !== undefined && (await sha256(secret)) === (await sha256(given))
}

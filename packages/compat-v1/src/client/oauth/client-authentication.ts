import type { OAuthClientInformation, OAuthClientInformationMixed } from '../../shared/auth.ts'

export type ClientAuthMethod = 'client_secret_basic' | 'client_secret_post' | 'none'

const methods: readonly string[] = ['client_secret_basic', 'client_secret_post', 'none'] satisfies ClientAuthMethod[]

/**
 * Chooses how a client authenticates at the token endpoint: as it was registered, else with its secret in the way that the
 * authorization server supports, else not at all.
 *
 * @param supportedMethods The methods in the metadata of the authorization server; empty if it names none.
 */
export function selectClientAuthMethod(
  clientInformation: OAuthClientInformationMixed,
  supportedMethods: string[],
): ClientAuthMethod {
  const supports = (method: string) => supportedMethods.length === 0 || supportedMethods.includes(method)
  const registered = registeredMethod(clientInformation)
  if (registered && supports(registered)) return registered
  const hasSecret = clientInformation.client_secret !== undefined
  // RFC 8414, 2: a server that names no methods supports client_secret_basic.
  if (hasSecret && supports('client_secret_basic')) return 'client_secret_basic'
  if (hasSecret && supports('client_secret_post')) return 'client_secret_post'
  if (supports('none')) return 'none'
  return hasSecret ? 'client_secret_post' : 'none'
}

function registeredMethod(client: OAuthClientInformationMixed): ClientAuthMethod | undefined {
  const method = 'token_endpoint_auth_method' in client ? client.token_endpoint_auth_method : undefined
  return method !== undefined && methods.includes(method) ? (method as ClientAuthMethod) : undefined
}

/** Adds the id and the secret of a client to a token request (RFC 6749, 2.3.1). */
export function applyClientAuthentication(
  method: ClientAuthMethod,
  { client_id, client_secret }: OAuthClientInformation,
  headers: Headers,
  params: URLSearchParams,
): void {
  if (method === 'client_secret_basic') {
    if (!client_secret) throw new Error('client_secret_basic authentication requires a client_secret')
    // Not form-encoded, against RFC 6749, 2.3.1: programs rely on servers that do not decode it.
    headers.set('Authorization', `Basic ${btoa(`${client_id}:${client_secret}`)}`)
    return
  }
  params.set('client_id', client_id)
  if (method === 'client_secret_post' && client_secret) params.set('client_secret', client_secret)
}

import { type AuthorizationServer, type ClientAuth, ClientSecretPost, None } from 'oauth4webapi'

/**
 * RFC 6749, 2.3.1: id and secret are form-encoded, which leaves letters, digits and `-._*` unchanged. Servers that forget to
 * decode them still understand most.
 */
export function secretBasic(secret: string): ClientAuth {
  return (_server, client, _body, headers) => {
    headers.set('authorization', `Basic ${btoa(`${formEncoded(client.client_id)}:${formEncoded(secret)}`)}`)
  }
}

/** How a client authenticates that was not registered dynamically. */
export function secretAuthentication(secret: string | undefined, server: AuthorizationServer): ClientAuth {
  if (secret === undefined) return None()
  const methods = server.token_endpoint_auth_methods_supported
  return !methods || methods.includes('client_secret_basic') ? secretBasic(secret) : ClientSecretPost(secret)
}

function formEncoded(text: string): string {
  return new URLSearchParams([['', text]]).toString().slice(1)
}

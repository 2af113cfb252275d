import { importPKCS8 } from 'jose'
import { type AuthorizationServer, type ClientAuth, ClientSecretPost, None, PrivateKeyJwt } from 'oauth4webapi'
import { AuthError } from '../../errors.ts'
import type { AuthContext } from './context.ts'
import type { RegisteredClient } from './registration.ts'

/**
 * RFC 6749, 2.3.1: id and secret are form-encoded, which leaves letters, digits and `-._*` unchanged. Servers that forget to
 * decode them still understand most.
 */
export function secretBasic(secret: string): ClientAuth {
  return (_server, client, _body, headers) => {
    headers.set('authorization', `Basic ${btoa(`${formEncoded(client.client_id)}:${formEncoded(secret)}`)}`)
  }
}

/** How the client authenticates at the token endpoint, as it was registered. */
export function authenticationOf(
  { client_secret, token_endpoint_auth_method }: RegisteredClient,
  { signature, trace }: AuthContext,
): ClientAuth {
  if (token_endpoint_auth_method === 'private_key_jwt' && client_secret === undefined) {
    if (signature) return signature
    throw new AuthError('The client is registered to authenticate with a private key. Pass `privateKey`', trace)
  }
  if (typeof client_secret !== 'string' || token_endpoint_auth_method === 'none') return None()
  return token_endpoint_auth_method === 'client_secret_post'
    ? ClientSecretPost(client_secret)
    : secretBasic(client_secret)
}

/** How a client with a secret authenticates if its registration does not say (RFC 8414, 2). */
export function secretMethod({ token_endpoint_auth_methods_supported: methods }: AuthorizationServer) {
  return !methods || methods.includes('client_secret_basic') ? 'client_secret_basic' : 'client_secret_post'
}

/** How a client authenticates that was not registered dynamically. */
export function secretAuthentication(secret: string | undefined, server: AuthorizationServer): ClientAuth {
  if (secret === undefined) return None()
  return secretMethod(server) === 'client_secret_basic' ? secretBasic(secret) : ClientSecretPost(secret)
}

function formEncoded(text: string): string {
  return new URLSearchParams([['', text]]).toString().slice(1)
}

/** A key with which a client authenticates instead of a secret. */
export interface ClientKey {
  /** A private key (PKCS #8 in PEM) to authenticate with instead of a secret (RFC 7523). */
  privateKey?: string | undefined
  /** The algorithm of the private key. Default `ES256`. */
  algorithm?: string | undefined
  /** The `kid` of the key, if the client has published several. */
  keyId?: string | undefined
}

/** Authenticates requests to the token endpoint; undefined without a key. */
export function signatureOf({ privateKey, algorithm = 'ES256', keyId }: ClientKey): ClientAuth | undefined {
  if (privateKey === undefined) return undefined
  let loading: Promise<ClientAuth> | undefined
  const load = async () => {
    const key = (await importPKCS8(privateKey, algorithm)) as never
    return PrivateKeyJwt(keyId === undefined ? key : { key, kid: keyId })
  }
  return async (server, client, body, headers) => {
    loading ??= load()
    const sign = await loading
    return sign(server, client, body, headers)
  }
}

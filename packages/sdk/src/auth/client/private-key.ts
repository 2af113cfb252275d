import { importPKCS8 } from 'jose'
import { type ClientAuth, PrivateKeyJwt } from 'oauth4webapi'

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

import { importPKCS8 } from 'jose'
import { type ClientAuth, PrivateKeyJwt } from 'oauth4webapi'

/** A key by which a client shows who it is, instead of a secret. */
export interface ClientKey {
  /** PKCS #8 in PEM: shows who we are by a signature instead of a secret (RFC 7523). */
  privateKey?: string | undefined
  /** Of the private key. Default `ES256`. */
  algorithm?: string | undefined
  /** The `kid` of the key, where the client has published several. */
  keyId?: string | undefined
}

/** Signs requests to the token endpoint; undefined without a key. */
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

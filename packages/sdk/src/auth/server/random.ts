import { toBase64Url } from '../../util/base64url.ts'

/** Returns a random token, 256 bits long by default, which cannot be guessed. */
export function randomToken(bits = 256): string {
  return toBase64Url(crypto.getRandomValues(new Uint8Array(bits / 8)))
}

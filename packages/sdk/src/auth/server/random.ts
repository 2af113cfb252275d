import { toBase64Url } from '../../util/base64url.ts'

/** Nobody guesses 256 bits. */
export function randomText(bits = 256): string {
  return toBase64Url(crypto.getRandomValues(new Uint8Array(bits / 8)))
}

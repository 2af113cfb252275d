import { toBase64Url } from '../../util/base64url.ts'
import { random } from '../../util/random.ts'

/** Returns a random token, 256 bits long by default, which cannot be guessed. */
export function randomToken(bits = 256): string {
  return toBase64Url(random.bytes(bits / 8))
}

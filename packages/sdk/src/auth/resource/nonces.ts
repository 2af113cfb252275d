import { toBase64Url } from '../../util/base64url.ts'
import { clock } from '../../util/clock.ts'
import { lazy } from '../../util/lazy.ts'
import { random } from '../../util/random.ts'

/** How long a nonce is issued. It is accepted for twice as long. */
const periodMs = 120_000

type CryptoKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>

/** Stateless nonces: a signature of the current period. Those of this period and the previous one are accepted. */
export class Nonces {
  readonly #key: () => Promise<CryptoKey>

  /** @param secret Shared by all processes. Default: a random key of this process. */
  constructor(secret: string | undefined) {
    const raw = secret === undefined ? undefined : new TextEncoder().encode(secret)
    if (raw && raw.length < 16) throw new TypeError('nonce.secret must have at least 16 bytes.')
    this.#key = lazy(() => importKey(raw ?? random.bytes(32)))
  }

  current(): Promise<string> {
    return this.#of(period())
  }

  async accepts(nonce: unknown): Promise<boolean> {
    return nonce === (await this.#of(period())) || nonce === (await this.#of(period() - 1))
  }

  async #of(number: number): Promise<string> {
    const text = new TextEncoder().encode(`dpop-nonce ${number}`)
    return toBase64Url(new Uint8Array(await crypto.subtle.sign('HMAC', await this.#key(), text)))
  }
}

function importKey(raw: Uint8Array<ArrayBuffer>): Promise<CryptoKey> {
  return crypto.subtle.importKey('raw', raw, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
}

function period(): number {
  return Math.floor(clock.now() / periodMs)
}

import { toBase64Url } from '../../util/base64url.ts'
import { clock } from '../../util/clock.ts'
import { lazy } from '../../util/lazy.ts'

/** How long one is given out; it is accepted twice as long. */
const periodMs = 120_000

type CryptoKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>

/** Nonces that need no memory: a signature of the time they were made in. Those of this period and the one before count. */
export class Nonces {
  readonly #key: () => Promise<CryptoKey>

  /** @param secret Shared between nodes. Without one, a random key that lives as long as the process. */
  constructor(secret: string | undefined) {
    const raw = secret === undefined ? undefined : new TextEncoder().encode(secret)
    if (raw && raw.length < 16) throw new TypeError('nonce.secret must have at least 16 bytes')
    this.#key = lazy(() => importKey(raw ?? crypto.getRandomValues(new Uint8Array(32))))
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

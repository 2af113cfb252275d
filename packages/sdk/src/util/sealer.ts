import { toBase64Url } from './base64url.ts'
import { lazy } from './lazy.ts'
import { random } from './random.ts'

const ivBytes = 12

type CryptoKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>

/** A secret, or a function that returns it on first use. */
export type Secret = string | Uint8Array | (() => string | Uint8Array)

/**
 * Encrypts small values so that a peer can store them but neither read nor change them (AES-256-GCM with WebCrypto, so
 * that it runs on every runtime). The first key encrypts; every key decrypts, which allows rotation.
 */
export class Sealer {
  readonly #keys: () => Promise<CryptoKey[]>

  /** @param secrets Shared between nodes, newest first. Default: a random key, valid until the process exits. */
  constructor(secrets: readonly Secret[] = []) {
    this.#keys = lazy(() => Promise.all((secrets.length > 0 ? secrets : [randomKey]).map(importKey)))
  }

  /** @param purpose What the value is for. It can be opened only for the same purpose. */
  async seal(value: unknown, purpose: string): Promise<string> {
    const [key] = await this.#keys()
    const iv = random.bytes(ivBytes)
    const text = new TextEncoder().encode(JSON.stringify(value))
    const sealed = new Uint8Array(await crypto.subtle.encrypt(gcm(iv, purpose), key!, text))
    const whole = new Uint8Array(ivBytes + sealed.length)
    whole.set(iv)
    whole.set(sealed, ivBytes)
    return toBase64Url(whole)
  }

  /** Returns the value, or undefined if it was not sealed with one of the keys for this purpose. */
  async open(token: string, purpose: string): Promise<unknown> {
    const whole = fromBase64Url(token)
    if (!whole || whole.length <= ivBytes) return undefined
    for (const key of await this.#keys()) {
      try {
        const algorithm = gcm(whole.subarray(0, ivBytes), purpose)
        const text = await crypto.subtle.decrypt(algorithm, key, whole.subarray(ivBytes))
        return JSON.parse(new TextDecoder().decode(text))
      } catch {
        // Not sealed with this key. Try the next one.
      }
    }
    return undefined
  }
}

function randomKey(): Uint8Array {
  return random.bytes(32)
}

async function importKey(given: Secret): Promise<CryptoKey> {
  const secret = typeof given === 'function' ? given() : given
  const bytes = typeof secret === 'string' ? new TextEncoder().encode(secret) : secret
  const digest = await crypto.subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>)
  return crypto.subtle.importKey('raw', digest, 'AES-GCM', false, ['encrypt', 'decrypt'])
}

function gcm(iv: Uint8Array, purpose: string) {
  return { name: 'AES-GCM', iv: iv as Uint8Array<ArrayBuffer>, additionalData: new TextEncoder().encode(purpose) }
}

function fromBase64Url(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (!/^[\w-]*$/.test(text)) return undefined
  try {
    const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'))
    const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0))
    // The last character may have unused bits. Only the canonical encoding is accepted.
    return toBase64Url(bytes) === text ? bytes : undefined
  } catch {
    return undefined
  }
}

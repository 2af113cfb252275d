import type { AuditLogOptions } from './audit.ts'
import type { Digest } from './chain.ts'

/** Returns SHA-256, or HMAC with SHA-256 if there is a key, by the Web Crypto API, which every runtime has. */
export function webDigest(key: AuditLogOptions['key']): Digest {
  if (key === undefined) return async (text) => toHex(await crypto.subtle.digest('SHA-256', toBytes(text)))
  const imported = crypto.subtle.importKey('raw', keyBytes(key), { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
  // Rejections are reported when the key is used.
  imported.catch(() => {})
  return async (text) => toHex(await crypto.subtle.sign('HMAC', await imported, toBytes(text)))
}

/** Returns the bytes of a key. Throws if it is empty. */
export function keyBytes(key: string | Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = typeof key === 'string' ? toBytes(key) : new Uint8Array(key)
  if (bytes.byteLength === 0) throw new TypeError('The key of the audit log is empty. Pass at least 32 random bytes.')
  return bytes
}

/** Returns the UTF-8 bytes of a text. */
export function toBytes(text: string): Uint8Array<ArrayBuffer> {
  return encoder.encode(text)
}

const encoder = new TextEncoder()

function toHex(bytes: ArrayBuffer): string {
  return Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** A secret for encryption: at least 32 random characters or bytes. */
export type StateKey = string | Uint8Array

/** Throws if a key is short enough to be guessed. */
export function checkStateKey(key: unknown): void {
  const isKey = typeof key === 'string' || key instanceof Uint8Array
  if (!isKey || key.length < 32) throw new TypeError('stateKey must have at least 32 random characters or bytes')
}

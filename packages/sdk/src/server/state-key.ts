/** A secret that seals values: 32 random characters or bytes, or more. */
export type StateKey = string | Uint8Array

/** Throws on a key that could be guessed, with which anyone could make values of ours. */
export function checkStateKey(key: unknown): void {
  const isKey = typeof key === 'string' || key instanceof Uint8Array
  if (!isKey || key.length < 32) throw new TypeError('A stateKey needs 32 random characters or bytes, or more')
}

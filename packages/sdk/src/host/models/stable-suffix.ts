const offset = 0xcbf29ce484222325n
const prime = 0x100000001b3n

/**
 * Returns ten characters that depend on a name alone, to tell shortened names apart. Not secure against names that were made to
 * collide, so the caller has to check for collisions.
 */
export function stableSuffix(name: string): string {
  let hash = offset
  // FNV-1a, which is synchronous and the same in every runtime.
  for (const byte of new TextEncoder().encode(name)) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * prime)
  return hash.toString(36).padStart(13, '0').slice(-10)
}

/** Scheme and host may be in capitals (2025-06-18 authorization, canonical server URI); the rest is compared as it is. */
export function isSameResource(one: string, other: string): boolean {
  if (one === other) return true
  return URL.canParse(one) && URL.canParse(other) && new URL(one).href === new URL(other).href
}

/** How long, and for whom, a result may be cached. Since 2026-07-28, and both required where they apply. */
export interface CacheHints {
  /** Milliseconds, a non-negative integer. */
  ttlMs?: number | undefined
  cacheScope?: 'public' | 'private' | undefined
}

/** Describes what is wrong with caching hints, or returns undefined (2026-07-28 caching). */
export function cacheHintsProblem({ ttlMs, cacheScope }: CacheHints): string | undefined {
  if (ttlMs !== undefined && !(Number.isSafeInteger(ttlMs) && ttlMs >= 0))
    return 'ttlMs must be a whole number of at least 0'
  if (cacheScope !== undefined && cacheScope !== 'public' && cacheScope !== 'private') {
    return "cacheScope must be 'public' or 'private'"
  }
  return undefined
}

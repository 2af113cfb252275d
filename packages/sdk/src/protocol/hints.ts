import type { Annotations, CacheHints } from './types.ts'

/** What is wrong with caching hints, or undefined (2026-07-28 caching). */
export function cacheHintsProblem({ ttlMs, cacheScope }: CacheHints): string | undefined {
  if (ttlMs !== undefined && !(Number.isSafeInteger(ttlMs) && ttlMs >= 0))
    return 'ttlMs must be a whole number of at least 0'
  if (cacheScope !== undefined && cacheScope !== 'public' && cacheScope !== 'private') {
    return "cacheScope must be 'public' or 'private'"
  }
  return undefined
}

/** What is wrong with annotations, or undefined (2025-06-18 resources, annotations). */
export function annotationsProblem({ audience, priority, lastModified }: Annotations): string | undefined {
  const isAudience = (value: unknown) => value === 'user' || value === 'assistant'
  if (audience !== undefined && !(Array.isArray(audience) && audience.every(isAudience))) {
    return "annotations.audience must be a list of 'user' and 'assistant'"
  }
  if (priority !== undefined && !(priority >= 0 && priority <= 1))
    return 'annotations.priority must lie between 0 and 1'
  if (lastModified !== undefined && !isIsoDate(lastModified)) return 'annotations.lastModified must be an ISO 8601 date'
  return undefined
}

function isIsoDate(text: string): boolean {
  return /^\d{4}-\d\d-\d\d(T[\d:.]+(Z|[+-]\d\d:?\d\d)?)?$/.test(text) && !Number.isNaN(Date.parse(text))
}

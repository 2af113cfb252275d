import type { Result } from './types.ts'

/** Who may reuse a cached result. */
export type CacheScope = 'public' | 'private'

/** How long, and for whom, a client may cache a result (2026-07-28). */
export interface CacheHint {
  ttlMs?: number
  cacheScope?: CacheScope
}

/** The methods whose results can be cached. */
export type CacheableResultMethod =
  | 'tools/list'
  | 'prompts/list'
  | 'resources/list'
  | 'resources/templates/list'
  | 'resources/read'
  | 'server/discover'

export const cacheableMethods: ReadonlySet<string> = new Set<CacheableResultMethod>([
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'server/discover',
])

/** Where the hint of a server or resource waits until it is known whether the revision has hints. */
const hintOfServer: unique symbol = Symbol('cache hint')
type Hinted = { [hintOfServer]?: CacheHint }

/** Throws if a hint is invalid. */
export function checkCacheHint({ ttlMs, cacheScope }: CacheHint, place: string): void {
  if (ttlMs !== undefined && !isTtl(ttlMs)) {
    throw new RangeError(`Invalid cache hint for ${place}: ttlMs must be a non-negative safe integer (got ${ttlMs})`)
  }
  if (cacheScope !== undefined && !isScope(cacheScope)) {
    throw new RangeError(
      `Invalid cache hint for ${place}: cacheScope must be 'public' or 'private' (got ${String(cacheScope)})`,
    )
  }
}

/** Adds a hint that applies where the result says nothing itself. A hint that was added earlier is more specific. */
export function withHint<T extends object>(result: T, hint: CacheHint | undefined): T {
  if (!hint) return result
  return { ...result, [hintOfServer]: { ...defined(hint), ...defined((result as Hinted)[hintOfServer] ?? {}) } }
}

/** Removes the hint for a revision or result that has none. */
export function withoutHint(result: Result): Result {
  if (!(hintOfServer in result)) return result
  const { [hintOfServer]: _, ...rest } = result as Result & Hinted
  return rest
}

/** Writes the hint into the result. Without any, the result must not be reused. */
export function fillCacheHints(result: Result): Result {
  const { [hintOfServer]: hint, ...rest } = result as Result & Hinted & { ttlMs?: unknown; cacheScope?: unknown }
  return {
    ...rest,
    ttlMs: isTtl(rest.ttlMs) ? rest.ttlMs : (hint?.ttlMs ?? 0),
    cacheScope: isScope(rest.cacheScope) ? rest.cacheScope : (hint?.cacheScope ?? 'private'),
  }
}

function defined({ ttlMs, cacheScope }: CacheHint): CacheHint {
  return { ...(ttlMs !== undefined && { ttlMs }), ...(cacheScope !== undefined && { cacheScope }) }
}

function isTtl(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

function isScope(value: unknown): value is CacheScope {
  return value === 'public' || value === 'private'
}

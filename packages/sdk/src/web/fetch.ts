import type { GuardedFetch } from '../net/guarded-fetch.ts'
import type { SingleFetch } from '../net/single-request.ts'

export interface WebOptions {
  /**
   * Makes the requests, one at a time and without following redirects. Default: on Node, a client that resolves names itself and
   * connects to public addresses only; the global `fetch` without credentials elsewhere.
   */
  fetch?: SingleFetch | undefined
  /** For the whole download, in milliseconds. Default 10,000. */
  timeoutMs?: number | undefined
  signal?: AbortSignal | undefined
}

/** A fetch for URLs that a server chose. It is loaded only when it is needed. */
export async function openFetch(
  { fetch, timeoutMs }: WebOptions,
  maxBytes: number,
  maxRedirects: number,
): Promise<GuardedFetch> {
  const { guardedFetch } = await import('../net/guarded-fetch.ts')
  return guardedFetch({ fetch: fetch ?? plainFetch(), timeoutMs, maxBytes, maxRedirects })
}

/** Browsers add cookies unless told otherwise. On Node the guarded fetch has a better way of its own. */
function plainFetch(): SingleFetch | undefined {
  if (typeof process === 'object' && process.versions?.node && 'getBuiltinModule' in process) return undefined
  return (url, init) =>
    globalThis.fetch(url, { ...init, credentials: 'omit', referrerPolicy: 'no-referrer' } as RequestInit)
}

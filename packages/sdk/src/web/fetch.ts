import type { GuardedFetch, GuardedFetchOptions } from '../net/guarded-fetch.ts'
import type { FetchLike } from '../net/send.ts'
import { usesNodeHttp } from '../util/runtime.ts'

export interface WebOptions {
  /**
   * Sends the requests, one at a time and without following redirects. Default: on Node, a client that connects to
   * public addresses only; elsewhere, the global `fetch` without credentials.
   */
  fetch?: FetchLike | undefined
  /** The time limit for the whole download. Default 10,000. */
  timeoutMs?: number | undefined
  /** Aborts the download. */
  signal?: AbortSignal | undefined
}

/** Creates a `fetch` for URLs that a server chose. Its code is loaded only when it is needed. */
export async function openFetch(
  { fetch, timeoutMs }: WebOptions,
  limits: Pick<GuardedFetchOptions, 'maxBytes' | 'otherOrigins'>,
): Promise<GuardedFetch> {
  const { guardedFetch } = await import('../net/guarded-fetch.ts')
  return guardedFetch({ fetch: fetch ?? plainFetch(), timeoutMs, ...limits })
}

/** Browsers send cookies by default. On Node, the guarded fetch sends the requests itself. */
function plainFetch(): FetchLike | undefined {
  if (usesNodeHttp()) return undefined
  return (url, init) =>
    globalThis.fetch(url, { ...init, credentials: 'omit', referrerPolicy: 'no-referrer' } as RequestInit)
}

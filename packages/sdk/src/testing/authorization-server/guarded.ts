import { type GuardedFetch, guardedFetch } from '../../net/guarded-fetch.ts'
import type { Settings } from './options.ts'

/** Fetches small documents from untrusted URLs, and also from this machine. */
export function guarded({ fetch }: Settings): GuardedFetch {
  return guardedFetch({ fetch, allowLoopback: 'http', maxBytes: 65_536, timeoutMs: 5_000, maxRedirects: 0 })
}

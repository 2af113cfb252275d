/** Cloudflare Workers allow timers, random values and network access only while they handle a request. */
export function worksOnlyInRequests(): boolean {
  const { navigator } = globalThis as { navigator?: { userAgent?: string } }
  return navigator?.userAgent === 'Cloudflare-Workers'
}

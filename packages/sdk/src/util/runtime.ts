/** Cloudflare Workers allow timers, random values and network access only while they handle a request. */
export function worksOnlyInRequests(): boolean {
  const { navigator } = globalThis as { navigator?: { userAgent?: string } }
  return navigator?.userAgent === 'Cloudflare-Workers'
}

/** True on Node and compatible runtimes, where `node:http` is available without an import. */
export function usesNodeHttp(): boolean {
  return typeof process === 'object' && process.versions?.node !== undefined && 'getBuiltinModule' in process
}

/** Cloudflare Workers allow timers, random values and network access only while they handle a request. */
export function worksOnlyInRequests(): boolean {
  const { navigator } = globalThis as { navigator?: { userAgent?: string } }
  return navigator?.userAgent === 'Cloudflare-Workers'
}

/** True on Node and runtimes that are compatible with it, where `node:http` is there without an import. */
export function usesNodeHttp(): boolean {
  return typeof process === 'object' && process.versions?.node !== undefined && 'getBuiltinModule' in process
}

/** The body of a refusal before any message was read. */
export function refusalBody(message: string) {
  return { jsonrpc: '2.0' as const, error: { code: -32000, message }, id: null }
}

/** Addresses that only this machine can reach. */
export const localAddresses: readonly string[] = ['127.0.0.1', 'localhost', '::1']

/** Warns about a server that other machines reach and that accepts every host name. */
export function warnIfOpen(host: string): void {
  if (host !== '0.0.0.0' && host !== '::') return
  console.warn(
    `Warning: Server is binding to ${host} without DNS rebinding protection. ` +
      'Consider using the allowedHosts option to restrict allowed hosts, or use authentication to protect your server.',
  )
}

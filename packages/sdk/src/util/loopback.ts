/**
 * True if a host is this machine: a loopback address or `localhost`, which name servers cannot redefine.
 *
 * @param host As in `URL.hostname` or a `Host` header without its port, or an address to listen on (`::1` without brackets).
 */
export function isLoopbackHost(host: string): boolean {
  return /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\]|::1)$/i.test(host)
}

/** True if a connection comes from this machine. `address` is the `remoteAddress` of a socket. */
export function isLoopbackAddress(address: string): boolean {
  return isLoopbackHost(address.replace(/^::ffff:/i, ''))
}

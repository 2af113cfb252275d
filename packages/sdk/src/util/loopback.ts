/**
 * True if a host is this machine: a loopback address or `localhost`, which name servers cannot redefine.
 *
 * @param host As in `URL.hostname`, or an address to listen on (`::1` without brackets).
 */
export function isLoopbackHost(host: string): boolean {
  return /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\]|::1)$/.test(host)
}

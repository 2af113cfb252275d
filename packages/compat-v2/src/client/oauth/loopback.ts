/** Whether a host name is this machine (RFC 8252, 7.3; RFC 6761, 6.3). */
export function isLoopbackHost(hostname: string): boolean {
  return /^(localhost|.+\.localhost|127\.0\.0\.1|\[?::1\]?)$/.test(hostname)
}

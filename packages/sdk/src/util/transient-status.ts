/**
 * True if the same request may succeed later, going by the status of an HTTP error response. 501 and 505 say that the server does not
 * support what was asked for (RFC 9110, 15.6.2 and 15.6.6), which does not change by waiting.
 */
export function isTransientStatus(status: number): boolean {
  if (status === 501 || status === 505) return false
  return status >= 500 || status === 429 || status === 408
}

/**
 * Whether two resource identifiers are the same. They are compared as they are written (RFC 8707, RFC 9728 3.3), with two
 * exceptions: scheme and host may be in capitals (2025-06-18 authorization, canonical server URI), and a bare origin may have
 * a slash at its end, as clients that keep it in a `URL` object send it.
 */
export function isSameResource(one: string, other: string): boolean {
  return canonical(one) === canonical(other)
}

function canonical(resource: string): string {
  // A user name is left as it is; no server has one, so that it equals nothing but itself.
  const [, origin, rest] = /^([a-z][a-z\d+.-]*:\/\/[^/?#@\\]*)(.*)$/is.exec(resource) ?? []
  if (origin === undefined) return resource
  return origin.toLowerCase() + (rest === '/' ? '' : rest)
}

/**
 * Returns whether two resource identifiers are the same. They are compared as strings (RFC 8707, RFC 9728 3.3), with two
 * exceptions: the case of scheme and host (2025-06-18 authorization, canonical server URI), and a trailing slash after a bare
 * origin, which clients send that keep the resource in a `URL` object.
 */
export function isSameResource(one: string, other: string): boolean {
  return canonical(one) === canonical(other)
}

function canonical(resource: string): string {
  // URLs with a user name are not normalized, so they never equal the resource of a server.
  const [, origin, rest] = /^([a-z][a-z\d+.-]*:\/\/[^/?#@\\]*)(.*)$/is.exec(resource) ?? []
  if (origin === undefined) return resource
  return origin.toLowerCase() + (rest === '/' ? '' : rest)
}

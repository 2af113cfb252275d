/** The resource identifier (RFC 8707) of a server: its URL without the fragment. */
export function resourceUrlFromServerUrl(url: URL | string): URL {
  const resource = new URL(url)
  resource.hash = ''
  return resource
}

/** Whether a requested resource is the configured one or below it: same origin, and the path begins with its segments. */
export function checkResourceAllowed({
  requestedResource,
  configuredResource,
}: {
  requestedResource: URL | string
  configuredResource: URL | string
}): boolean {
  const requested = new URL(requestedResource)
  const configured = new URL(configuredResource)
  // "/mcp" is not below "/mcp/", so a path that is shorter never matches.
  const isLongEnough = requested.pathname.length >= configured.pathname.length
  return requested.origin === configured.origin && isLongEnough && asFolder(requested).startsWith(asFolder(configured))
}

function asFolder({ pathname }: URL): string {
  return pathname.endsWith('/') ? pathname : `${pathname}/`
}

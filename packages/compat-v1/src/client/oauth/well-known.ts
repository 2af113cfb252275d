/** The URL of a metadata document, and its format. */
export interface DiscoveryUrl {
  url: URL
  type: 'oauth' | 'oidc'
}

/** The URLs where an authorization server may publish its metadata, in the order in which they are tried. */
export function buildDiscoveryUrls(authorizationServerUrl: string | URL): DiscoveryUrl[] {
  const { origin, pathname } = new URL(authorizationServerUrl)
  const path = withoutTrailingSlash(pathname)
  const urls: DiscoveryUrl[] = [
    { url: new URL(`/.well-known/oauth-authorization-server${path}`, origin), type: 'oauth' },
    { url: new URL(`/.well-known/openid-configuration${path}`, origin), type: 'oidc' },
  ]
  // OpenID Connect Discovery appends to the path of the issuer, RFC 8414 inserts before it.
  if (path !== '') urls.push({ url: new URL(`${path}/.well-known/openid-configuration`, origin), type: 'oidc' })
  return urls
}

/** The URL of a well-known document about exactly this URL, including its path and query. */
export function wellKnownUrl(name: string, about: URL): URL {
  const url = new URL(`/.well-known/${name}${withoutTrailingSlash(about.pathname)}`, about)
  url.search = about.search
  return url
}

function withoutTrailingSlash(path: string): string {
  return path.endsWith('/') ? path.slice(0, -1) : path
}

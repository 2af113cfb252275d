/** Describes an identity provider: its endpoints, and how to find out who signed in. */
export interface UpstreamProvider {
  /** The display name, such as `GitHub`. */
  readonly name: string
  /** The client id of the broker at the provider. */
  readonly clientId: string
  /** The client secret of the broker at the provider. */
  readonly clientSecret?: string | undefined
  /** The issuer identifier, byte for byte. Without `endpoints`, its metadata is discovered (OpenID Connect discovery). */
  readonly issuer: string
  /** The endpoints of a provider without metadata. */
  readonly endpoints?: { readonly authorization: string; readonly token: string } | undefined
  /** Scopes to request. */
  readonly scopes: readonly string[]
  /** Whether the provider supports PKCE. Default true. */
  readonly pkce?: boolean | undefined
  /** Where the user id comes from: the ID token, or a member of a JSON document at a URL. Default `id_token`. */
  readonly subject?: 'id_token' | { readonly url: string; readonly member: string } | undefined
  /** Further parameters of the authorization request. */
  readonly parameters?: Readonly<Record<string, string>> | undefined
  /** How the client secret is sent. Default `basic`. */
  readonly authentication?: 'basic' | 'post' | undefined
}

/** The client of the broker at a provider. */
export interface ProviderClient {
  clientId: string
  clientSecret?: string | undefined
  /** Scopes to request besides those for signing in, for use with `upstreamToken`. */
  scopes?: readonly string[] | undefined
}

/**
 * Descriptions of common identity providers. Each is a plain object: spread it to change it.
 *
 * @example
 * const upstream = providers.github({ clientId, clientSecret, scopes: ['repo'] })
 */
export const providers = {
  /** GitHub, both OAuth apps and GitHub apps. */
  github(client: ProviderClient): UpstreamProvider {
    return {
      ...identity(client),
      name: 'GitHub',
      issuer: 'https://github.com/login/oauth',
      endpoints: {
        authorization: 'https://github.com/login/oauth/authorize',
        token: 'https://github.com/login/oauth/access_token',
      },
      scopes: scopesOf(['read:user'], client),
      subject: { url: 'https://api.github.com/user', member: 'id' },
      authentication: 'post',
    }
  },

  /** Google accounts. */
  google(client: ProviderClient): UpstreamProvider {
    return {
      ...openId('Google', 'https://accounts.google.com', client, []),
      // Google issues a refresh token only if users are asked each time.
      parameters: { access_type: 'offline', prompt: 'consent' },
    }
  },

  /** Microsoft Entra. `tenant` is the id of the tenant, not its name, because the issuer contains the id. */
  microsoft({ tenant, ...client }: ProviderClient & { tenant: string }): UpstreamProvider {
    if (!/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(tenant)) {
      throw new TypeError(
        `providers.microsoft: tenant must be the id of a directory (a GUID), not ${JSON.stringify(tenant)}.`,
      )
    }
    const issuer = `https://login.microsoftonline.com/${tenant.toLowerCase()}/v2.0`
    return { ...openId('Microsoft', issuer, client, ['offline_access']), authentication: 'post' }
  },

  /** Okta. `server` is the name of a custom authorization server, such as `default`. */
  okta({
    domain,
    server,
    ...client
  }: ProviderClient & { domain: string; server?: string | undefined }): UpstreamProvider {
    const issuer = `https://${hostOf('okta', domain)}${server === undefined ? '' : `/oauth2/${encodeURIComponent(server)}`}`
    return openId('Okta', issuer, client, ['offline_access'])
  },

  /** Auth0. */
  auth0({ domain, ...client }: ProviderClient & { domain: string }): UpstreamProvider {
    return openId('Auth0', `https://${hostOf('auth0', domain)}/`, client, ['offline_access'])
  },

  /** GitLab, by default gitlab.com. */
  gitlab({ domain = 'gitlab.com', ...client }: ProviderClient & { domain?: string | undefined }): UpstreamProvider {
    return openId('GitLab', `https://${hostOf('gitlab', domain)}`, client, [])
  },

  /** Any provider with OpenID Connect discovery. */
  oidc({ issuer, name, ...client }: ProviderClient & { issuer: string; name?: string | undefined }): UpstreamProvider {
    return openId(name ?? new URL(issuer).host, issuer, client, [])
  },
}

function openId(name: string, issuer: string, client: ProviderClient, more: readonly string[]): UpstreamProvider {
  return { ...identity(client), name, issuer, scopes: scopesOf(['openid', 'profile', 'email', ...more], client) }
}

function identity({ clientId, clientSecret }: ProviderClient) {
  return { clientId, ...(clientSecret !== undefined && { clientSecret }) }
}

function scopesOf(needed: readonly string[], { scopes = [] }: ProviderClient): readonly string[] {
  return [...new Set([...needed, ...scopes])]
}

function hostOf(provider: string, domain: string): string {
  const isHost = URL.canParse(`https://${domain}/`) && new URL(`https://${domain}/`).host === domain.toLowerCase()
  if (isHost) return domain.toLowerCase()
  throw new TypeError(
    `providers.${provider}: domain must be a host such as 'login.example.com', not ${JSON.stringify(domain)}.`,
  )
}

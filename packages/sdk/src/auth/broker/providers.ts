/** An identity provider, as data: where it is, and how to learn from it who signed in. */
export interface UpstreamProvider {
  /** What people read: `You then sign in with GitHub`. */
  readonly name: string
  /** The one client that we are there. */
  readonly clientId: string
  readonly clientSecret?: string | undefined
  /** Its name, byte for byte. Without `endpoints`, its metadata is looked up there (OpenID Connect discovery). */
  readonly issuer: string
  /** Where it has no metadata. */
  readonly endpoints?: { readonly authorization: string; readonly token: string } | undefined
  /** What we ask it for. */
  readonly scopes: readonly string[]
  /** Whether it takes PKCE. Default true. */
  readonly pkce?: boolean | undefined
  /** `id_token`, or a place that says who a token belongs to, and the member of the answer that does. Default `id_token`. */
  readonly subject?: 'id_token' | { readonly url: string; readonly member: string } | undefined
  /** Further parameters of the page. */
  readonly parameters?: Readonly<Record<string, string>> | undefined
  /** How we show the secret. Default `basic`. */
  readonly authentication?: 'basic' | 'post' | undefined
}

export interface ProviderClient {
  clientId: string
  clientSecret?: string | undefined
  /** Asked for besides what signing in needs: what `upstreamToken` is for. */
  scopes?: readonly string[] | undefined
}

/** Descriptions of well-known providers. Each is a plain object: spread it to change it. */
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

  google(client: ProviderClient): UpstreamProvider {
    return {
      ...openId('Google', 'https://accounts.google.com', client, []),
      // Google gives a refresh token only when people are asked each time.
      parameters: { access_type: 'offline', prompt: 'consent' },
    }
  },

  /** Microsoft Entra. The id of the tenant, not its name: that is how its issuer is called. */
  microsoft({ tenant, ...client }: ProviderClient & { tenant: string }): UpstreamProvider {
    if (!/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(tenant)) {
      throw new TypeError(
        `providers.microsoft: tenant is the id of a directory (a GUID), not ${JSON.stringify(tenant)}`,
      )
    }
    const issuer = `https://login.microsoftonline.com/${tenant.toLowerCase()}/v2.0`
    return { ...openId('Microsoft', issuer, client, ['offline_access']), authentication: 'post' }
  },

  /** @param options `server` names one of the custom authorization servers, such as `default`. */
  okta({
    domain,
    server,
    ...client
  }: ProviderClient & { domain: string; server?: string | undefined }): UpstreamProvider {
    const issuer = `https://${hostOf('okta', domain)}${server === undefined ? '' : `/oauth2/${encodeURIComponent(server)}`}`
    return openId('Okta', issuer, client, ['offline_access'])
  },

  auth0({ domain, ...client }: ProviderClient & { domain: string }): UpstreamProvider {
    return openId('Auth0', `https://${hostOf('auth0', domain)}/`, client, ['offline_access'])
  },

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
    `providers.${provider}: domain is a host such as 'login.example.com', not ${JSON.stringify(domain)}`,
  )
}

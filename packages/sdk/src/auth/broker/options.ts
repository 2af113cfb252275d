import type { FetchLike } from '../../net/send.ts'
import type { ValueStore } from '../../store/ports.ts'
import type { UpstreamProvider } from './providers.ts'

/** Options of `broker`. */
export interface BrokerOptions {
  /** The public URL of this server, such as `https://mcp.example.com/mcp`. Tokens are issued for it only. */
  resource: string | URL
  /** The identity provider where users sign in: `providers.github({ clientId, clientSecret })`, ..., or your own. */
  upstream: UpstreamProvider
  /** Scopes that clients may request, with a description for the consent page. Default: none. */
  scopes?: Readonly<Record<string, string>> | undefined
  /** Scopes that every request needs, as in `auth` of `serveHttp`. Default: none. */
  requiredScopes?: readonly string[] | undefined
  /**
   * Encryption keys, newest first, at least 32 characters each. Use the same ones in every process. Default: a random key, so
   * after a restart clients have to register again and users have to sign in again.
   */
  secrets?: readonly string[] | undefined
  /** Stores grants and tokens, encrypted. Default: in memory, with a size limit. */
  store?: ValueStore | undefined
  /** The issuer identifier, below which the endpoints are served. Default: the origin of `resource`. */
  issuer?: string | undefined
  /** The display name of this server on the consent page. Default: the host of `resource`. */
  resourceName?: string | undefined
  /** The path of the redirect URI to register at the provider, below the issuer. Default `/callback`. */
  callbackPath?: string | undefined
  /**
   * Schemes of redirect URIs of native applications, such as `['cursor']`, besides https, and http on loopback addresses.
   * Default: none.
   */
  redirectSchemes?: readonly string[] | undefined
  /**
   * Hosts whose Client ID Metadata Documents are accepted: `'app.example'`, or `'*.app.example'` for its subdomains. An empty
   * list rejects all of them. Clients that register are not affected. Default: every public host.
   */
  trustedClientHosts?: readonly string[] | undefined
  /** The lifetime of access tokens. At most 3,600, which is the default. */
  accessTokenSeconds?: number | undefined
  /** How long an unused login lasts. Default 30 days. */
  refreshTokenSeconds?: number | undefined
  /** The number of pending logins in this process. Default 2,000. */
  maxPending?: number | undefined
  /** Receives internal errors, without secrets. Default: writes them to stderr. */
  onError?: ((error: Error) => void) | undefined
  /**
   * Sends the requests to the provider and for client metadata documents, without following redirects. Default: Node's HTTP
   * client, which also checks the addresses that names resolve to; `fetch` on other runtimes.
   */
  fetch?: FetchLike | undefined
}

/** The options with all defaults applied. */
export interface BrokerSettings {
  readonly resource: string
  readonly resourceName: string
  readonly issuer: string
  readonly callbackUrl: string
  readonly callbackPath: string
  readonly scopes: ReadonlyMap<string, string>
  readonly defaultScopes: readonly string[]
  readonly redirectSchemes: readonly string[]
  readonly trustedClientHosts: readonly string[] | undefined
  readonly accessTokenSeconds: number
  readonly refreshTokenSeconds: number
  readonly maxPending: number
  readonly reportError: (error: unknown) => void
}

import type { SingleFetch } from '../../net/single-request.ts'
import type { ValueStore } from '../../store/ports.ts'
import type { UpstreamProvider } from './providers.ts'

export interface BrokerOptions {
  /** The URL of this server as clients know it, such as `https://mcp.example.com/mcp`. Tokens are for it and nothing else. */
  resource: string | URL
  /** Where people sign in: `providers.github({ clientId, clientSecret })` and the like, or a description of your own. */
  upstream: UpstreamProvider
  /** What clients may ask for, and what people read about it. Default: no scopes. */
  scopes?: Readonly<Record<string, string>> | undefined
  /** What every request needs, as in `auth` of `serveHttp`. Default: nothing in particular. */
  requiredScopes?: readonly string[] | undefined
  /**
   * Keys for what is kept and given out, newest first, at least 32 characters each; the same in every process. Default: a
   * random one, so that clients have to register anew and people to sign in anew after a restart.
   */
  secrets?: readonly string[] | undefined
  /** What was given out, sealed. Default: in memory, bounded. */
  store?: ValueStore | undefined
  /** What this authorization server is called. Default: the origin of `resource`. The endpoints are below it. */
  issuer?: string | undefined
  /** What people read on the page. Default: the host of `resource`. */
  resourceName?: string | undefined
  /** Where the provider sends people back to, below the issuer. Register that URL there. Default `/callback`. */
  callbackPath?: string | undefined
  /**
   * Schemes that applications have for their redirect URIs, such as `['cursor']`, besides https and http on their own machine.
   * Default: none.
   */
  redirectSchemes?: readonly string[] | undefined
  /**
   * Hosts whose Client ID Metadata Documents are accepted: `'app.example'`, or `'*.app.example'` for its subdomains. An empty
   * list refuses all of them; clients that register are not affected. Default: every public host.
   */
  trustedClientHosts?: readonly string[] | undefined
  /** At most, and by default, 3,600. */
  accessTokenSeconds?: number | undefined
  /** How long people stay signed in at most without using it. Default 30 days. */
  refreshTokenSeconds?: number | undefined
  /** People who are on their way through the provider at a time, in this process. Default 2,000. */
  maxPending?: number | undefined
  /** Hears of faults, without secrets. Default: they are written to stderr. */
  onError?: ((error: Error) => void) | undefined
  /**
   * Makes the requests to the provider and for documents about clients, one at a time and without following redirects.
   * Default: Node's own HTTP client, which also judges what names lead to; `fetch` elsewhere.
   */
  fetch?: SingleFetch | undefined
}

/** With every default in its place. */
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

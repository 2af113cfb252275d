import { isLoopbackUrl } from '../../net/address-policy.ts'
import { usesNodeHttp } from '../../util/runtime.ts'
import { browserAgent } from '../node/user-agent.ts'
import { MemoryTokenStore, type TokenStore } from '../token-store.ts'
import type { ClientAuth } from './client-auth.ts'
import { documentUrlProblem } from './client-metadata.ts'
import type { AuthFetch } from './context.ts'
import {
  type ClientCredentialsOptions,
  clientCredentials as clientCredentialsGrant,
  type EnterpriseManagedOptions,
  enterpriseManaged as enterpriseGrant,
  type Grant,
  type WorkloadIdentityOptions,
  workloadIdentity as workloadGrant,
} from './grants.ts'
import { fetchFor } from './metadata.ts'
import type { RedirectResult } from './provider-credentials.ts'
import type { Redirect, UserAgent } from './redirect-flow.ts'
import type { ClientIdentity } from './registration.ts'
import { OAuthSession } from './session.ts'
import { StoredCredentials, type StoredCredentialsOptions } from './stored-credentials.ts'

/** Options of every kind of OAuth client. */
export interface ClientAuthOptions {
  /** Scopes to request in addition to those that the server requires. Default: none. */
  scopes?: readonly string[] | undefined
  /** Where tokens and registrations are stored. Default: in memory, until the process exits. */
  store?: TokenStore | undefined
  /** Sends the requests to authorization servers. Default: a `guardedFetch`, for public https addresses only. */
  fetch?: AuthFetch | undefined
  /** Binds tokens to a key of the client (RFC 9449). Default: if the server requires it. */
  dpop?: boolean | undefined
}

/** Options of `oauth`. */
export interface OAuthOptions extends ClientAuthOptions, Partial<Omit<ClientIdentity, 'clientName'>> {
  /** The name of the client on consent pages. Default `Tenon`. */
  clientName?: string | undefined
  /** The URL that the user comes back to. Required with `authorize`. */
  redirectUrl?: string | undefined
  /**
   * Whether a user may be asked. With `false`, no browser is opened: tokens in `store` are used and refreshed, and if that is not
   * enough, requests fail with an `AuthError`. Let the user log in with `beginAuthorization` and the same `store`. Default true.
   */
  interactive?: boolean | undefined
  /**
   * Sends the user to the page, and returns the URL that they came back to, or its parameters. Default: opens the browser of this
   * machine, on Node.
   */
  authorize?: ((page: URL) => RedirectResult | Promise<RedirectResult>) | undefined
  /**
   * Shows the page to the user, who comes back to a port of this machine, on Node. Return the URL that they came back to if you
   * learn it in another way, for example because they paste it. Default: opens the browser, or prints the URL if there is none.
   */
  showPage?: ((page: URL) => ShownPage | Promise<ShownPage>) | undefined
}

/** The outcome of `showPage`: undefined to wait for the user. */
// biome-ignore lint/suspicious/noConfusingVoidType: functions without a return value are accepted
export type ShownPage = RedirectResult | undefined | void

/** A value for `auth` of `connect`. */
export type ClientAuthFactory = (server: URL) => ClientAuth

/**
 * Authorizes as a user, with OAuth 2.1. When the server requires a token, the user logs in with a browser. Tokens are stored,
 * refreshed before they expire, and replaced when the server requires more scopes.
 *
 * @example
 * const client = await connect('https://example.com/mcp', { auth: oauth({ store: fileTokenStore() }) })
 *
 * @example
 * // A web application that sends the user to the page itself:
 * const auth = oauth({ redirectUrl: 'https://my.app/callback', authorize: (page) => showAndWait(page) })
 */
export function oauth(options: OAuthOptions = {}): ClientAuthFactory {
  const { clientId, clientSecret, issuer, clientMetadataUrl, clientName = 'Tenon', register } = options
  const { privateKey, algorithm, keyId } = options
  const client = { clientId, clientSecret, issuer, clientMetadataUrl, clientName, register }
  const identity = { ...client, privateKey, algorithm, keyId }
  checkUrls(options)
  return sessionFor(options, { identity, userAgent: userAgentOf(options), grant: undefined })
}

/**
 * Authorizes as a machine, with a client secret or a private key (OAuth client credentials).
 *
 * @example
 * const auth = clientCredentials({ clientId: 'nightly-report', clientSecret: process.env.CLIENT_SECRET })
 * const client = await connect('https://example.com/mcp', { auth })
 */
export function clientCredentials(options: ClientCredentialsOptions & ClientAuthOptions): ClientAuthFactory {
  return withGrant(options, clientCredentialsGrant(options))
}

/**
 * Authorizes as a workload, with the JWT that its platform issues for it (RFC 7523).
 *
 * @example
 * const auth = workloadIdentity({ clientId: 'worker', assertion: () => readFile('/var/run/token', 'utf8') })
 */
export function workloadIdentity(options: WorkloadIdentityOptions & ClientAuthOptions): ClientAuthFactory {
  return withGrant(options, workloadGrant(options))
}

/**
 * Authorizes as a user who is signed in at the identity provider of their enterprise (ID-JAG).
 *
 * @example
 * const identityProvider = { tokenEndpoint: 'https://idp.example/token', clientId: 'app', idToken: () => session.idToken }
 * const auth = enterpriseManaged({ clientId: 'app', identityProvider })
 */
export function enterpriseManaged(options: EnterpriseManagedOptions & ClientAuthOptions): ClientAuthFactory {
  return withGrant(options, enterpriseGrant(options))
}

/**
 * Authorizes with a token that you already have. A function is called for each request; if the server rejects its token, it is
 * called once more.
 *
 * @example
 * const client = await connect('https://example.com/mcp', { auth: bearer(process.env.API_TOKEN) })
 */
export function bearer(token: string | (() => string | Promise<string>)) {
  if (typeof token === 'string' && /^Bearer\s/i.test(token))
    throw new TypeError('bearer() takes the token alone. Leave out "Bearer " at its beginning.')
  return {
    async headers(): Promise<Record<string, string>> {
      return { authorization: `Bearer ${typeof token === 'function' ? await token() : token}` }
    },
    async onUnauthorized({ count }: { count: number }): Promise<boolean> {
      return typeof token === 'function' && count < 2
    },
  }
}

/** Throws on URLs that no authorization server may accept. */
function checkUrls({ redirectUrl, clientMetadataUrl }: OAuthOptions): void {
  const redirect = redirectUrl !== undefined && URL.canParse(redirectUrl) ? new URL(redirectUrl) : undefined
  if (redirectUrl !== undefined && (!redirect || (redirect.protocol === 'http:' && !isLoopbackUrl(redirect)))) {
    throw new TypeError('redirectUrl must be an https: URL, or an http: URL on this machine')
  }
  const problem = clientMetadataUrl === undefined ? undefined : documentUrlProblem(clientMetadataUrl)
  if (problem !== undefined) throw new TypeError(`clientMetadataUrl ${problem}`)
}

function withGrant(options: ClientAuthOptions & { clientId: string }, grant: Grant): ClientAuthFactory {
  const identity = { clientId: options.clientId, clientName: '' }
  return sessionFor(options, { identity, userAgent: undefined, grant })
}

function sessionFor(
  options: ClientAuthOptions,
  source: Pick<StoredCredentialsOptions, 'identity' | 'userAgent' | 'grant'>,
): ClientAuthFactory {
  const { scopes = [], store = new MemoryTokenStore(), fetch, dpop = false } = options
  return (server) => {
    const credentials = new StoredCredentials(server, { ...source, scopes, store, dpop })
    return new OAuthSession(server, credentials, fetch ?? fetchFor(server))
  }
}

function userAgentOf({ authorize, redirectUrl, showPage, interactive = true }: OAuthOptions): UserAgent | undefined {
  if (!interactive && authorize) {
    throw new TypeError('oauth({ interactive: false }) never asks a user. Remove `authorize`')
  }
  if (!interactive) return undefined
  if (!authorize)
    return usesNodeHttp() ? browserAgent(showPage && (async (page) => toParams(await showPage(page)))) : undefined
  if (redirectUrl === undefined) throw new TypeError('oauth({ authorize }) requires `redirectUrl`')
  return {
    prepare: async (): Promise<Redirect> => ({
      url: redirectUrl,
      visit: async (page) => paramsOf(await authorize(page)),
      close: () => {},
    }),
  }
}

function toParams(shown: ShownPage): URLSearchParams | undefined {
  return shown ? paramsOf(shown) : undefined
}

function paramsOf(came: RedirectResult): URLSearchParams {
  if (came instanceof URLSearchParams) return came
  return new URL(came).searchParams
}

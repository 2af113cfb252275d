import { isLoopbackUrl } from '../../net/addresses.ts'
import { browserAgent } from '../node/user-agent.ts'
import { MemoryTokenStore, type TokenStore } from '../token-store.ts'
import { documentUrlProblem } from './client-metadata.ts'
import type { AuthFetch } from './context.ts'
import { fetchFor } from './discovery.ts'
import {
  type AssertionOptions,
  clientCredentials as clientCredentialsGrant,
  type EnterpriseOptions,
  enterpriseManaged as enterpriseGrant,
  type Grant,
  type MachineOptions,
  workloadIdentity as workloadGrant,
} from './grants.ts'
import { OAuthSession, type Redirect, type SessionOptions, type UserAgent } from './oauth-session.ts'
import type { ClientIdentity } from './registration.ts'

export interface CommonOptions {
  /** Asked for besides what the server asks for. */
  scopes?: readonly string[] | undefined
  /** Where tokens and registrations are kept. Default: in memory, for as long as the process lives. */
  store?: TokenStore | undefined
  /** Makes the requests to authorization servers. Default: one that goes to public https addresses only. */
  fetch?: AuthFetch | undefined
  /** Bind tokens to a key of ours (RFC 9449). Default: where the server wants it. */
  dpop?: boolean | undefined
}

export interface OAuthOptions extends CommonOptions, Partial<Omit<ClientIdentity, 'clientName'>> {
  /** What users read on consent pages. Default `Tenon`. */
  clientName?: string | undefined
  /** Where the user comes back to, with `authorize`. */
  redirectUrl?: string | undefined
  /**
   * Whether a user may be asked. With `false` no browser is ever opened: what is kept in `store` is used and refreshed, and
   * where that is not enough it fails with an `AuthError`. Have the user log in with `beginAuthorization` and the same `store`,
   * or give `authorize`. Default true.
   */
  interactive?: boolean | undefined
  /** Takes the user to the page, and gives the URL that they came back to, or its parameters. */
  authorize?: ((page: URL) => Came | Promise<Came>) | undefined
}

type Came = URL | URLSearchParams | string

/** What `auth` of `connect` takes. */
export type AuthFor = (server: URL) => OAuthSession

/** Permission of a user, asked for in a browser when a server wants it, and kept. */
export function oauth(options: OAuthOptions = {}): AuthFor {
  const { clientId, clientSecret, issuer, clientMetadataUrl, clientName = 'Tenon', register } = options
  const { privateKey, algorithm, keyId } = options
  const client = { clientId, clientSecret, issuer, clientMetadataUrl, clientName, register }
  const identity = { ...client, privateKey, algorithm, keyId }
  checkUrls(options)
  const store = options.store ?? new MemoryTokenStore()
  const userAgent = userAgentOf(options)
  return (server) => new OAuthSession(server, { ...toSession(server, options, identity, store), userAgent })
}

/** Permission of a machine, by a secret or by a signature. */
export function clientCredentials(options: MachineOptions & CommonOptions): AuthFor {
  return byGrant(options, clientCredentialsGrant(options))
}

/** Permission of a workload, by what its platform says of it. */
export function workloadIdentity(options: AssertionOptions & CommonOptions): AuthFor {
  return byGrant(options, workloadGrant(options))
}

/** Permission of a user, by what the identity provider of their enterprise says of them. */
export function enterpriseManaged(options: EnterpriseOptions & CommonOptions): AuthFor {
  return byGrant(options, enterpriseGrant(options))
}

/** A token that was had elsewhere; a function is asked for it each time. */
export function bearer(token: string | (() => string | Promise<string>)) {
  return {
    async headers(): Promise<Record<string, string>> {
      return { authorization: `Bearer ${typeof token === 'function' ? await token() : token}` }
    },
    async refused({ count }: { count: number }): Promise<boolean> {
      return typeof token === 'function' && count < 2
    },
  }
}

/** Throws on what no authorization server may accept. */
function checkUrls({ redirectUrl, clientMetadataUrl }: OAuthOptions): void {
  const redirect = redirectUrl !== undefined && URL.canParse(redirectUrl) ? new URL(redirectUrl) : undefined
  if (redirectUrl !== undefined && (!redirect || (redirect.protocol === 'http:' && !isLoopbackUrl(redirect)))) {
    throw new TypeError('redirectUrl must be an https: URL, or http: on this machine')
  }
  const problem = clientMetadataUrl === undefined ? undefined : documentUrlProblem(clientMetadataUrl)
  if (problem !== undefined) throw new TypeError(`clientMetadataUrl ${problem}`)
}

function byGrant(options: CommonOptions & { clientId: string }, grant: Grant): AuthFor {
  const identity = { clientId: options.clientId, clientName: '' }
  const store = options.store ?? new MemoryTokenStore()
  return (server) => new OAuthSession(server, { ...toSession(server, options, identity, store), grant })
}

function toSession(
  server: URL,
  { scopes = [], fetch, dpop = false }: CommonOptions,
  identity: ClientIdentity,
  store: TokenStore,
): SessionOptions {
  return { identity, scopes, store, fetch: fetch ?? fetchFor(server), dpop, grant: undefined, userAgent: undefined }
}

function userAgentOf({ authorize, redirectUrl, interactive = true }: OAuthOptions): UserAgent | undefined {
  if (!interactive && authorize) throw new TypeError('oauth({ interactive: false }) asks nobody: leave authorize out')
  if (!interactive) return undefined
  if (!authorize) return isNode() ? browserAgent() : undefined
  if (redirectUrl === undefined) throw new TypeError('oauth({ authorize }) needs a redirectUrl as well')
  return {
    prepare: async (): Promise<Redirect> => ({
      url: redirectUrl,
      visit: async (page) => paramsOf(await authorize(page)),
      close: () => {},
    }),
  }
}

function paramsOf(came: Came): URLSearchParams {
  if (came instanceof URLSearchParams) return came
  return new URL(came).searchParams
}

function isNode(): boolean {
  return typeof process === 'object' && typeof process.versions?.node === 'string'
}

import { McpError } from '../../errors.ts'
import { guardedFetch } from '../../net/guarded-fetch.ts'
import type { AuthInfo } from '../../protocol/auth-info.ts'
import { MemoryValueStore } from '../../store/memory/values.ts'
import { Sealer } from '../../util/sealer.ts'
import type { AuthRoutes } from '../http.ts'
import type { Backend } from '../server/backend.ts'
import { AuthorizationEndpoints } from '../server/endpoints.ts'
import { BrokerClients } from './clients.ts'
import { EncryptedStore } from './encrypted-store.ts'
import { Grants } from './grants.ts'
import { Login } from './login.ts'
import type { BrokerOptions } from './options.ts'
import { checkSecrets, resolveOptions } from './settings.ts'
import { Upstream } from './upstream.ts'

/** The broker without its HTTP part. */
export interface BrokerCore {
  readonly resource: string
  readonly resourceName: string | undefined
  readonly authorizationServers: readonly string[]
  readonly scopesSupported: readonly string[]
  readonly requiredScopes: readonly string[] | undefined
  /** The redirect URI to register at the provider. */
  readonly callbackUrl: string
  readonly routes: AuthRoutes
  verify(token: string): Promise<AuthInfo | undefined>
  /** Returns the provider's access token for the user of a call, refreshed if needed. */
  upstreamToken(auth: AuthInfo | undefined): Promise<string>
}

/** Creates a broker without its HTTP part. */
export function createBroker(options: BrokerOptions): BrokerCore {
  const settings = resolveOptions(options)
  const sealer = new Sealer(checkSecrets(options.secrets))
  const { store = new MemoryValueStore() } = options
  // The memory store is split in two with a limit each, so that pending logins of strangers cannot evict signed-in users.
  const encrypted = new EncryptedStore(store, sealer, options.store ?? new MemoryValueStore())
  const { fetch } = options
  // The operator chose the provider, but strangers choose the URLs of client metadata documents.
  const providerFetch = guardedFetch({ fetch, allowPrivate: true, allowLoopback: 'http', maxRedirects: 0 })
  const documentFetch = guardedFetch({ fetch, maxBytes: 65_536, timeoutMs: 5_000, maxRedirects: 0 })
  const upstream = new Upstream(options.upstream, settings.callbackUrl, providerFetch)
  const clients = new BrokerClients(sealer, documentFetch, settings)
  const grants = new Grants(encrypted, upstream, settings)
  const login = new Login(settings, sealer, encrypted, upstream, grants)
  const scopesSupported = [...settings.scopes.keys()]
  const backend: Backend = {
    issuer: settings.issuer,
    baseUrl: settings.issuer,
    hasIssParameter: true,
    metadata: { client_id_metadata_document_supported: true },
    scopesSupported,
    resource: settings.resource,
    redirectSchemes: settings.redirectSchemes,
    // Anyone can register a client.
    showsErrors: true,
    maxStateBytes: 2_048,
    findClient: (clientId) => clients.find(clientId),
    register: (client) => clients.register(client),
    hasSecret: (client, secret) => clients.hasSecret(client, secret),
    authorize: (request, httpRequest) => login.showConsent(request, httpRequest),
    exchangeCode: (client, request) => grants.exchangeCode(client, request),
    refresh: (client, request) => grants.refresh(client, request),
    revoke: (client, token) => grants.revoke(client, token),
    reportError: settings.reportError,
  }
  return {
    resource: settings.resource,
    resourceName: options.resourceName,
    authorizationServers: [settings.issuer],
    scopesSupported,
    requiredScopes: options.requiredScopes,
    callbackUrl: settings.callbackUrl,
    routes: new AuthorizationEndpoints(backend, login.routes),
    verify: (token) => grants.verify(token),
    upstreamToken: async (auth) => {
      const sid = auth?.issuer === settings.issuer ? auth.claims?.sid : undefined
      const token = typeof sid === 'string' ? await grants.upstreamToken(sid) : undefined
      if (token !== undefined) return token
      throw new McpError('auth', `Not signed in at ${options.upstream.name}: the login has ended. Sign in again.`)
    },
  }
}

import { McpError } from '../../errors.ts'
import { guardedFetch } from '../../net/guarded-fetch.ts'
import { MemoryValueStore } from '../../store/memory.ts'
import type { AuthInfo } from '../../util/auth-info.ts'
import { Sealer } from '../../util/sealer.ts'
import type { AuthRoutes } from '../http.ts'
import type { Backend } from '../server/backend.ts'
import { AuthorizationEndpoints } from '../server/endpoints.ts'
import { BrokerClients } from './clients.ts'
import { Vault } from './encrypted-store.ts'
import { Grants } from './grants.ts'
import { Login } from './login.ts'
import type { BrokerOptions } from './options.ts'
import { checkSecrets, resolveOptions } from './settings.ts'
import { Upstream } from './upstream.ts'

/** An authorization server of our own in front of a provider, as far as it knows nothing of HTTP. */
export interface BrokerCore {
  readonly resource: string
  readonly resourceName: string | undefined
  readonly authorizationServers: readonly string[]
  readonly scopesSupported: readonly string[]
  readonly requiredScopes: readonly string[] | undefined
  /** To be registered at the provider. */
  readonly callbackUrl: string
  readonly routes: AuthRoutes
  verify(token: string): Promise<AuthInfo | undefined>
  /** The provider's token for the person that a call is made for, to call the provider's API with; newer when it is due. */
  upstreamToken(auth: AuthInfo | undefined): Promise<string>
}

export function createBroker(options: BrokerOptions): BrokerCore {
  const settings = resolveOptions(options)
  const sealer = new Sealer(checkSecrets(options.secrets))
  const { store = new MemoryValueStore() } = options
  // Of our own there are two, each with its bound: however many strangers come, nobody who signed in is pushed out.
  const vault = new Vault(store, sealer, options.store ?? new MemoryValueStore())
  const { fetch } = options
  // The operator chose the provider; documents about clients are wherever a stranger says.
  const toProvider = guardedFetch({ fetch, allowPrivate: true, allowLoopback: 'http', maxRedirects: 0 })
  const toStrangers = guardedFetch({ fetch, maxBytes: 65_536, timeoutMs: 5_000, maxRedirects: 0 })
  const upstream = new Upstream(options.upstream, settings.callbackUrl, toProvider)
  const clients = new BrokerClients(sealer, toStrangers, settings)
  const grants = new Grants(vault, upstream, settings)
  const login = new Login(settings, sealer, vault, upstream, grants)
  const scopesSupported = [...settings.scopes.keys()]
  const backend: Backend = {
    issuer: settings.issuer,
    baseUrl: settings.issuer,
    hasIssParameter: true,
    metadata: { client_id_metadata_document_supported: true },
    scopesSupported,
    resource: settings.resource,
    redirectSchemes: settings.redirectSchemes,
    // Anybody may be a client here.
    showsErrors: true,
    maxStateBytes: 2_048,
    findClient: (clientId) => clients.find(clientId),
    register: (client) => clients.register(client),
    hasSecret: (client, secret) => clients.hasSecret(client, secret),
    authorize: (request, call) => login.ask(request, call),
    exchangeCode: (client, request) => grants.redeem(client, request),
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
      throw new McpError('auth', `There is no login at ${options.upstream.name} for this call: sign in again`)
    },
  }
}

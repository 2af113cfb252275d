import type { Answer, ProviderSession } from '../../../auth/client/provider.ts'
import type { OAuthClientProvider } from '../../../auth/client/provider-port.ts'
import { McpError } from '../../../errors.ts'
import type { AuthRefusal, ClientAuth } from './auth.ts'
import type { HttpClientOptions } from './config.ts'
import type { FetchLike } from './fetch.ts'

/** What transports take that can be given a provider. */
export interface ProviderOption {
  /**
   * Keeps credentials and sends users to pages, as in other MCP SDKs; in place of `auth`. Requests to authorization servers are
   * made by `fetch`, if that is given, and go to public https addresses only.
   */
  authProvider?: OAuthClientProvider | undefined
}

/** The `auth` of a transport: the provider's, where there is one. */
export function authOf({ auth, authProvider, fetch }: HttpClientOptions & ProviderOption): HttpClientOptions['auth'] {
  return authProvider ? (server) => new ProvidedAuth(authProvider, server, fetch) : auth
}

/** Redeems what a user came back with. */
export async function finishAuth(auth: ClientAuth | undefined, answer: Answer, iss: string | undefined): Promise<void> {
  if (!(auth instanceof ProvidedAuth)) throw new McpError('invalid-argument', 'finishAuth needs an authProvider')
  await auth.finishAuth(answer, iss)
}

/** The provider's credentials. What speaks OAuth is loaded only for those who have a provider. */
class ProvidedAuth implements ClientAuth {
  readonly #provider: OAuthClientProvider
  readonly #server: URL
  readonly #fetch: FetchLike | undefined
  #session: Promise<ProviderSession> | undefined

  constructor(provider: OAuthClientProvider, server: URL, fetch: FetchLike | undefined) {
    this.#provider = provider
    this.#server = server
    this.#fetch = fetch
  }

  async headers(): Promise<Record<string, string>> {
    return (await this.#open()).headers()
  }

  async refused(refusal: AuthRefusal): Promise<boolean> {
    return (await this.#open()).refused(refusal)
  }

  async finishAuth(answer: Answer, iss?: string): Promise<void> {
    await (await this.#open()).finishAuth(answer, iss)
  }

  #open(): Promise<ProviderSession> {
    this.#session ??= this.#load()
    return this.#session
  }

  async #load(): Promise<ProviderSession> {
    const { withProvider } = await import('../../../auth/client/provider.ts')
    const { fetchFor } = await import('../../../auth/client/discovery.ts')
    return withProvider(this.#provider, { fetch: fetchFor(this.#server, this.#fetch) })(this.#server)
  }
}

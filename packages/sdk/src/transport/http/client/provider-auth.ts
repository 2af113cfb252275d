import type { AuthRefusal, AuthRequest, ClientAuth } from '../../../auth/client/client-auth.ts'
import type { ProviderSession, RedirectResult } from '../../../auth/client/provider.ts'
import type { OAuthClientProvider } from '../../../auth/client/provider-port.ts'
import { McpError } from '../../../errors.ts'
import type { FetchLike } from '../../../net/send.ts'
import type { Tracer } from '../../../protocol/trace.ts'
import type { HttpClientOptions } from './config.ts'

/** The option of transports that accept a provider. */
export interface ProviderOption {
  /**
   * Stores credentials and redirects users, as in the official SDK. Pass it instead of `auth`. Requests to authorization servers are
   * sent by `fetch`, if given, and go to public https addresses only.
   */
  authProvider?: OAuthClientProvider | undefined
}

/** The `auth` of a transport, which may come from a provider. */
export function authOf({ auth, authProvider, fetch }: HttpClientOptions & ProviderOption): HttpClientOptions['auth'] {
  return authProvider ? (server) => new ProviderAuth(authProvider, server, fetch) : auth
}

/** Exchanges the authorization code that a user came back with. */
export async function finishAuth(
  auth: ClientAuth | undefined,
  answer: RedirectResult,
  iss: string | undefined,
): Promise<void> {
  if (!(auth instanceof ProviderAuth)) throw new McpError('invalid-argument', 'finishAuth requires `authProvider`')
  await auth.finishAuth(answer, iss)
}

/** The credentials of a provider. The OAuth code is loaded only for transports that have one. */
class ProviderAuth implements ClientAuth {
  readonly #provider: OAuthClientProvider
  readonly #server: URL
  readonly #fetch: FetchLike | undefined
  tracer: Tracer | undefined = undefined
  #session: Promise<ProviderSession> | undefined

  constructor(provider: OAuthClientProvider, server: URL, fetch: FetchLike | undefined) {
    this.#provider = provider
    this.#server = server
    this.#fetch = fetch
  }

  async headers(request: AuthRequest): Promise<Record<string, string>> {
    return (await this.#open()).headers(request)
  }

  async onUnauthorized(refusal: AuthRefusal): Promise<boolean> {
    return (await this.#open()).onUnauthorized(refusal)
  }

  async finishAuth(answer: RedirectResult, iss?: string): Promise<void> {
    await (await this.#open()).finishAuth(answer, iss)
  }

  #open(): Promise<ProviderSession> {
    this.#session ??= this.#load()
    return this.#session
  }

  async #load(): Promise<ProviderSession> {
    const { withProvider } = await import('../../../auth/client/provider.ts')
    const { fetchFor } = await import('../../../auth/client/metadata.ts')
    const session = withProvider(this.#provider, { fetch: fetchFor(this.#server, this.#fetch) })(this.#server)
    session.tracer = this.tracer
    return session
  }
}

import { McpError } from '../../errors.ts'
import type { Tracer } from '../../protocol/trace.ts'
import type { AuthRefusal, AuthRequest, ClientAuth } from './client-auth.ts'
import type { AuthFetch } from './context.ts'
import { withoutQuery } from './credential-storage.ts'
import { fetchFor } from './metadata.ts'
import { ProviderCredentials, type RedirectResult } from './provider-credentials.ts'
import type { OAuthClientProvider } from './provider-port.ts'
import { OAuthSession } from './session.ts'

export type { RedirectResult } from './provider-credentials.ts'

/** Options of `withProvider`. */
export interface ProviderOptions {
  /** The URL of the server, for `finishAuth` in a process that has not connected to it. Default: set by `connect`. */
  serverUrl?: string | URL | undefined
  /** Sends the requests to authorization servers. Default: a `guardedFetch`, for public https addresses only. */
  fetch?: AuthFetch | undefined
}

/** A value for `auth` of `connect`, with a method to finish the login of a user. */
export interface ProviderAuth {
  (server: URL): ProviderSession
  /** Exchanges the authorization code that the user came back with. See `ProviderSession.finishAuth`. */
  finishAuth(answer: RedirectResult, iss?: string): Promise<void>
  /** True if the user was sent to log in, and `finishAuth` has not been called yet. */
  readonly waiting: boolean
}

/**
 * Uses an `OAuthClientProvider`, as other MCP SDKs define it, as `auth`. A provider has the tokens of one server, so use the
 * value for one server only.
 *
 * @example
 * const auth = withProvider(provider)
 * let client = await connect(url, { auth }).catch((error) => {
 *   if (!auth.waiting) throw error
 * })
 * // Later, when the user has come back:
 * await auth.finishAuth(new URL(request.url, origin).searchParams)
 * client ??= await connect(url, { auth })
 */
export function withProvider(provider: OAuthClientProvider, options: ProviderOptions = {}): ProviderAuth {
  let session: ProviderSession | undefined
  const open = (server: URL): ProviderSession => {
    const url = withoutQuery(server)
    session ??= new ProviderSession(url, provider, options.fetch ?? fetchFor(url))
    if (session.serverUrl.href === url.href) return session
    const { href } = session.serverUrl
    throw new McpError('invalid-argument', `The provider has the tokens of ${href}. Use another one for ${url.href}`)
  }
  if (options.serverUrl !== undefined) open(new URL(options.serverUrl))
  const finishAuth = async (answer: RedirectResult, iss?: string) => {
    if (!session)
      throw new McpError('invalid-argument', 'finishAuth: connect first, or pass `serverUrl` to withProvider')
    await session.finishAuth(answer, iss)
  }
  return Object.defineProperty(Object.assign(open, { finishAuth }), 'waiting', {
    get: () => session?.waiting ?? false,
  }) as ProviderAuth
}

/** The OAuth session of a provider, where a user may come back after the request that needed the login has failed. */
export class ProviderSession implements ClientAuth {
  readonly #credentials: ProviderCredentials
  readonly #session: OAuthSession

  constructor(serverUrl: URL, provider: OAuthClientProvider, fetch: AuthFetch) {
    this.#credentials = new ProviderCredentials(serverUrl, provider)
    this.#session = new OAuthSession(serverUrl, this.#credentials, fetch)
  }

  get serverUrl(): URL {
    return this.#session.serverUrl
  }

  get tracer(): Tracer | undefined {
    return this.#session.tracer
  }

  set tracer(tracer: Tracer | undefined) {
    this.#session.tracer = tracer
  }

  /** True if the user was sent to log in, and `finishAuth` has not been called yet. */
  get waiting(): boolean {
    return this.#credentials.isPending
  }

  headers(request: AuthRequest): Record<string, string> | Promise<Record<string, string>> {
    return this.#session.headers(request)
  }

  onUnauthorized(refusal: AuthRefusal): Promise<boolean> {
    return this.#session.onUnauthorized(refusal)
  }

  /**
   * Exchanges the authorization code that the user came back with. Pass the URL or its parameters to have `iss` checked, and
   * `state` if this process sent the user away. A provider that continues a flow of another process has to compare `state`
   * itself. A bare code has neither: it is rejected if the authorization server always sends `iss` and you do not pass it.
   */
  async finishAuth(answer: RedirectResult, iss?: string): Promise<void> {
    await this.#session.complete((context) => this.#credentials.finish(context, answer, iss))
  }
}

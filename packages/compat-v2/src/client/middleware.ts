import type { Middleware } from '@tenon/compat-v1/client/middleware.js'
import type { FetchLike } from '@tenon/compat-v1/shared/transport.js'
import { auth, extractWWWAuthenticateParams, type OAuthClientProvider, UnauthorizedError } from './auth.ts'
import { markAuthSeamEscape } from './authSeam.ts'
import type { DpopSession } from './dpop.ts'
import { isDpopNonceChallenge } from './oauth/challenge.ts'

export {
  applyMiddlewares,
  createMiddleware,
  type LoggingOptions,
  type Middleware,
  type RequestLogger,
  withLogging,
} from '@tenon/compat-v1/client/middleware.js'

/**
 * Adds the access token of a provider to every request, with a proof if it is bound to a key. When the server answers 401, it runs
 * `auth` and repeats the request once. The MCP transports do this themselves: use it for other requests.
 *
 * @param baseUrl The URL that discovery starts from. Default: the origin of the request.
 */
export const withOAuth =
  (provider: OAuthClientProvider, baseUrl?: string | URL): Middleware =>
  (next) => {
    const signed = provider.dpop ? withDpopFromProvider(provider)(next) : next
    const send: FetchLike = async (input, init) => {
      const headers = new Headers(init?.headers)
      const tokens = await provider.tokens()
      if (tokens) headers.set('Authorization', `Bearer ${tokens.access_token}`)
      return signed(input, { ...init, headers })
    }
    return async (input, init) => {
      const response = await send(input, init)
      if (response.status !== 401) return response
      const serverUrl = baseUrl || new URL(input).origin
      const repeated = await reauthorized(provider, serverUrl, response, next, () => send(input, init))
      if (repeated.status === 401) throw new UnauthorizedError(`Authentication failed for ${input}`)
      return repeated
    }
  }

async function reauthorized(
  provider: OAuthClientProvider,
  serverUrl: string | URL,
  response: Response,
  fetchFn: FetchLike,
  repeat: () => Promise<Response>,
): Promise<Response> {
  try {
    const { resourceMetadataUrl, scope } = extractWWWAuthenticateParams(response)
    const result = await auth(provider, { serverUrl, resourceMetadataUrl, scope, fetchFn })
    if (result === 'REDIRECT') {
      throw new UnauthorizedError('Authentication requires user authorization - redirect initiated')
    }
    if (result !== 'AUTHORIZED') throw new UnauthorizedError(`Authentication failed with result: ${result}`)
    return await repeat()
  } catch (error) {
    if (error instanceof UnauthorizedError) throw error
    throw new UnauthorizedError(`Failed to re-authenticate: ${error instanceof Error ? error.message : String(error)}`)
  }
}

/** Returns the current access token, or undefined to send the request as it is. */
export type DpopTokenSource = () => string | undefined | Promise<string | undefined>

/** A session, or a function that returns it; undefined to send the request as it is. */
export type DpopSessionSource = DpopSession | (() => DpopSession | undefined | Promise<DpopSession | undefined>)

/**
 * Sends every request with a token that is bound to a key and a proof for this request (RFC 9449). If the server requires a nonce,
 * the request is repeated once.
 *
 * @example
 * const fetchWithProof = withDpop(await DpopSession.create(), () => accessToken)(fetch)
 */
export const withDpop =
  (session: DpopSessionSource, getToken: DpopTokenSource): Middleware =>
  (next) =>
  async (input, init) => {
    const dpop = typeof session === 'function' ? await session() : session
    if (!dpop) return next(input, init)
    const send = async () => {
      const accessToken = await getToken()
      if (!accessToken) return next(input, init)
      const headers = new Headers(init?.headers)
      headers.set('Authorization', `DPoP ${accessToken}`)
      headers.set('DPoP', await dpop.buildProof({ htm: init?.method ?? 'GET', htu: input, accessToken }))
      return next(input, { ...init, headers })
    }
    let response = await send()
    if (isDpopNonceChallenge(response) && response.headers.has('dpop-nonce')) {
      dpop.observeNonce(response, input)
      await response.body?.cancel()
      response = await send()
    }
    dpop.observeNonce(response, input)
    return response
  }

/** `withDpop` with the session and the tokens of a provider. Tokens that are not bound to a key are sent as they are. */
export const withDpopFromProvider = (provider: OAuthClientProvider): Middleware =>
  withDpop(
    () => fromProvider(() => provider.dpop?.()),
    async () => {
      const tokens = await fromProvider(() => provider.tokens())
      return tokens?.token_type?.toLowerCase() === 'dpop' ? tokens.access_token : undefined
    },
  )

async function fromProvider<T>(read: () => T | Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    throw markAuthSeamEscape(error)
  }
}

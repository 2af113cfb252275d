import type { FetchLike } from '../shared/transport.ts'
import { auth, extractWWWAuthenticateParams, type OAuthClientProvider, UnauthorizedError } from './auth.ts'

/** Wraps a fetch in another one. */
export type Middleware = (next: FetchLike) => FetchLike

/**
 * Adds the access token of a provider to every request. When the server answers 401, it runs `auth` and repeats the request once.
 * The MCP transports do this themselves: use it for other requests.
 *
 * @param baseUrl The URL that discovery starts from. Default: the origin of the request.
 */
export const withOAuth =
  (provider: OAuthClientProvider, baseUrl?: string | URL): Middleware =>
  (next) => {
    const send: FetchLike = async (input, init) => {
      const headers = new Headers(init?.headers)
      const tokens = await provider.tokens()
      if (tokens) headers.set('Authorization', `Bearer ${tokens.access_token}`)
      return next(input, { ...init, headers })
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

/** Receives one record per request. Failed requests have the status 0 and an `error`. */
export type RequestLogger = (input: {
  method: string
  url: string | URL
  status: number
  statusText: string
  /** In milliseconds. */
  duration: number
  requestHeaders?: Headers
  responseHeaders?: Headers
  error?: Error
}) => void

/** Options of `withLogging`. */
export type LoggingOptions = {
  /** Default: `console.error` for errors and statuses from 400, else `console.log`. Do not use it in a stdio server. */
  logger?: RequestLogger
  /** Default false. */
  includeRequestHeaders?: boolean
  /** Default false. */
  includeResponseHeaders?: boolean
  /** Only responses with this status or a higher one are logged. Errors are always logged. Default 0. */
  statusLevel?: number
}

/** Logs requests with status and duration. */
export const withLogging = (options: LoggingOptions = {}): Middleware => {
  const { includeRequestHeaders = false, includeResponseHeaders = false, statusLevel = 0 } = options
  const log = options.logger ?? logToConsole
  return (next) => async (input, init) => {
    const start = performance.now()
    const request = {
      method: init?.method ?? 'GET',
      url: String(input),
      requestHeaders: includeRequestHeaders ? new Headers(init?.headers) : undefined,
    }
    try {
      const response = await next(input, init)
      const { status, statusText } = response
      const duration = performance.now() - start
      const responseHeaders = includeResponseHeaders ? response.headers : undefined
      if (status >= statusLevel) log({ ...request, status, statusText, duration, responseHeaders })
      return response
    } catch (error) {
      const duration = performance.now() - start
      log({ ...request, status: 0, statusText: 'Network Error', duration, error: error as Error })
      throw error
    }
  }
}

/** Headers are in the record only if they were asked for. */
const logToConsole: RequestLogger = (record) => {
  const { method, url, status, statusText, duration, requestHeaders, responseHeaders, error } = record
  const outcome = error ? `failed: ${error.message}` : `${status} ${statusText}`
  const text =
    `HTTP ${method} ${url} ${outcome} (${duration}ms)` +
    (requestHeaders ? `\n  Request Headers: {${describeHeaders(requestHeaders)}}` : '') +
    (responseHeaders ? `\n  Response Headers: {${describeHeaders(responseHeaders)}}` : '')
  if (error || status >= 400) console.error(text)
  else console.log(text)
}

function describeHeaders(headers: Headers): string {
  return [...headers].map(([name, value]) => `${name}: ${value}`).join(', ')
}

/**
 * Combines middleware into one. The first one is closest to the fetch, the last one sees the request first.
 *
 * @example
 * const fetchWithAuth = applyMiddlewares(withOAuth(provider), withLogging({ statusLevel: 400 }))(fetch)
 */
export const applyMiddlewares = (...middleware: Middleware[]): Middleware => {
  return (next) => middleware.reduce((handler, wrap) => wrap(handler), next)
}

/**
 * Creates middleware from a function that gets the next fetch and the request.
 *
 * @example
 * const withVersion = createMiddleware(async (next, input, init) => {
 *   const headers = new Headers(init?.headers)
 *   headers.set('X-API-Version', '2')
 *   return next(input, { ...init, headers })
 * })
 */
export const createMiddleware = (
  handler: (next: FetchLike, input: string | URL, init?: RequestInit) => Promise<Response>,
): Middleware => {
  return (next) => (input, init) => handler(next, input, init)
}

import { createHttpFetch } from '@tenon/compat-v1/client/http-fetch.js'
import { HttpError, SSEClientTransport as SseTransport } from 'tenon/client'
import { classify, TransportFault as Fault, type RpcMessage } from 'tenon/jsonrpc'
import { SdkError, SdkErrorCode, SdkHttpError } from '../core/errors.ts'
import type { FetchLike, Transport } from '../core/transport.ts'
import type { JSONRPCMessage } from '../core/types.ts'
import { HttpAuth, signingFetch } from './http-auth.ts'
import type { AuthProvider, OAuthClientProvider } from './oauth/provider.ts'

/** What the event stream reported. */
export interface SseErrorEvent {
  readonly type: 'error'
  /** The status of the response, if there was one. */
  readonly code?: number | undefined
  readonly message?: string | undefined
}

/** The event stream could not be opened, or broke. */
export class SseError extends Error {
  /** The status of the response, if there was one. */
  readonly code: number | undefined
  readonly event: SseErrorEvent

  constructor(code: number | undefined, message: string | undefined, event: SseErrorEvent) {
    super(`SSE error: ${message}`)
    this.code = code
    this.event = event
  }
}

/** Options of an `SSEClientTransport`. */
export type SSEClientTransportOptions = {
  /** Gets tokens. */
  authProvider?: AuthProvider | OAuthClientProvider
  /** Accepts metadata of authorization servers that names another issuer. */
  skipIssuerMetadataValidation?: boolean
  /** Options for the event stream; `fetch` opens it. */
  eventSourceInit?: { fetch?: FetchLike; withCredentials?: boolean }
  /** Options for the requests that carry messages. */
  requestInit?: RequestInit
  /** Sends all requests. Default: the global `fetch`. */
  fetch?: FetchLike
  /**
   * How redirects are handled, also in OAuth requests. `same-origin` follows them within the origin of the request; `follow`
   * leaves them to `fetch`. Default `same-origin`.
   */
  redirectPolicy?: 'same-origin' | 'follow'
}

/** How long to wait before a stream that broke is opened again. */
const reconnectMs = 3_000

/**
 * The client side of the HTTP+SSE transport of 2024-11-05.
 *
 * @deprecated Use `StreamableHTTPClientTransport` for servers that support it.
 */
export class SSEClientTransport implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: NonNullable<Transport['onmessage']>
  private readonly _tenonInner: SseTransport
  private readonly _tenonAuth: HttpAuth
  private _tenonIsStarted = false
  private _tenonIsOpen = false
  private _tenonIsClosed = false
  private _tenonReconnecting: ReturnType<typeof setTimeout> | undefined

  constructor(url: URL, options: SSEClientTransportOptions = {}) {
    const { authProvider, requestInit, fetch, redirectPolicy, eventSourceInit, skipIssuerMetadataValidation } = options
    this._tenonAuth = new HttpAuth({
      url,
      provider: authProvider,
      fetch,
      requestInit,
      redirectPolicy,
      skipIssuerMetadataValidation,
      onInsufficientScope: 'reauthorize',
      maxStepUpRetries: 0,
    })
    const post = createHttpFetch({ fetch: signingFetch(authProvider, fetch), redirectPolicy })
    const get = createHttpFetch({ fetch: signingFetch(authProvider, eventSourceInit?.fetch ?? fetch), redirectPolicy })
    this._tenonInner = new SseTransport(url, {
      auth: this._tenonAuth,
      requestInit: requestInit as never,
      fetch: (to, init) => (init.method === 'GET' ? get(to, init) : post(to, init)),
      recover: false,
      endpointTimeoutMs: 2_147_483_647,
    })
    this._tenonListen()
  }

  /** Called by `start` again, because a program may have wrapped this object. */
  private _tenonListen(): void {
    this._tenonInner.onmessage = (message) => this._tenonReceive(message)
    this._tenonInner.onerror = (error) => this.onerror?.(error)
    this._tenonInner.onclose = (detail) => this._tenonEnded(detail?.reason)
  }

  /** Opens the event stream, and resolves when the server has sent the endpoint for messages. */
  async start(): Promise<void> {
    if (this._tenonIsStarted) throw new Error(alreadyStarted)
    this._tenonIsStarted = true
    this._tenonListen()
    await this._tenonOpen()
  }

  /** Exchanges the code, or the parameters of the redirect, that the user came back with. Then connect again. */
  finishAuth(callbackParams: URLSearchParams): Promise<void>
  finishAuth(authorizationCode: string, iss?: string): Promise<void>
  async finishAuth(codeOrParams: string | URLSearchParams, iss?: string): Promise<void> {
    await this._tenonAuth.finish(codeOrParams, iss)
  }

  /** Ends the session. */
  async close(): Promise<void> {
    const wasOpen = this._tenonIsOpen
    this._tenonIsClosed = true
    clearTimeout(this._tenonReconnecting)
    await this._tenonInner.close()
    if (!wasOpen) this.onclose?.()
  }

  /** Sends a message. Resolves when the server has accepted it. */
  async send(message: JSONRPCMessage): Promise<void> {
    if (!this._tenonIsOpen) throw new SdkError(SdkErrorCode.NotConnected, 'Not connected')
    try {
      await this._tenonInner.send(message as RpcMessage)
    } catch (error) {
      const converted = toPostError(error)
      this.onerror?.(converted)
      throw converted
    }
  }

  setProtocolVersion(version: string): void {
    this._tenonInner.setProtocolVersion(version)
  }

  private async _tenonOpen(): Promise<void> {
    try {
      await this._tenonInner.start()
      this._tenonIsOpen = true
    } catch (error) {
      const converted = toStreamError(error)
      this.onerror?.(converted)
      throw converted
    }
  }

  /** A stream that broke is opened again, as `EventSource` does. */
  private _tenonEnded(reason: string | undefined): void {
    if (this._tenonIsClosed) return this.onclose?.()
    this._tenonIsOpen = false
    this.onerror?.(new SseError(undefined, reason, { type: 'error', message: reason }))
    this._tenonReconnecting = setTimeout(() => this._tenonOpen().catch(() => {}), reconnectMs)
  }

  private _tenonReceive(message: unknown): void {
    const kind = classify(message)
    if (kind instanceof Fault) this.onerror?.(new Error(`Invalid message: ${kind.message}`))
    else this.onmessage?.(message as JSONRPCMessage)
  }
}

const alreadyStarted =
  'SSEClientTransport already started! If using Client class, note that connect() calls start() automatically.'

function toPostError(error: unknown): Error {
  if (!(error instanceof HttpError)) return error as Error
  const { status = 0, statusText = '', body, cause, message } = error
  if (cause instanceof Error) return cause
  const text = body ?? message
  const what = `Error POSTing to endpoint (HTTP ${status}): ${text}`
  return new SdkHttpError(SdkErrorCode.ClientHttpNotImplemented, what, { status, statusText, text })
}

function toStreamError(error: unknown): Error {
  if (!(error instanceof HttpError)) return error as Error
  const { status, cause, message: what } = error
  const { contentType } = error as { contentType?: string }
  // Errors of the provider are passed on. Those of `fetch` are errors of the stream.
  if (cause instanceof Error && (status === 401 || status === 403 || status === 200)) return cause
  const message = contentType === undefined ? describeStatus(status, cause, what) : invalidType
  return new SseError(status, message, { type: 'error', code: status, message })
}

const invalidType = 'Invalid content type, expected "text/event-stream"'

function describeStatus(status: number | undefined, cause: unknown, what: string): string {
  if (status !== undefined && status !== 200) return `Non-200 status code (${status})`
  return cause instanceof Error ? cause.message : what
}

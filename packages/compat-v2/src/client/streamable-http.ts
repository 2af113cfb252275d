import { createHttpFetch } from '@tenon/compat-v1/client/http-fetch.js'
import { type Backoff, HttpError, StreamableHTTPClientTransport as HttpTransport } from 'tenon/client'
import { classify, TransportFault as Fault, type OutgoingRequest, type RpcMessage } from 'tenon/jsonrpc'
import type { FetchLike, Transport, TransportSendOptions } from '../core/transport.ts'
import type { JSONRPCMessage } from '../core/types.ts'
import { HttpAuth, signingFetch } from './http-auth.ts'
import type { AuthProvider, OAuthClientProvider } from './oauth/provider.ts'
import { failedAttemptOf, toHttpError } from './to-sdk-error.ts'

/** Where a stream begins. */
export interface StartSSEOptions {
  /** The event after which the stream begins. */
  resumptionToken?: string
  /** Called with the id of each event. */
  onresumptiontoken?: (token: string) => void
  /** The id of the request that a replayed response belongs to. */
  replayMessageId?: string | number
}

/** How often and when broken streams are opened again. */
export interface StreamableHTTPReconnectionOptions {
  /** In milliseconds. Default 30,000. */
  maxReconnectionDelay: number
  /** In milliseconds. Default 1,000. */
  initialReconnectionDelay: number
  /** Default 1.5. */
  reconnectionDelayGrowFactor: number
  /** Default 2. */
  maxRetries: number
}

/** Calls `reconnect` after a delay. The function that it returns, if any, cancels that. */
// biome-ignore lint/suspicious/noConfusingVoidType: programs pass functions that return nothing
export type ReconnectionScheduler = (reconnect: () => void, delay: number, attemptCount: number) => (() => void) | void

/** Options of a `StreamableHTTPClientTransport`. */
export type StreamableHTTPClientTransportOptions = {
  /** Gets tokens. */
  authProvider?: AuthProvider | OAuthClientProvider
  /** Accepts metadata of authorization servers that names another issuer. */
  skipIssuerMetadataValidation?: boolean
  /** Options for every request. */
  requestInit?: RequestInit
  /** Sends all requests. Default: the global `fetch`. */
  fetch?: FetchLike
  /**
   * How redirects are handled, also in OAuth requests. `same-origin` follows them within the origin of the request; `follow`
   * leaves them to `fetch`. Default `same-origin`.
   */
  redirectPolicy?: 'same-origin' | 'follow'
  /** How often and when broken streams are opened again. */
  reconnectionOptions?: StreamableHTTPReconnectionOptions
  /** Schedules attempts to open a stream again. Default: timers. */
  reconnectionScheduler?: ReconnectionScheduler
  /** The id of a session to continue. `Client` then sends no `initialize`. */
  sessionId?: string
  /** The revision of that session. */
  protocolVersion?: string
  /** What to do if the server asks for more scopes. Default `reauthorize`. */
  onInsufficientScope?: 'reauthorize' | 'throw'
  /** How often to ask for more scopes during one request. Default 1. */
  maxStepUpRetries?: number
}

const defaultReconnection: StreamableHTTPReconnectionOptions = {
  initialReconnectionDelay: 1_000,
  maxReconnectionDelay: 30_000,
  reconnectionDelayGrowFactor: 1.5,
  maxRetries: 2,
}

/** Headers that the transport sets. Options of a message must not replace them. */
const reservedHeaders = new Set([
  'authorization',
  'dpop',
  'content-type',
  'mcp-protocol-version',
  'mcp-method',
  'mcp-name',
  'mcp-session-id',
])

/** The client side of Streamable HTTP. */
export class StreamableHTTPClientTransport implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: NonNullable<Transport['onmessage']>
  readonly hasPerRequestStream = true
  private readonly _tenonInner: HttpTransport
  private readonly _tenonAuth: HttpAuth
  private readonly _tenonMaxRetries: number
  private readonly _tenonFirstVersion: string | undefined
  private _tenonStarted: Promise<void> | undefined
  private _tenonIsStarted = false

  constructor(url: URL, options: StreamableHTTPClientTransportOptions = {}) {
    const { requestInit, fetch, redirectPolicy, sessionId, authProvider } = options
    const { reconnectionOptions = defaultReconnection } = options
    this._tenonMaxRetries = reconnectionOptions.maxRetries
    this._tenonFirstVersion = options.protocolVersion
    this._tenonAuth = new HttpAuth({
      url,
      provider: authProvider,
      fetch,
      requestInit,
      redirectPolicy,
      skipIssuerMetadataValidation: options.skipIssuerMetadataValidation,
      onInsufficientScope: options.onInsufficientScope ?? 'reauthorize',
      maxStepUpRetries: Math.max(0, options.maxStepUpRetries ?? 1),
    })
    this._tenonInner = new HttpTransport(url, {
      auth: this._tenonAuth,
      requestInit: requestInit as never,
      fetch: createHttpFetch({ fetch: signingFetch(authProvider, fetch), redirectPolicy }),
      reconnect: toBackoff(reconnectionOptions),
      reconnectionScheduler: options.reconnectionScheduler,
      recover: false,
      standardHeaders: false,
      terminateOnClose: false,
      sessionId,
    })
    this._tenonListen()
  }

  /** Called by `start` again, because a program may have wrapped this object. */
  private _tenonListen(): void {
    this._tenonInner.onmessage = (message) => this._tenonReceive(message)
    this._tenonInner.onerror = (error) => this._tenonReport(error)
    this._tenonInner.onclose = () => this.onclose?.()
  }

  /** Starts the transport. No request is sent yet. */
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

  /** Ends all requests. The session on the server stays open: see `terminateSession`. */
  async close(): Promise<void> {
    if (this._tenonStarted) await this._tenonInner.close()
    else this.onclose?.()
  }

  /** Sends a message, or several. */
  async send(message: JSONRPCMessage | JSONRPCMessage[], options: TransportSendOptions = {}): Promise<void> {
    await this._tenonOpen()
    const { requestSignal, onRequestStreamEnd, resumptionToken, onresumptiontoken } = options
    const headers = ownHeaders(options.headers)
    const isRequest = !Array.isArray(message) && 'method' in message && 'id' in message
    if (requestSignal?.aborted) return
    const onAbort = () => isRequest && this._tenonInner.cancelRequest(message.id as number)
    requestSignal?.addEventListener('abort', onAbort, { once: true })
    try {
      const sendOptions = { batch: true, resumptionToken, onresumptiontoken, ...(headers && { headers }) }
      await this._tenonInner.send(message as RpcMessage | RpcMessage[], sendOptions)
      if (isRequest) onRequestStreamEnd?.()
    } catch (error) {
      if (requestSignal?.aborted) return
      throw this._tenonReport(error)
    } finally {
      requestSignal?.removeEventListener('abort', onAbort)
    }
  }

  get sessionId(): string | undefined {
    return this._tenonInner.sessionId
  }

  /** Asks the server to end the session. */
  async terminateSession(): Promise<void> {
    if (!this.sessionId) return
    await this._tenonOpen()
    try {
      await this._tenonInner.terminateSession()
    } catch (error) {
      throw this._tenonReport(error)
    }
  }

  setProtocolVersion(version: string): void {
    this._tenonInner.setProtocolVersion(version)
  }

  get protocolVersion(): string | undefined {
    return this._tenonInner.protocolVersion ?? this._tenonFirstVersion
  }

  /** Opens a stream that continues after an event. */
  async resumeStream(
    lastEventId: string,
    options: { onresumptiontoken?: (token: string) => void } = {},
  ): Promise<void> {
    await this._tenonOpen()
    try {
      await this._tenonInner.resumeStream(lastEventId, options)
    } catch (error) {
      // A server without this stream answers 405.
      if (!(error instanceof HttpError) || error.status !== 405)
        throw toHttpError(error as HttpError, this._tenonMaxRetries)
    }
  }

  /** @internal Sends a request of a link. Rejects if no response will arrive. */
  async sendRequest(text: string, request: OutgoingRequest): Promise<void> {
    const { send } = (request.options ?? {}) as { send?: TransportSendOptions }
    if (this.send !== StreamableHTTPClientTransport.prototype.send) return this.send(JSON.parse(text), send)
    await this._tenonOpen()
    const headers = ownHeaders(send?.headers)
    const { resumptionToken, onresumptiontoken } = send ?? {}
    const options = { ...request.options, headers, resumptionToken, onresumptiontoken }
    try {
      await this._tenonInner.sendRequest(text, { ...request, options })
    } catch (error) {
      throw this._tenonReport(error)
    }
  }

  /** @internal Cancels a request of a link by closing its stream, if its revision has that. */
  cancelRequest(id: number): boolean {
    return this._tenonInner.cancelRequest(id)
  }

  private _tenonOpen(): Promise<void> {
    this._tenonStarted ??= this._tenonStart()
    return this._tenonStarted
  }

  private async _tenonStart(): Promise<void> {
    await this._tenonInner.start()
    if (this._tenonFirstVersion !== undefined) this._tenonInner.setProtocolVersion(this._tenonFirstVersion)
  }

  private _tenonReceive(message: unknown): void {
    for (const each of Array.isArray(message) ? message : [message]) {
      const kind = classify(each)
      if (kind instanceof Fault) this.onerror?.(new Error(`Invalid message: ${kind.message}`))
      else this.onmessage?.(each as JSONRPCMessage)
    }
  }

  private _tenonReport(error: unknown): Error {
    const attempt = failedAttemptOf(error)
    const converted = attempt
      ? new Error(`Failed to reconnect SSE stream: ${this._tenonReport(attempt).message}`)
      : error instanceof HttpError
        ? toHttpError(error, this._tenonMaxRetries)
        : (error as Error)
    this.onerror?.(converted)
    return converted
  }
}

const alreadyStarted =
  'StreamableHTTPClientTransport already started! If using Client class, note that connect() calls start() automatically.'

/** Without the first attempt, which counts as a retry in the official packages. */
function toBackoff(options: StreamableHTTPReconnectionOptions): Partial<Backoff> {
  return {
    initialDelayMs: options.initialReconnectionDelay,
    maxDelayMs: options.maxReconnectionDelay,
    growth: options.reconnectionDelayGrowFactor,
    maxRetries: options.maxRetries - 1,
    jitter: false,
  }
}

function ownHeaders(headers: TransportSendOptions['headers']): Record<string, string> | undefined {
  if (!headers) return undefined
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !reservedHeaders.has(name.toLowerCase())))
}

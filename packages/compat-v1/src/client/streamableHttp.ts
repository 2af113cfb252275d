import { type Backoff, HttpError, StreamableHTTPClientTransport as HttpTransport } from 'tenon/client'
import { classify, TransportFault as Fault, type OutgoingRequest, type RpcMessage } from 'tenon/jsonrpc'
import { LATEST_PROTOCOL_VERSION } from '../shared/constants.ts'
import type { FetchLike, Transport } from '../shared/transport.ts'
import type { AdaptedSendOptions } from '../shared/transport-adapter.ts'
import type { JSONRPCMessage } from '../types.ts'
import { type OAuthClientProvider, UnauthorizedError } from './auth.ts'
import { createHttpFetch } from './http-fetch.ts'
import { ProviderAuth } from './provider-auth.ts'

/** An HTTP request to the server failed. */
export class StreamableHTTPError extends Error {
  /** The status of the response; -1 if its content type is not one of MCP. */
  readonly code: number | undefined

  constructor(code: number | undefined, message: string | undefined) {
    super(`Streamable HTTP error: ${message}`)
    this.code = code
  }
}

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

/** Options of a `StreamableHTTPClientTransport`. */
export type StreamableHTTPClientTransportOptions = {
  /** Stores credentials and sends users to authorization servers. Without it, a server that requires a token refuses requests. */
  authProvider?: OAuthClientProvider
  /** Options for every request. */
  requestInit?: RequestInit
  /** Sends all requests. Default: the global `fetch`. */
  fetch?: FetchLike
  /** Which redirects are followed. Default `same-origin`. */
  redirectPolicy?: 'same-origin' | 'follow'
  /** How often and when broken streams are opened again. */
  reconnectionOptions?: StreamableHTTPReconnectionOptions
  /** The id of a session to continue. `Client` then sends no `initialize`. */
  sessionId?: string
}

const defaultReconnection: StreamableHTTPReconnectionOptions = {
  initialReconnectionDelay: 1_000,
  maxReconnectionDelay: 30_000,
  reconnectionDelayGrowFactor: 1.5,
  maxRetries: 2,
}

/** The client side of Streamable HTTP. */
export class StreamableHTTPClientTransport implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: JSONRPCMessage) => void
  // biome-ignore lint/correctness/noUnusedPrivateClassMembers: programs read it.
  private readonly _url: URL
  private readonly _reconnectionOptions: StreamableHTTPReconnectionOptions
  private readonly _tenonInner: HttpTransport
  private readonly _tenonAuth: ProviderAuth | undefined
  private _tenonStarted: Promise<void> | undefined
  private _tenonIsStarted = false

  constructor(url: URL, opts: StreamableHTTPClientTransportOptions = {}) {
    const { authProvider, requestInit, fetch, redirectPolicy, sessionId } = opts
    this._url = url
    this._reconnectionOptions = opts.reconnectionOptions ?? defaultReconnection
    this._tenonAuth =
      authProvider &&
      new ProviderAuth({
        url,
        provider: authProvider,
        fetch,
        requestInit,
        redirectPolicy,
        refused: (status, message) => new StreamableHTTPError(status, message),
      })
    this._tenonInner = new HttpTransport(url, {
      auth: this._tenonAuth,
      requestInit: requestInit as never,
      fetch: createHttpFetch({ fetch, redirectPolicy }),
      reconnect: toBackoff(this._reconnectionOptions),
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

  /** Exchanges the code that the user came back with for a token. Then connect again. */
  async finishAuth(authorizationCode: string): Promise<void> {
    if (!this._tenonAuth) throw new UnauthorizedError('No auth provider')
    await this._tenonAuth.authorize(authorizationCode)
  }

  /** Ends all requests. The session on the server stays open: see `terminateSession`. */
  async close(): Promise<void> {
    if (this._tenonStarted) await this._tenonInner.close()
    else this.onclose?.()
  }

  /** Sends a message, or several. For a request, resolves when the server has accepted it; the response comes to `onmessage`. */
  async send(
    message: JSONRPCMessage | JSONRPCMessage[],
    options: { resumptionToken?: string; onresumptiontoken?: (token: string) => void } = {},
  ): Promise<void> {
    await this._tenonOpen()
    const send = (onAccepted?: () => void) =>
      this._tenonInner.send(message as RpcMessage | RpcMessage[], { ...options, onAccepted, batch: true })
    if (!options.resumptionToken) return this._tenonUntilAccepted(send)
    // The request was sent before. What goes wrong with its stream is reported, and nothing waits for it here.
    void send().catch((error) => this._tenonReport(error))
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
    return this._tenonInner.protocolVersion
  }

  /** Opens a stream that continues after an event. */
  async resumeStream(lastEventId: string, options?: { onresumptiontoken?: (token: string) => void }): Promise<void> {
    await this._startOrAuthSse({ resumptionToken: lastEventId, ...options })
  }

  private async _startOrAuthSse({ resumptionToken, onresumptiontoken }: StartSSEOptions): Promise<void> {
    await this._tenonOpen()
    try {
      await this._tenonInner.resumeStream(resumptionToken, { onresumptiontoken })
    } catch (error) {
      // A server without this stream answers 405. Other errors were reported by the stream.
      if (!(error instanceof HttpError) || error.status !== 405)
        throw toStreamableError(error, this._reconnectionOptions.maxRetries)
    }
  }

  /** @internal For clients on Tenon: requests have headers. */
  get readsHeaders(): boolean {
    return true
  }

  /** @internal For clients on Tenon: rejects if no response will arrive. */
  async sendRequest(text: string, request: OutgoingRequest): Promise<void> {
    const { transportOptions } = (request.options ?? {}) as AdaptedSendOptions
    if (this.send !== StreamableHTTPClientTransport.prototype.send) return this.send(JSON.parse(text), transportOptions)
    await this._tenonOpen()
    try {
      await this._tenonInner.sendRequest(text, { ...request, options: { ...request.options, ...transportOptions } })
    } catch (error) {
      throw this._tenonReport(error)
    }
  }

  /** @internal For clients on Tenon. */
  cancelRequest(id: number): boolean {
    const { protocolVersion = LATEST_PROTOCOL_VERSION } = this
    // With a handshake, the server is always notified, because programs saw the request.
    return protocolVersion > LATEST_PROTOCOL_VERSION && this._tenonInner.cancelRequest(id)
  }

  /** Programs of SDK 1.x send messages without `start`. */
  private _tenonOpen(): Promise<void> {
    this._tenonStarted ??= this._tenonInner.start()
    return this._tenonStarted
  }

  /** Resolves when the server has accepted a message. Later errors are only reported. */
  private _tenonUntilAccepted(send: (onAccepted: () => void) => Promise<void>): Promise<void> {
    return new Promise((resolve, reject) => {
      const sent = send(resolve)
      sent.then(resolve, (error) => reject(this._tenonReport(error)))
    })
  }

  private _tenonReceive(message: unknown): void {
    for (const each of Array.isArray(message) ? message : [message]) {
      const kind = classify(each)
      if (kind instanceof Fault) this.onerror?.(new Error(`Invalid message: ${kind.message}`))
      else this.onmessage?.(each as JSONRPCMessage)
    }
  }

  private _tenonReport(error: unknown): Error {
    const converted = isNotReopened(error)
      ? new Error(`Failed to reconnect SSE stream: ${this._tenonReport(error.cause).message}`)
      : toStreamableError(error, this._reconnectionOptions.maxRetries)
    this.onerror?.(converted)
    return converted
  }
}

const alreadyStarted =
  'StreamableHTTPClientTransport already started! If using Client class, note that connect() calls start() automatically.'

/** Without the first attempt, which is a retry in SDK 1.x. */
function toBackoff(options: StreamableHTTPReconnectionOptions): Partial<Backoff> {
  return {
    initialDelayMs: options.initialReconnectionDelay,
    maxDelayMs: options.maxReconnectionDelay,
    growth: options.reconnectionDelayGrowFactor,
    maxRetries: options.maxRetries - 1,
    jitter: false,
  }
}

/** Whether a stream could not be opened again, which is reported with its reason. */
function isNotReopened(error: unknown): error is HttpError {
  return error instanceof HttpError && error.outcome === 'refused' && error.cause instanceof HttpError
}

/** Converts an error of Tenon to the one that programs of SDK 1.x expect. */
function toStreamableError(error: unknown, maxRetries: number): Error {
  if (!(error instanceof HttpError)) return error as Error
  const { status, method, outcome, cause } = error
  if (method === 'GET' && outcome === 'unknown' && (cause === undefined || cause instanceof HttpError)) {
    return new Error(`Maximum reconnection attempts (${maxRetries}) exceeded.`)
  }
  if (outcome === 'unknown' && status !== undefined) return new Error(`SSE stream disconnected: ${rootOf(error)}`)
  // The provider, or `fetch`, failed.
  if (cause instanceof Error && !(cause instanceof HttpError)) return cause
  return Object.assign(new StreamableHTTPError(statusOf(error), describeRefusal(error)), { cause: error })
}

/** The error that `fetch` or a stream of it threw. */
function rootOf(error: HttpError): unknown {
  const { cause } = error
  return cause instanceof HttpError ? rootOf(cause) : (cause ?? error)
}

function statusOf({ status, contentType }: HttpError): number | undefined {
  return contentType === undefined ? status : -1
}

function describeRefusal({ method, status = 0, statusText = '', body, contentType, message }: HttpError): string {
  if (contentType !== undefined) return `Unexpected content type: ${contentType || null}`
  if (status >= 300 && status < 400) return message
  if (method === 'GET') return `Failed to open SSE stream: ${statusText}`
  if (method === 'DELETE') return `Failed to terminate session: ${statusText}`
  return `Error POSTing to endpoint: ${body ?? message}`
}

import type { RedirectResult } from '../../../auth/client/provider.ts'
import { ClosedError } from '../../../errors.ts'
import type { RequestId, RpcMessage, RpcRequest } from '../../../jsonrpc/message.ts'
import {
  type BatchSender,
  type CancelsByClosing,
  isWatched,
  type OutgoingRequest,
  type RequestSender,
  type Transport,
  type TransportEvents,
} from '../../../jsonrpc/transport.ts'
import { revisions } from '../../../protocol/revisions/index.ts'
import type { Traceable, Tracer } from '../../../protocol/trace.ts'
import type {
  CarriesCredentials,
  CarriesHeaders,
  Described,
  HasSession,
  HttpSendOptions,
  ListensQuietly,
  Restartable,
  VersionAware,
} from '../../../protocol/transport.ts'
import { ClientConfig, type HttpClientOptions } from './config.ts'
import { authOf, finishAuth, type ProviderOption } from './provider-auth.ts'
import { ClientSession, type SentRequest } from './session.ts'

export interface StreamableHTTPClientTransportOptions extends HttpClientOptions, ProviderOption {
  /**
   * The id of a session to continue. Send messages yourself, or pass what you know about the server to `client.connect`: a
   * handshake starts a new session.
   */
  sessionId?: string | undefined
  /** Whether `close` asks the server to end the session. Default true. */
  terminateOnClose?: boolean | undefined
}

/** Options of one message. */
export interface HttpMessageOptions {
  /** Continues the stream of an interrupted request after this event, instead of sending the message. */
  resumptionToken?: string | undefined
  /** Called with the id of each event on the stream of the request. */
  onresumptiontoken?: ((token: string) => void) | undefined
  /** Called when the server has accepted a request and answers with a stream. */
  onAccepted?: (() => void) | undefined
  /** Posts an array with requests as one batch, which only servers of 2025-03-26 have to accept. Default: one by one. */
  batch?: boolean | undefined
}

/**
 * The client side of Streamable HTTP, for every revision that has it. `connect(url)` creates one for you.
 *
 * @example
 * await client.connect(new StreamableHTTPClientTransport('https://example.com/mcp', { headers: { 'x-key': key } }))
 */
export class StreamableHTTPClientTransport
  implements
    Transport,
    RequestSender,
    BatchSender,
    CancelsByClosing,
    Restartable,
    CarriesHeaders,
    Described,
    CarriesCredentials,
    VersionAware,
    HasSession,
    ListensQuietly,
    Traceable
{
  onmessage?: Transport['onmessage'] | undefined
  onclose?: Transport['onclose'] | undefined
  onerror?: Transport['onerror'] | undefined
  onwait?: TransportEvents['onwait'] | undefined
  ongap?: TransportEvents['ongap'] | undefined
  readonly restartable = true
  readonly tracesMessages = true
  readonly readsHeaders = true
  readonly peerKey: string
  readonly address: string
  readonly #config: ClientConfig
  readonly #terminatesOnClose: boolean
  #givenSession: string | undefined
  #session: ClientSession | undefined
  readonly #outgoing = new Map<RequestId, OutgoingRequest>()
  #version: string | undefined
  #openingStatuses: ReadonlyMap<string, number> = new Map()

  constructor(url: string | URL, options: StreamableHTTPClientTransportOptions = {}) {
    this.#config = new ClientConfig(url, { ...options, auth: authOf(options) })
    this.#config.onWait = () => this.onwait?.() ?? (() => {})
    this.#terminatesOnClose = options.terminateOnClose ?? true
    this.#givenSession = options.sessionId
    this.address = this.#config.name
    this.peerKey = this.#config.name
  }

  get sessionId(): string | undefined {
    return this.#session ? this.#session.sessionId : this.#givenSession
  }

  get quietMs(): number | undefined {
    return this.#session?.quietMs
  }

  get mirrorsAlways(): boolean {
    return this.#config.standardHeaders
  }

  get tracer(): Tracer | undefined {
    return this.#config.tracer
  }

  set tracer(tracer: Tracer | undefined) {
    this.#config.tracer = tracer
  }

  get hidesCredentials(): boolean {
    return this.#config.hidesCredentials
  }

  authorizationContext(): string | Promise<string> {
    return this.#config.authorizationContext()
  }

  /** The negotiated revision. */
  get protocolVersion(): string | undefined {
    return this.#version
  }

  /** @internal The HTTP status of the response to `server/discover` and to `initialize`. */
  get openingStatuses(): ReadonlyMap<string, number> {
    return this.#openingStatuses
  }

  /** Starts, or restarts: nothing from before arrives any more. */
  async start(): Promise<void> {
    this.#session?.end()
    this.#version = undefined
    await this.#config.open()
    const session = new ClientSession(
      this.#config,
      {
        message: (value) => this.onmessage?.(value),
        error: (error) => this.onerror?.(error),
        gap: () => this.ongap?.(),
        lost: () => this.onclose?.({ sessionLost: true, reason: 'the server no longer knows the session' }),
      },
      this.#givenSession,
    )
    this.#givenSession = undefined
    this.#openingStatuses = session.openingStatuses
    this.#session = session
  }

  /** Sends a message. For a request, resolves when its response has arrived, which is delivered by `onmessage`. */
  send(message: RpcMessage | RpcMessage[], options?: HttpMessageOptions): Promise<void> {
    if (Array.isArray(message) && message.some(isRequest)) return this.#sendEach(message, options)
    const session = this.#open()
    if (Array.isArray(message) || !isRequest(message)) {
      return options?.resumptionToken
        ? session.resume(options.resumptionToken, options.onresumptiontoken)
        : session.notify(message)
    }
    const { id, method, params } = message
    const known = this.#outgoing.get(id)
    this.#outgoing.delete(id)
    return session.request(JSON.stringify(message), { options, ...known, id, method, params })
  }

  sendBatch(requests: RpcMessage[]): Promise<void> {
    return this.send(requests, { batch: true })
  }

  /** Only 2025-03-26 has batches. Sent one by one, each request has a stream for its response on every revision. */
  async #sendEach(messages: readonly RpcMessage[], options: HttpMessageOptions | undefined): Promise<void> {
    if (options?.batch) {
      const requests = messages.filter(isRequest).map(({ id, method, params }) => ({ id, method, params, options }))
      return this.#open().batch(messages, requests as never)
    }
    await Promise.all(messages.map((message) => this.send(message, options)))
  }

  sendRequest(text: string, request: OutgoingRequest): Promise<void> {
    if (!this.#isWatched) return this.#open().request(text, request satisfies SentRequest)
    // The rest of the request is found by its id, whatever the wrapper around `send` does with the message.
    this.#outgoing.set(request.id, request)
    const sent = this.send(JSON.parse(text), toMessageOptions(request.options))
    return Promise.resolve(sent).finally(() => this.#outgoing.delete(request.id))
  }

  /** Whether a program replaced `send`, or overrides it in a subclass. It must see every message. */
  get #isWatched(): boolean {
    return isWatched(this) || this.send !== StreamableHTTPClientTransport.prototype.send
  }

  /**
   * Opens a stream that continues after an event which was received before, perhaps by another transport of the same session.
   * Rejects if the server refuses that.
   *
   * @param lastEventId The last value that `onresumptiontoken` received. Undefined opens the stream from now on.
   */
  resumeStream(
    lastEventId: string | undefined,
    options: Pick<HttpMessageOptions, 'onresumptiontoken'> = {},
  ): Promise<void> {
    return this.#open().resume(lastEventId, options.onresumptiontoken)
  }

  cancelRequest(id: number): boolean {
    return this.#session?.cancel(id) ?? true
  }

  setProtocolVersion(version: string): void {
    this.#version = version
    const revision = revisions.find(({ id }) => id === version)
    this.#session?.setRevision(revision ?? { id: version, era: 'handshake', batching: false })
  }

  /** Exchanges the authorization code that the user came back with, if you use `authProvider`. Then connect again. */
  async finishAuth(answer: RedirectResult, iss?: string): Promise<void> {
    await finishAuth(this.#config.auth, answer, iss)
  }

  /** Asks the server to end the session. Servers may refuse that with 405; rejects with other errors. */
  async terminateSession(): Promise<void> {
    const error = await this.#session?.terminate()
    if (error && error.status !== 405) throw error
  }

  async close(): Promise<void> {
    const session = this.#session
    if (!session) return
    this.#session = undefined
    session.end()
    if (this.#terminatesOnClose) await session.terminate()
    this.#config.close()
    this.onclose?.()
  }

  #open(): ClientSession {
    if (!this.#session) throw new ClosedError('The transport is not started, or closed')
    return this.#session
  }
}

function toMessageOptions(options: HttpSendOptions | undefined): HttpMessageOptions | undefined {
  if (!options?.resumptionToken && !options?.onresumptiontoken) return undefined
  const { resumptionToken, onresumptiontoken } = options
  return { resumptionToken, onresumptiontoken }
}

function isRequest(message: RpcMessage): message is RpcRequest {
  return 'method' in message && 'id' in message
}

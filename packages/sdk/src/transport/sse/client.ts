import type { RedirectResult } from '../../auth/client/provider.ts'
import { HttpError } from '../../errors.ts'
import { classify, Fault, type RpcMessage } from '../../jsonrpc/message.ts'
import { parseText } from '../../jsonrpc/parse.ts'
import {
  isWatched,
  type OutgoingRequest,
  type RequestSender,
  type Transport,
  type TransportEvents,
} from '../../jsonrpc/transport.ts'
import type { ResponseHead } from '../../net/send.ts'
import type { Traceable, Tracer } from '../../protocol/trace.ts'
import type {
  CarriesCredentials,
  Described,
  HandshakeOnly,
  HttpSendOptions,
  ListensQuietly,
  Restartable,
  VersionAware,
} from '../../protocol/transport.ts'
import { clock } from '../../util/clock.ts'
import { scheduler, type Timer } from '../../util/scheduler.ts'
import { ClientConfig, type HttpClientOptions, parseUrl } from '../http/client/config.ts'
import { EventReader, type ServerSentEvent } from '../http/client/event-reader.ts'
import { answerLabel, PendingAnswers } from '../http/client/pending-answers.ts'
import { authOf, finishAuth, type ProviderOption } from '../http/client/provider-auth.ts'
import { ClientRequest, type RequestListener, reasonOf } from '../http/client/request.ts'
import { isEventStream, traceReceived, unreadable } from '../http/client/request-post.ts'

export interface SSEClientTransportOptions extends HttpClientOptions, ProviderOption {
  /** How long to wait for the event with the endpoint for messages. Default 10,000. */
  endpointTimeoutMs?: number | undefined
}

/**
 * The client side of the HTTP+SSE transport of 2024-11-05, for servers that have no other. One stream carries all messages of
 * the server, and its first event names the URL that messages are posted to. The session ends with the stream.
 */
export class SSEClientTransport
  implements
    Transport,
    RequestSender,
    Restartable,
    HandshakeOnly,
    Described,
    CarriesCredentials,
    VersionAware,
    ListensQuietly,
    Traceable
{
  onmessage?: Transport['onmessage'] | undefined
  onclose?: Transport['onclose'] | undefined
  onerror?: Transport['onerror'] | undefined
  onwait?: TransportEvents['onwait'] | undefined
  readonly restartable = true
  readonly tracesMessages = true
  readonly handshakeOnly = true
  readonly peerKey: string
  readonly address: string
  readonly #options: SSEClientTransportOptions
  readonly #config: ClientConfig
  readonly #answers = new PendingAnswers()
  #stream: ServerStream | undefined
  #version: string | undefined

  constructor(url: string | URL, options: SSEClientTransportOptions = {}) {
    this.#options = options
    this.#config = new ClientConfig(url, { ...options, auth: authOf(options) })
    this.#config.onWait = () => this.onwait?.() ?? (() => {})
    this.address = this.#config.name
    this.peerKey = `sse ${this.#config.name}`
  }

  get tracer(): Tracer | undefined {
    return this.#config.tracer
  }

  set tracer(tracer: Tracer | undefined) {
    this.#config.tracer = tracer
  }

  get quietMs(): number | undefined {
    return this.#stream && clock.now() - this.#stream.heardAt
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

  async start(): Promise<void> {
    this.#stream?.close()
    this.#version = undefined
    await this.#config.open()
    const stream = new ServerStream(this.#config, (data) => {
      if (this.#stream === stream) this.#receive(data)
    })
    this.#stream = stream
    await stream.open(this.#options.endpointTimeoutMs ?? 10_000)
    void stream.lost.then((reason) => {
      if (this.#stream !== stream) return
      this.#stream = undefined
      stream.close()
      this.onclose?.({ sessionLost: true, reason })
    })
  }

  send(message: RpcMessage | RpcMessage[]): Promise<void> {
    const text = JSON.stringify(message)
    if (!Array.isArray(message) && 'method' in message) return this.#post(message.method, text)
    this.#answers.begin()
    return this.#post(answerLabel, text).finally(() => this.#answers.end())
  }

  sendRequest(text: string, { method, options = {} }: OutgoingRequest): Promise<void> {
    if (isWatched(this)) return Promise.resolve(this.send(JSON.parse(text)))
    const { onAuthorized }: HttpSendOptions = options
    return this.#post(method, text, onAuthorized)
  }

  setProtocolVersion(version: string): void {
    this.#version = version
  }

  /** Exchanges the authorization code that the user came back with, if you use `authProvider`. Then connect again. */
  async finishAuth(answer: RedirectResult, iss?: string): Promise<void> {
    await finishAuth(this.#config.auth, answer, iss)
  }

  async close(): Promise<void> {
    const stream = this.#stream
    this.#stream = undefined
    stream?.close()
    this.#config.close()
    if (stream) this.onclose?.()
  }

  #post(label: string, body: string, onAuthorized?: (context: string) => void): Promise<void> {
    const target = this.#stream?.endpoint
    if (!target)
      return Promise.reject(new HttpError(`${label} was not sent: there is no session`, { outcome: 'not-sent' }))
    const headers: Record<string, string> = { 'content-type': 'application/json' }
    if (this.#version !== undefined) headers['mcp-protocol-version'] = this.#version
    return new Promise((resolve, reject) => {
      const options = { method: 'POST', label, headers, body, url: target, onAuthorized } as const
      const listener: RequestListener = {
        onSuccess: () => 'none',
        onChunk: () => {},
        onComplete: () => resolve(),
        onFailure: (error) => reject(reasonOf(error)),
      }
      new ClientRequest(this.#config, options, listener).start()
    })
  }

  #receive(data: string): void {
    const value = parseText(data)
    traceReceived(this.tracer, value)
    if (value instanceof Fault) this.onerror?.(unreadable(value))
    else this.#deliver(value)
  }

  #deliver(value: unknown): void {
    const kind = Array.isArray(value) ? undefined : classify(value)
    // A batch may contain requests.
    if (kind === undefined || kind === 'request' || kind instanceof Fault) this.#answers.check()
    this.onmessage?.(value, undefined, kind)
  }
}

/** The stream of a session. */
class ServerStream implements RequestListener {
  /** The URL that messages are posted to; known once the stream is open. */
  endpoint: URL | undefined
  /** When something arrived last. */
  heardAt = clock.now()
  /** Resolves with the reason when the stream ends by itself. */
  readonly lost: Promise<string>
  readonly #config: ClientConfig
  readonly #onMessage: (data: string) => void
  readonly #reader: EventReader
  readonly #http: ClientRequest
  #onLost!: (reason: string) => void
  #onEndpoint: (() => void) | undefined
  #onRefused: ((error: Error) => void) | undefined

  constructor(config: ClientConfig, onMessage: (data: string) => void) {
    this.#config = config
    this.#onMessage = onMessage
    this.lost = new Promise((resolve) => {
      this.#onLost = resolve
    })
    this.#reader = new EventReader({ maxBytes: config.maxMessageBytes, onEvent: (event) => this.#receive(event) })
    const request = { method: 'GET', label: 'The event stream', headers: { accept: 'text/event-stream' } } as const
    this.#http = new ClientRequest(config, request, this)
  }

  /** Resolves when the event with the endpoint for messages arrives. */
  async open(timeoutMs: number): Promise<void> {
    let timer: Timer | undefined
    try {
      await new Promise<void>((resolve, reject) => {
        this.#onEndpoint = resolve
        this.#onRefused = reject
        timer = scheduler.setTimeout(() => reject(noEndpoint(`within ${timeoutMs} ms (endpointTimeoutMs)`)), timeoutMs)
        this.#http.start()
      })
    } catch (error) {
      this.close()
      throw error
    } finally {
      scheduler.clearTimeout(timer)
    }
  }

  close(): void {
    this.#http.abort()
  }

  onSuccess(head: ResponseHead): 'chunks' {
    if (isEventStream(head)) return 'chunks'
    const { status } = head
    throw new HttpError('The server did not answer a GET with an event stream', { outcome: 'refused', status })
  }

  onChunk(chunk: Uint8Array): void {
    this.heardAt = clock.now()
    this.#reader.push(chunk)
  }

  onComplete(): void {
    this.#over(noEndpoint('before the stream ended'), 'the server ended the event stream')
  }

  onFailure(error: HttpError): void {
    this.#over(error, error.message)
  }

  #over(error: HttpError, reason: string): void {
    if (this.endpoint) this.#onLost(reason)
    else this.#onRefused?.(reasonOf(error))
  }

  #receive({ type, data }: ServerSentEvent): void {
    if (this.endpoint && type === 'message') this.#onMessage(data)
    else if (!this.endpoint && type === 'endpoint') this.#setEndpoint(data)
  }

  /** Another origin must not get the caller's headers, and messages meant for this server. */
  #setEndpoint(data: string): void {
    const { url } = this.#config
    const target = parseUrl(new URL(data, url))
    if (target.origin !== url.origin) {
      throw new Error(`the endpoint for messages is on another origin, ${target.origin}`)
    }
    this.endpoint = target
    this.#onEndpoint?.()
  }
}

function noEndpoint(when: string): HttpError {
  return new HttpError(`The server did not send the endpoint for messages ${when}`, { outcome: 'refused' })
}

import type { Answer } from '../../auth/client/provider.ts'
import { HttpError } from '../../errors.ts'
import { isWatched } from '../../jsonrpc/link.ts'
import { Fault, kindOf, type RpcMessage } from '../../jsonrpc/message.ts'
import { parseText } from '../../jsonrpc/parse.ts'
import type { OutgoingRequest, Transport } from '../../jsonrpc/transport.ts'
import type { ReadHeader } from '../http/client/call.ts'
import { ClientConfig, type HttpClientOptions, parseUrl } from '../http/client/config.ts'
import { EventReader, type ServerSentEvent } from '../http/client/event-reader.ts'
import { answerNotice, PendingAnswers } from '../http/client/pending-answers.ts'
import { authOf, finishAuth, type ProviderOption } from '../http/client/provider.ts'
import { isEventStream, unreadable } from '../http/client/read.ts'
import { HttpExchange, reasonOf, type Taker } from '../http/client/request.ts'

export interface SSEClientTransportOptions extends HttpClientOptions, ProviderOption {
  /** How long the server may take to say where messages go. Default 10,000. */
  endpointTimeoutMs?: number | undefined
}

/**
 * A client's end of the HTTP+SSE transport of 2024-11-05, for servers that have no other: one stream brings everything
 * that the server says, and messages are posted to where its first event says. Without the stream there is no session.
 */
export class SSEClientTransport implements Transport {
  onmessage?: Transport['onmessage'] | undefined
  onclose?: Transport['onclose'] | undefined
  onerror?: Transport['onerror'] | undefined
  onwait?: Transport['onwait'] | undefined
  readonly restartable = true
  readonly handshakeOnly = true
  readonly peerKey: string
  readonly address: string
  readonly #options: SSEClientTransportOptions
  readonly #destination: ClientConfig
  readonly #answers = new PendingAnswers()
  #stream: ServerStream | undefined
  #version: string | undefined

  constructor(url: string | URL, options: SSEClientTransportOptions = {}) {
    this.#options = options
    this.#destination = new ClientConfig(url, { ...options, auth: authOf(options) })
    this.#destination.onWait = () => this.onwait?.() ?? (() => {})
    this.address = this.#destination.name
    this.peerKey = `sse ${this.#destination.name}`
  }

  get hidesCredentials(): boolean {
    return this.#destination.hidesCredentials
  }

  authorizationContext(): string | Promise<string> {
    return this.#destination.authorizationContext()
  }

  /** The revision that was agreed on. */
  get protocolVersion(): string | undefined {
    return this.#version
  }

  async start(): Promise<void> {
    this.#stream?.close()
    this.#version = undefined
    await this.#destination.open()
    const stream = new ServerStream(this.#destination, (data) => {
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
    return this.#post(answerNotice, text).finally(() => this.#answers.end())
  }

  sendRequest(text: string, request: OutgoingRequest): Promise<void> {
    if (isWatched(this)) return Promise.resolve(this.send(JSON.parse(text)))
    return this.#post(request.method, text, request.onAuthorized)
  }

  setProtocolVersion(version: string): void {
    this.#version = version
  }

  /** With `authProvider`: redeems what the user came back with; then connect again. */
  async finishAuth(answer: Answer, iss?: string): Promise<void> {
    await finishAuth(this.#destination.auth, answer, iss)
  }

  async close(): Promise<void> {
    const stream = this.#stream
    this.#stream = undefined
    stream?.close()
    this.#destination.close()
    if (stream) this.onclose?.()
  }

  #post(about: string, body: string, onAuthorized?: (context: string) => void): Promise<void> {
    const target = this.#stream?.endpoint
    if (!target)
      return Promise.reject(new HttpError(`${about} was not sent: there is no session`, { outcome: 'not-sent' }))
    const headers: Record<string, string> = { 'content-type': 'application/json' }
    if (this.#version !== undefined) headers['mcp-protocol-version'] = this.#version
    return new Promise((resolve, reject) => {
      const failed = (error: HttpError) => reject(reasonOf(error))
      const taker: Taker = { accepted: () => 'none', bytes: () => {}, ended: () => resolve(), failed }
      new HttpExchange(
        this.#destination,
        { method: 'POST', about, headers, body, url: target, onAuthorized },
        taker,
      ).start()
    })
  }

  #receive(data: string): void {
    const value = parseText(data)
    if (value instanceof Fault) this.onerror?.(unreadable(value))
    else this.#deliver(value)
  }

  #deliver(value: unknown): void {
    const kind = Array.isArray(value) ? 'request' : kindOf(value)
    if (kind === 'request' || kind instanceof Fault) this.#answers.check()
    this.onmessage?.(value)
  }
}

/** The one stream of a session. */
class ServerStream implements Taker {
  /** Where messages go; known once it is open. */
  endpoint: URL | undefined
  /** Settles when the stream ends by itself, with what happened. */
  readonly lost: Promise<string>
  readonly #destination: ClientConfig
  readonly #onMessage: (data: string) => void
  readonly #reader: EventReader
  readonly #delivery: HttpExchange
  #onLost!: (reason: string) => void
  #onEndpoint: (() => void) | undefined
  #onRefused: ((error: Error) => void) | undefined

  constructor(destination: ClientConfig, onMessage: (data: string) => void) {
    this.#destination = destination
    this.#onMessage = onMessage
    this.lost = new Promise((resolve) => {
      this.#onLost = resolve
    })
    this.#reader = new EventReader({ maxBytes: destination.maxMessageBytes, onEvent: (event) => this.#take(event) })
    const request = { method: 'GET', about: 'The event stream', headers: { accept: 'text/event-stream' } } as const
    this.#delivery = new HttpExchange(destination, request, this)
  }

  /** Settles with the event that says where messages go. */
  async open(timeoutMs: number): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined
    try {
      await new Promise<void>((resolve, reject) => {
        this.#onEndpoint = resolve
        this.#onRefused = reject
        timer = setTimeout(() => reject(noEndpoint(`within ${timeoutMs} ms (endpointTimeoutMs)`)), timeoutMs)
        this.#delivery.start()
      })
    } catch (error) {
      this.close()
      throw error
    } finally {
      clearTimeout(timer)
    }
  }

  close(): void {
    this.#delivery.abort()
  }

  accepted(status: number, header: ReadHeader): 'bytes' {
    if (isEventStream(header)) return 'bytes'
    throw new HttpError('The server answered a GET with no event stream', { outcome: 'refused', status })
  }

  bytes(chunk: Uint8Array): void {
    this.#reader.push(chunk)
  }

  ended(): void {
    this.#over(noEndpoint('before the stream ended'), 'the server ended the event stream')
  }

  failed(error: HttpError): void {
    this.#over(error, error.message)
  }

  #over(error: HttpError, reason: string): void {
    if (this.endpoint) this.#onLost(reason)
    else this.#onRefused?.(reasonOf(error))
  }

  #take({ type, data }: ServerSentEvent): void {
    if (this.endpoint && type === 'message') this.#onMessage(data)
    else if (!this.endpoint && type === 'endpoint') this.#setEndpoint(data)
  }

  /** Elsewhere it would get the caller's headers, and messages meant for this server. */
  #setEndpoint(data: string): void {
    const { url } = this.#destination
    const target = parseUrl(new URL(data, url))
    if (target.origin !== url.origin) {
      throw new Error(`it wants messages to be sent to another origin, ${target.origin}`)
    }
    this.endpoint = target
    this.#onEndpoint?.()
  }
}

function noEndpoint(when: string): HttpError {
  return new HttpError(`The server did not say where messages go ${when}`, { outcome: 'refused' })
}

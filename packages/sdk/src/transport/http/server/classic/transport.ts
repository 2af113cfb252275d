import type { ServerResponse } from 'node:http'
import { ClosedError } from '../../../../errors.ts'
import type { RequestId, RpcMessage } from '../../../../jsonrpc/message.ts'
import type { Transport } from '../../../../jsonrpc/transport.ts'
import type { Endpoint } from '../../../../protocol/endpoint.ts'
import type { CarriesManyPeers, HasSession, MessageHandler } from '../../../../protocol/transport.ts'
import type { EventStore } from '../../../../store/ports.ts'
import { type HttpCall, Refusal, refusedCode } from '../call.ts'
import { HttpRequestHandler } from '../handler.ts'
import { NodeCall } from '../node.ts'
import type { NodeRequest } from '../node-request.ts'
import type { HttpOptions } from '../options.ts'
import { type FetchExtras, WebCall } from '../web.ts'
import { Relay } from './relay.ts'
import { WatchedEndpoint } from './watched-endpoint.ts'
import { WatchedMessages } from './watched-messages.ts'

export interface StreamableHTTPServerTransportOptions
  extends Omit<HttpOptions, 'sessions' | 'sessionIdGenerator' | 'sse'> {
  /** Makes the id of the session. Undefined: there are none, and every request stands alone. */
  sessionIdGenerator?: (() => string) | undefined
  onsessioninitialized?: ((sessionId: string) => void | Promise<void>) | undefined
  onsessionclosed?: ((sessionId: string) => void | Promise<void>) | undefined
  /** Host and Origin are checked unless this is false; then only what is listed is allowed. Default true. */
  enableDnsRebindingProtection?: boolean | undefined
}

/**
 * The transport as those know it who route sessions themselves: one for each session, or one for each request. Most servers
 * want `serveHttp` or `createMcpHandler`, which need no routing.
 */
export class StreamableHTTPServerTransport implements Transport, HasSession, CarriesManyPeers {
  onmessage?: MessageHandler | undefined
  onerror?: Transport['onerror'] | undefined
  onclose?: Transport['onclose'] | undefined
  sessionId: string | undefined
  readonly #options: StreamableHTTPServerTransportOptions
  #engine: HttpRequestHandler | undefined
  #watched: WatchedMessages | undefined
  #relay: Relay | undefined
  #isClosed = false

  constructor(options: StreamableHTTPServerTransportOptions = {}) {
    this.#options = options
  }

  serves(server: Endpoint): void {
    if (this.#engine) throw new TypeError('This transport is connected already; make another for another server')
    this.#watched = new WatchedMessages(this)
    this.#engine = this.#createEngine(new WatchedEndpoint(server, this.#watched))
  }

  /** Without a server, as in proxies: from now on `onmessage` gets every message, and `send` answers. */
  async start(): Promise<void> {
    if (this.#watched) this.#watched.started()
    else this.#startRelay()
  }

  /**
   * Sends a message that is not sent by a server: responses on the stream of their request, others on that of
   * `relatedRequestId`, or on the stream that the client opened by GET.
   */
  async send(
    message: RpcMessage | RpcMessage[],
    options?: { relatedRequestId?: RequestId | undefined },
  ): Promise<void> {
    if (this.#watched) return this.#watched.deliver(message, options)
    if (!this.#relay) throw new ClosedError('The transport is not started: call start() or server.connect(transport)')
    this.#relay.send(message, options?.relatedRequestId)
  }

  async close(): Promise<void> {
    await this.#engine?.close()
    this.#ended()
  }

  /** Answers a request of `node:http`, Express and the like. Resolves when the response was sent or the client is gone. */
  handleRequest(request: NodeRequest, response: ServerResponse, parsedBody?: unknown): Promise<void> {
    const call = new NodeCall(request, response, parsedBody)
    const finished = call.finished()
    this.#handle(call)
    return finished
  }

  /** Answers a web-standard request. */
  async handleFetch(request: Request, extras?: FetchExtras): Promise<Response> {
    const call = new WebCall(request, extras)
    this.#handle(call)
    return call.response
  }

  #handle(call: HttpCall): void {
    if (!this.#engine && this.onmessage) this.#startRelay()
    if (this.#engine) this.#engine.handle(call)
    else notConnected().send(call)
  }

  #startRelay(): void {
    if (this.#engine) return
    this.#relay = new Relay(this)
    this.#engine = this.#createEngine(this.#relay)
  }

  #createEngine(endpoint: Endpoint): HttpRequestHandler {
    const { sessionIdGenerator, eventStore, enableDnsRebindingProtection, ...options } = this.#options
    const isUnchecked = enableDnsRebindingProtection === false
    return new HttpRequestHandler(endpoint, {
      ...options,
      ...(eventStore && { eventStore: withObjects(eventStore) }),
      sessions: sessionIdGenerator !== undefined,
      sessionIdGenerator: sessionIdGenerator && (() => this.#open(sessionIdGenerator())),
      onSession: (event, id) => this.#onSession(event, id),
      ...(isUnchecked && { allowAnyHost: true, allowAnyOrigin: true }),
    })
  }

  /** One transport is one session: a second `initialize` is refused. */
  #open(id: string): string {
    if (this.sessionId !== undefined) {
      throw new Refusal(400, -32600, 'This transport has its session already: make another for another', null)
    }
    return id
  }

  async #onSession(event: 'opened' | 'closed', id: string): Promise<void> {
    const { onsessioninitialized, onsessionclosed } = this.#options
    if (event === 'opened') {
      this.sessionId = id
      try {
        return await onsessioninitialized?.(id)
      } catch (error) {
        this.sessionId = undefined
        throw error
      }
    }
    try {
      await onsessionclosed?.(id)
    } finally {
      this.#ended()
    }
  }

  /** The session is all there is of this transport; requests that still name it are answered that it is gone. */
  #ended(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.onclose?.()
  }
}

function notConnected(): Refusal {
  return new Refusal(500, refusedCode, 'The transport is not connected: call server.connect(transport) first')
}

/** Stores of this interface were written for messages, not for their texts. */
function withObjects(store: EventStore): EventStore {
  return {
    storeEvent: (streamId, message) => store.storeEvent(streamId, message === '' ? {} : JSON.parse(message as string)),
    replayEventsAfter: (lastEventId, { send }) =>
      store.replayEventsAfter(lastEventId, {
        send: (id, message) => send(id, isEmpty(message) ? '' : message),
      }),
    ...(store.forget && { forget: (prefix: string) => store.forget!(prefix) }),
  }
}

function isEmpty(message: unknown): boolean {
  return typeof message === 'object' && message !== null && Object.keys(message).length === 0
}

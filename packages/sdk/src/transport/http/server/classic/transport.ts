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
import { watchEndpoint } from './watched-endpoint.ts'
import { WatchedMessages } from './watched-messages.ts'

/** Options of `StreamableHTTPServerTransport`. */
export interface StreamableHTTPServerTransportOptions
  extends Omit<HttpOptions, 'sessions' | 'sessionIdGenerator' | 'sse'> {
  /** Generates the id of the session. Undefined: there is no session, and every request is handled on its own. */
  sessionIdGenerator?: (() => string) | undefined
  /** Called with the id of the new session. */
  onsessioninitialized?: ((sessionId: string) => void | Promise<void>) | undefined
  /** Called when the session has ended. */
  onsessionclosed?: ((sessionId: string) => void | Promise<void>) | undefined
  /** Whether the headers `Host` and `Origin` are checked. Default true. */
  enableDnsRebindingProtection?: boolean | undefined
}

/**
 * A Streamable HTTP transport for servers that route sessions themselves: create one for each session, or one for each request.
 * Most servers use `serveHttp` or `createMcpHandler`, which need no routing.
 */
export class StreamableHTTPServerTransport implements Transport, HasSession, CarriesManyPeers {
  onmessage?: MessageHandler | undefined
  onerror?: Transport['onerror'] | undefined
  onclose?: Transport['onclose'] | undefined
  sessionId: string | undefined
  readonly #options: StreamableHTTPServerTransportOptions
  #handler: HttpRequestHandler | undefined
  #watched: WatchedMessages | undefined
  #relay: Relay | undefined
  #isClosed = false

  constructor(options: StreamableHTTPServerTransportOptions = {}) {
    this.#options = options
  }

  /** @internal */
  serves(server: Endpoint): void {
    if (this.#handler)
      throw new TypeError('This transport is connected already. Create another one for another server.')
    this.#watched = new WatchedMessages(this)
    this.#handler = this.#createHandler(watchEndpoint(server, this.#watched))
  }

  /** Called by `server.connect`. Call it yourself to use the transport without a server, as proxies do: set `onmessage` and use `send`. */
  async start(): Promise<void> {
    if (this.#watched) this.#watched.started()
    else this.#startRelay()
  }

  /**
   * Sends a message without a server. A response goes to the stream of its request, other messages to the stream of
   * `relatedRequestId` or to the one that the client opened by GET.
   */
  async send(
    message: RpcMessage | RpcMessage[],
    options?: { relatedRequestId?: RequestId | undefined },
  ): Promise<void> {
    if (this.#watched) return this.#watched.deliver(message, options)
    if (!this.#relay) throw new ClosedError('The transport is not started. Call start() or server.connect(transport).')
    this.#relay.send(message, options?.relatedRequestId)
  }

  async close(): Promise<void> {
    await this.#handler?.close()
    this.#ended()
  }

  /** Handles a request of `node:http`, Express or the like. Resolves when the response was sent or the client is gone. */
  handleRequest(request: NodeRequest, response: ServerResponse, parsedBody?: unknown): Promise<void> {
    const call = new NodeCall(request, response, parsedBody)
    const finished = call.finished()
    this.#handle(call)
    return finished
  }

  /** Handles a web-standard request. */
  async handleFetch(request: Request, extras?: FetchExtras): Promise<Response> {
    const call = new WebCall(request, extras)
    this.#handle(call)
    return call.response
  }

  #handle(call: HttpCall): void {
    if (!this.#handler && this.onmessage) this.#startRelay()
    if (this.#handler) this.#handler.handle(call)
    else notConnected().send(call)
  }

  #startRelay(): void {
    if (this.#handler) return
    this.#relay = new Relay(this)
    this.#handler = this.#createHandler(this.#relay)
  }

  #createHandler(endpoint: Endpoint): HttpRequestHandler {
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

  /** A transport has one session: a second `initialize` is refused. */
  #open(id: string): string {
    if (this.sessionId !== undefined) {
      throw new Refusal(
        400,
        -32600,
        'This transport already has a session. Create another transport for another session.',
        null,
      )
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

  /** The transport ends with its session. Later requests with its id are answered with 404. */
  #ended(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.onclose?.()
  }
}

function notConnected(): Refusal {
  return new Refusal(500, refusedCode, 'The transport is not connected. Call server.connect(transport) first.')
}

/** Event stores written for the official SDK expect messages as objects, not as text. */
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

import type { ServerResponse } from 'node:http'
import type { Endpoint } from '../../jsonrpc/endpoint.ts'
import type { Transport } from '../../jsonrpc/transport.ts'
import type { EventStore } from '../../store/ports.ts'
import { Refusal, refusedCode } from './call.ts'
import { HttpEngine } from './engine.ts'
import { NodeCall, type NodeRequest } from './node.ts'
import type { HttpOptions } from './options.ts'
import { type FetchExtras, WebCall } from './web.ts'

export interface StreamableHTTPServerTransportOptions
  extends Omit<HttpOptions, 'stateless' | 'sessionIdGenerator' | 'sse'> {
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
export class StreamableHTTPServerTransport implements Transport {
  onmessage?: Transport['onmessage'] | undefined
  onerror?: Transport['onerror'] | undefined
  onclose?: Transport['onclose'] | undefined
  sessionId: string | undefined
  readonly #options: StreamableHTTPServerTransportOptions
  #engine: HttpEngine | undefined
  #isClosed = false

  constructor(options: StreamableHTTPServerTransportOptions = {}) {
    this.#options = options
  }

  serves(server: Endpoint): void {
    if (this.#engine) throw new TypeError('This transport is connected already; make another for another server')
    const { sessionIdGenerator, eventStore, enableDnsRebindingProtection, ...options } = this.#options
    const isUnchecked = enableDnsRebindingProtection === false
    this.#engine = new HttpEngine(server, {
      ...options,
      ...(eventStore && { eventStore: withObjects(eventStore) }),
      stateless: sessionIdGenerator === undefined,
      sessionIdGenerator: sessionIdGenerator && (() => this.#open(sessionIdGenerator())),
      onSession: (event, id) => this.#onSession(event, id),
      ...(isUnchecked && { allowAnyHost: true, allowAnyOrigin: true }),
    })
  }

  async start(): Promise<void> {}

  /** Messages go by the streams of their requests and sessions, never by the transport as a whole. */
  send(): void {}

  async close(): Promise<void> {
    await this.#engine?.close()
    this.#ended()
  }

  /** Answers a request of `node:http`, Express and the like. Resolves when the response was sent or the client is gone. */
  handleRequest(request: NodeRequest, response: ServerResponse, parsedBody?: unknown): Promise<void> {
    const call = new NodeCall(request, response, parsedBody)
    const finished = call.finished()
    if (this.#engine) this.#engine.handle(call)
    else notConnected().send(call)
    return finished
  }

  /** Answers a web-standard request. */
  async handleFetch(request: Request, extras?: FetchExtras): Promise<Response> {
    const call = new WebCall(request, extras)
    if (this.#engine) this.#engine.handle(call)
    else notConnected().send(call)
    return call.response
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

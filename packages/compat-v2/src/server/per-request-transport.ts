import { StreamableHTTPServerTransport } from 'tenon/server'
import { SdkError, SdkErrorCode } from '../core/errors.ts'
import { claims } from '../core/inbound.ts'
import type { Transport, TransportSendOptions } from '../core/transport.ts'
import type {
  AuthInfo,
  JSONRPCMessage,
  JSONRPCNotification,
  JSONRPCRequest,
  MessageClassification,
  MessageExtraInfo,
  RequestId,
} from '../core/types.ts'

/**
 * `auto`: JSON, or an event stream if other messages are sent before the response. `sse`: always a stream. `json`: never a stream,
 * so that other messages are not sent.
 */
export type PerRequestResponseMode = 'auto' | 'sse' | 'json'

export interface PerRequestHTTPServerTransportOptions {
  classification: MessageClassification
  responseMode?: PerRequestResponseMode
  /** How often a comment is sent on an open stream. Default 15,000. */
  keepAliveMs?: number
}

export interface PerRequestMessageExtra {
  request?: globalThis.Request
  authInfo?: AuthInfo
}

/** Carries one message of 2026-07-28 and everything that belongs to it: a POST and its response, which Tenon writes. */
export class PerRequestHTTPServerTransport implements Transport {
  onclose?: (() => void) | undefined
  onerror?: ((error: Error) => void) | undefined
  onmessage?: Transport['onmessage']
  readonly #options: PerRequestHTTPServerTransportOptions
  readonly #http: StreamableHTTPServerTransport
  #isStarted = false
  #isUsed = false
  #isClosed = false
  #requestId: RequestId | undefined
  #extra: MessageExtraInfo
  #fail: ((error: Error) => void) | undefined

  constructor(options: PerRequestHTTPServerTransportOptions) {
    const { responseMode = 'auto', keepAliveMs } = options
    this.#options = options
    this.#extra = { classification: options.classification }
    this.#http = new StreamableHTTPServerTransport({
      // Host and origin are checked by the program, in front of the handler.
      enableDnsRebindingProtection: false,
      enableJsonResponse: responseMode === 'json',
      alwaysStream: responseMode === 'sse',
      streamAfterMs: Number.POSITIVE_INFINITY,
      ...(keepAliveMs !== undefined && { keepAliveMs: keepAliveMs > 0 ? keepAliveMs : 2 ** 31 - 1 }),
    })
  }

  async start(): Promise<void> {
    if (this.#isStarted) throw new Error('PerRequestHTTPServerTransport is already started')
    this.#isStarted = true
    this.#http.onmessage = (message) => this.onmessage?.(message as JSONRPCMessage, this.#extra)
    this.#http.onerror = (error) => this.onerror?.(error)
    await this.#http.start()
  }

  /** Handles the one message of this transport. */
  async handleMessage(
    message: JSONRPCRequest | JSONRPCNotification,
    extra: PerRequestMessageExtra = {},
  ): Promise<Response> {
    this.#checkUsable()
    this.#isUsed = true
    const { request, authInfo } = extra
    if (request?.signal.aborted) {
      await this.close()
      throw closedEarly()
    }
    this.#extra = { ...this.#extra, ...(request && { request }), ...(authInfo && { authInfo }) }
    if ('id' in message) this.#requestId = message.id
    const response = this.#http.handleFetch(toPost(message, request, this.#options), { parsedBody: message })
    if (!('id' in message)) return response
    request?.signal.addEventListener('abort', () => void this.close(), { once: true })
    const closed = new Promise<never>((_, reject) => {
      this.#fail = reject
    })
    return Promise.race([response, closed])
  }

  #checkUsable(): void {
    if (this.#isUsed) {
      throw new Error(
        'PerRequestHTTPServerTransport serves exactly one exchange; construct a new transport per request',
      )
    }
    if (!this.#isStarted || !this.onmessage) {
      throw new Error('PerRequestHTTPServerTransport is not connected: connect a server to this transport first')
    }
    if (this.#isClosed) throw new Error('PerRequestHTTPServerTransport is closed')
  }

  async send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    if (this.#isClosed) return
    const isResponse = !('method' in message)
    const relatedId = isResponse ? message.id : options?.relatedRequestId
    // There is no stream for messages that belong to no request.
    if (relatedId === undefined || relatedId !== this.#requestId) return
    if (!isResponse && this.#options.responseMode === 'json') return
    await this.#http.send(message as never, { relatedRequestId: relatedId })
    if (isResponse) queueMicrotask(() => void this.close())
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#fail?.(closedEarly())
    this.onclose?.()
    await this.#http.close()
  }
}

/** The POST as Tenon checks it: with the headers of the client, and a client that reads both kinds of response. */
function toPost(
  message: JSONRPCRequest | JSONRPCNotification,
  request: globalThis.Request | undefined,
  { classification }: PerRequestHTTPServerTransportOptions,
): globalThis.Request {
  const headers = new Headers(request?.headers)
  headers.set('accept', 'application/json, text/event-stream')
  headers.set('content-type', 'application/json')
  headers.delete('content-length')
  if (!claims(message) && classification.revision) headers.set('mcp-protocol-version', classification.revision)
  return new Request(request?.url ?? 'http://localhost/mcp', {
    method: 'POST',
    headers,
    ...(request && { signal: request.signal }),
  })
}

function closedEarly(): SdkError {
  return new SdkError(SdkErrorCode.ConnectionClosed, 'Connection closed before a response was produced')
}

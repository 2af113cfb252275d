import { StreamableHTTPServerTransport, statelessPostProblem } from 'tenon/server'
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
import { FetchCall, type HttpCall, JsonReply, type Reply, toResponse } from './http-call.ts'

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

let serveCall: (
  transport: PerRequestHTTPServerTransport,
  message: JSONRPCRequest | JSONRPCNotification,
  call: HttpCall,
  authInfo: AuthInfo | undefined,
) => Promise<Reply>

/** Does the same as `handleMessage`, for a call that may not have a `Request`. */
export function handleCall(
  transport: PerRequestHTTPServerTransport,
  message: JSONRPCRequest | JSONRPCNotification,
  call: HttpCall,
  authInfo: AuthInfo | undefined,
): Promise<Reply> {
  return serveCall(transport, message, call, authInfo)
}

/**
 * Carries one message of 2026-07-28 and everything that belongs to it: a POST and its response. Most responses are JSON, which is
 * written here. Tenon writes streams.
 */
export class PerRequestHTTPServerTransport implements Transport {
  onclose?: (() => void) | undefined
  onerror?: ((error: Error) => void) | undefined
  onmessage?: Transport['onmessage']
  private readonly _tenonOptions: PerRequestHTTPServerTransportOptions
  private _tenonStream: StreamableHTTPServerTransport | undefined
  private _tenonIsStarted = false
  private _tenonIsUsed = false
  private _tenonIsClosed = false
  private _requestId: RequestId | undefined
  private _tenonMessage: JSONRPCRequest | undefined
  private _tenonCall: HttpCall | undefined
  private _tenonExtra: MessageExtraInfo
  private _tenonIsAnswered = false
  private _tenonSettle: ((reply: Reply) => void) | undefined
  private _tenonFail: ((error: Error) => void) | undefined

  static {
    serveCall = (transport, message, call, authInfo) => transport._tenonServe(message, call, authInfo)
  }

  constructor(options: PerRequestHTTPServerTransportOptions) {
    this._tenonOptions = options
    this._tenonExtra = { classification: options.classification }
  }

  async start(): Promise<void> {
    if (this._tenonIsStarted) throw new Error('PerRequestHTTPServerTransport is already started')
    this._tenonIsStarted = true
  }

  /** Handles the one message of this transport. */
  async handleMessage(
    message: JSONRPCRequest | JSONRPCNotification,
    { request, authInfo }: PerRequestMessageExtra = {},
  ): Promise<Response> {
    return toResponse(await this._tenonServe(message, request && new FetchCall(request), authInfo))
  }

  private async _tenonServe(
    message: JSONRPCRequest | JSONRPCNotification,
    call: HttpCall | undefined,
    authInfo: AuthInfo | undefined,
  ): Promise<Reply> {
    this._tenonCheckUsable()
    this._tenonIsUsed = true
    if (call?.isGone) {
      await this.close()
      throw closedEarly()
    }
    const problem = statelessPostProblem(message, call ?? noHeaders)
    if (problem) {
      queueMicrotask(() => void this.close())
      return new JsonReply(problem.status, problem.json)
    }
    this._tenonExtra = toExtra(this._tenonExtra, call, authInfo)
    if ('id' in message) return this._tenonAnswer(message, call)
    this.onmessage?.(message, this._tenonExtra)
    return new Response(null, { status: 202 })
  }

  private _tenonAnswer(message: JSONRPCRequest, call: HttpCall | undefined): Promise<Reply> {
    this._requestId = message.id
    this._tenonMessage = message
    this._tenonCall = call
    call?.watch(() => void this.close())
    return new Promise((resolve, reject) => {
      this._tenonSettle = resolve
      this._tenonFail = reject
      this.onmessage?.(message, this._tenonExtra)
    })
  }

  private _tenonCheckUsable(): void {
    if (this._tenonIsUsed) {
      throw new Error(
        'PerRequestHTTPServerTransport serves exactly one exchange; construct a new transport per request',
      )
    }
    if (!this._tenonIsStarted || !this.onmessage) {
      throw new Error('PerRequestHTTPServerTransport is not connected: connect a server to this transport first')
    }
    if (this._tenonIsClosed) throw new Error('PerRequestHTTPServerTransport is closed')
  }

  async send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    if (this._tenonIsClosed) return
    const isResponse = !('method' in message)
    const relatedId = isResponse ? message.id : options?.relatedRequestId
    // There is no stream for messages that belong to no request.
    if (relatedId === undefined || relatedId !== this._requestId || this._tenonIsAnswered) return
    const { responseMode = 'auto' } = this._tenonOptions
    if (!isResponse && responseMode === 'json') return
    if (isResponse && responseMode !== 'sse' && !this._tenonStream) this._tenonSettle?.(toJsonReply(message))
    else await this._tenonSendOnStream(message, relatedId)
    this._tenonIsAnswered ||= isResponse
    if (isResponse) queueMicrotask(() => void this.close())
  }

  private _tenonSendOnStream(message: JSONRPCMessage, relatedRequestId: RequestId): Promise<void> {
    this._tenonStream ??= this._tenonOpenStream()
    return this._tenonStream.send(message as never, { relatedRequestId })
  }

  private _tenonOpenStream(): StreamableHTTPServerTransport {
    const { keepAliveMs } = this._tenonOptions
    const stream = new StreamableHTTPServerTransport({
      // Host and origin are checked by the program, in front of the handler.
      enableDnsRebindingProtection: false,
      alwaysStream: this._tenonOptions.responseMode === 'sse',
      streamAfterMs: Number.POSITIVE_INFINITY,
      ...(keepAliveMs !== undefined && { keepAliveMs: keepAliveMs > 0 ? keepAliveMs : 2 ** 31 - 1 }),
    })
    stream.onmessage = (received) => this._tenonReceivedOnStream(received as JSONRPCMessage)
    stream.onerror = (error) => this.onerror?.(error)
    const post = toPost(this._tenonMessage!, this._tenonCall?.request, this._tenonOptions)
    stream.handleFetch(post, { parsedBody: this._tenonMessage }).then(this._tenonSettle, this._tenonFail)
    return stream
  }

  /** Apart from the request, which was received before, a stream only tells that its reader is gone. */
  private _tenonReceivedOnStream(received: JSONRPCMessage): void {
    if (received === this._tenonMessage) return
    this.onmessage?.(received, this._tenonExtra)
    void this.close()
  }

  async close(): Promise<void> {
    if (this._tenonIsClosed) return
    this._tenonIsClosed = true
    this._tenonCall?.unwatch()
    if (!this._tenonIsAnswered) this._tenonFail?.(closedEarly())
    this.onclose?.()
    await this._tenonStream?.close()
  }
}

const noHeaders = { header: () => undefined }

/** The `Request` is read only if a handler reads it. */
function toExtra(extra: MessageExtraInfo, call: HttpCall | undefined, authInfo: AuthInfo | undefined) {
  const { classification } = extra
  if (!call) return { ...extra, ...(authInfo && { authInfo }) }
  return {
    ...(classification && { classification }),
    ...(authInfo && { authInfo }),
    get request() {
      return call.request
    },
  }
}

/** The errors that have a status of their own on 2026-07-28. */
const errorStatuses: ReadonlyMap<number, number> = new Map([
  [-32700, 400],
  [-32600, 400],
  [-32601, 404],
  [-32020, 400],
  [-32021, 400],
  [-32022, 400],
])

function toJsonReply(response: JSONRPCMessage): JsonReply {
  const status = 'error' in response ? (errorStatuses.get(response.error.code) ?? 200) : 200
  return new JsonReply(status, JSON.stringify(response))
}

/**
 * The POST as Tenon checks it: with the headers of the client, and a client that reads both kinds of response. It is no `Request`:
 * one that follows the signal of another is freed only by a finalizer, late under load, with everything that listens to the signal.
 */
function toPost(
  message: JSONRPCRequest | JSONRPCNotification,
  request: globalThis.Request | undefined,
  { classification }: PerRequestHTTPServerTransportOptions,
): globalThis.Request {
  const { revision } = classification
  const headers = new PostHeaders(request?.headers, claims(message) ? undefined : revision)
  const post: PostView = {
    method: 'POST',
    url: request?.url ?? 'http://localhost/mcp',
    headers,
    signal: request?.signal ?? new AbortController().signal,
  }
  return post as globalThis.Request
}

/** What Tenon reads of a request whose body is parsed. */
type PostView = Pick<globalThis.Request, 'method' | 'url' | 'signal'> & { headers: Pick<Headers, 'get' | 'entries'> }

class PostHeaders {
  private readonly _given: Headers | undefined
  private readonly _revision: string | undefined

  constructor(given: Headers | undefined, revision: string | undefined) {
    this._given = given
    this._revision = revision
  }

  get(name: string): string | null {
    if (name === 'accept') return 'application/json, text/event-stream'
    if (name === 'content-type') return 'application/json'
    if (name === 'content-length') return null
    if (name === 'mcp-protocol-version' && this._revision) return this._revision
    return this._given?.get(name) ?? null
  }

  entries(): ReturnType<Headers['entries']> {
    const headers = new Headers(this._given)
    for (const name of ['accept', 'content-type', 'mcp-protocol-version']) {
      const value = this.get(name)
      if (value !== null) headers.set(name, value)
    }
    headers.delete('content-length')
    return headers.entries()
  }
}

function closedEarly(): SdkError {
  return new SdkError(SdkErrorCode.ConnectionClosed, 'Connection closed before a response was produced')
}

import type { Prepared, RequestId, RpcErrorBody } from '../../../jsonrpc/message.ts'
import type { AuthInfo } from '../../../protocol/auth-info.ts'
import type { HttpRequest } from '../../../protocol/http-request.ts'
import { scopesRequiredBy } from '../../../protocol/scopes.ts'
import type { RequestStream } from '../../../protocol/transport.ts'
import { joinBytes } from '../../../util/bytes.ts'
import { DenseSet, type DenseSetItem } from '../../../util/dense-set.ts'
import { scheduler, type Timer } from '../../../util/scheduler.ts'
import { warnOnce } from '../../../util/warn.ts'
import { eventHeaders, type HeaderFields, type HttpCall, jsonHeaders, Refusal } from './call.ts'
import type { EventStream } from './streams/event-stream.ts'

/** The peer that a POST belongs to: a session, or a single request. */
export interface PostOwner {
  readonly era: 'handshake' | 'stateless'
  /** The revision of a request of the handshake era outside of any session. */
  readonly assumedRevision?: string | undefined
  /** Whether even a response that nothing was sent before is an event stream (`alwaysStream`). */
  readonly alwaysStreams: boolean
  /**
   * Opens a stream for messages before the response; undefined if the response can only be plain JSON.
   * @param isOptional True if nothing is lost without it. Such streams leave room for those that are needed.
   * @param requestId The request of the response; undefined for a batch.
   */
  openStream(
    call: HttpCall,
    headers: HeaderFields,
    isOptional: boolean,
    requestId: RequestId | undefined,
  ): EventStream | undefined
  /** The response was sent, or there will be none. */
  answered(response: PostResponse): void
  reportError(error: unknown): void
}

/** The response to one POST: plain JSON, or an event stream if other messages are sent before the response. */
export class PostResponse implements RequestStream, DenseSetItem {
  place = -1
  /** The tick of `waiting` in which the wait for the response began. */
  waitingSince = 0
  waiting: SlowResponses | undefined
  readonly #call: HttpCall
  readonly #owner: PostOwner
  #stream: EventStream | undefined
  #done = false
  /** The request of the response; undefined for a batch. */
  requestId: RequestId | undefined
  /** Headers beyond those of every response: CORS, the session id. */
  headers: HeaderFields | undefined
  /** Awaited before the response is sent. If it rejects with a `Refusal`, that is sent instead. */
  beforeLast: ((error: RpcErrorBody | undefined) => Promise<void> | undefined) | undefined

  /** Called after the response was sent, or when there will be none. */
  afterLast: (() => void) | undefined

  constructor(call: HttpCall, owner: PostOwner, headers: HeaderFields | undefined) {
    this.#call = call
    this.#owner = owner
    this.headers = headers
  }

  get noStreamReason(): string {
    return 'Either enableJsonResponse is set, or the stream limit is reached (maxStreams, maxStreamsPerSession).'
  }

  get done(): boolean {
    return this.#done
  }

  /** Whether the response has begun or has ended. */
  get begun(): boolean {
    return this.#done || this.#stream !== undefined
  }

  get request(): HttpRequest {
    return this.#call.request
  }

  get authInfo(): AuthInfo | undefined {
    return this.#call.request.auth
  }

  get requestInfo(): { headers: Readonly<Record<string, string>> } {
    return { headers: this.#call.request.headers }
  }

  get era(): 'handshake' | 'stateless' {
    return this.#owner.era
  }

  get assumedRevision(): string | undefined {
    return this.#owner.assumedRevision
  }

  sendText(text: string, isLast: boolean, error?: RpcErrorBody): boolean {
    if (this.#done) return false
    if (!isLast) return this.#sendBefore(text)
    this.#setDone()
    const waiting = this.beforeLast?.(error)
    if (waiting) this.#finishAfter(waiting, text, error)
    else this.#finish(text, error)
    return true
  }

  begin(): boolean {
    return !this.#done && this.#open() !== undefined
  }

  #sendBefore(text: string): boolean {
    const stream = this.#open()
    stream?.send(text)
    return stream !== undefined
  }

  sendPrepared(id: RequestId, result: Prepared): boolean {
    if (this.#done || this.#stream || this.beforeLast || result.json.length < longText) return false
    if (this.#owner.alwaysStreams) return false
    this.#setDone()
    this.#call.reply(200, this.#jsonHeaders, toBytes(id, result))
    this.#answered()
    return true
  }

  /** Ends the HTTP response of a cancelled request. */
  end(): void {
    if (this.#done) return
    this.#setDone()
    if (this.#stream) this.#stream.end()
    else this.#call.reply(200, { ...eventHeaders, ...this.headers })
    this.#answered()
  }

  disconnect(retryMs: number): void {
    if (this.#done) return
    const stream = this.#open()
    if (stream?.resumable) stream.disconnect(retryMs)
  }

  /** Turns a slow response into a stream: headers are sent now, so that the connection stays open and may be resumable. */
  beginStream(): void {
    if (this.begun) return
    try {
      this.#stream = this.#owner.openStream(this.#call, { ...eventHeaders, ...this.headers }, true, this.requestId)
      // Some proxies forward nothing before the first byte of the body.
      this.#stream?.keepAlive()
    } catch (error) {
      // A framework in front of us may have responded already, for example because of its own timeout.
      this.#owner.reportError(error)
    }
  }

  #answered(): void {
    this.afterLast?.()
    this.#owner.answered(this)
  }

  #setDone(): void {
    this.#done = true
    this.waiting?.delete(this)
  }

  #open(): EventStream | undefined {
    this.#stream ??= this.#owner.openStream(this.#call, { ...eventHeaders, ...this.headers }, false, this.requestId)
    this.waiting?.delete(this)
    if (!this.#stream)
      warnOnce('json-only', 'Responses are plain JSON only, so progress and logs of requests are not sent.')
    return this.#stream
  }

  /** Without room for another stream the response is plain JSON, which every client accepts. */
  #openForResponse(): void {
    this.#stream ??= this.#owner.openStream(this.#call, { ...eventHeaders, ...this.headers }, false, this.requestId)
  }

  #finishAfter(waiting: Promise<void>, text: string, error: RpcErrorBody | undefined): void {
    waiting
      .then(
        () => this.#finish(text, error),
        (failure) => {
          if (failure instanceof Refusal) return this.#refuse(failure)
          this.#owner.reportError(failure)
          this.#finish(text, error)
        },
      )
      .catch((failure) => this.#owner.reportError(failure))
  }

  /** Sends a refusal in place of a result, although the request was executed. */
  #refuse(refusal: Refusal): void {
    const { 'mcp-session-id': _refused, ...headers } = this.headers ?? {}
    refusal.send(this.#call, headers)
    this.#answered()
  }

  #finish(text: string, error: RpcErrorBody | undefined): void {
    if (this.#owner.alwaysStreams && (!error || statusOf(error.code, this.#owner.era) === 200)) this.#openForResponse()
    if (this.#stream) {
      this.#stream.send(text)
      this.#stream.end()
    } else if (error) this.#replyError(text, error)
    else this.#call.reply(200, this.#jsonHeaders, text)
    this.#answered()
  }

  #replyError(text: string, error: RpcErrorBody): void {
    const status = statusOf(error.code, this.#owner.era)
    const scopes = status === 200 && text.length <= maxScopeError ? scopesRequiredBy(error) : undefined
    if (scopes && this.#call.replyInsufficientScope) {
      this.#call.replyInsufficientScope(scopes, this.#jsonHeaders, text)
    } else this.#call.reply(status, this.#jsonHeaders, text)
  }

  get #jsonHeaders(): HeaderFields {
    return this.headers ? { ...jsonHeaders, ...this.headers } : jsonHeaders
  }
}

/** An error with more text than this could name more scopes than fit into a header. */
const maxScopeError = 16_384

/** Longer prepared results are cached as bytes, because copying bytes is much cheaper than encoding text. */
const longText = 16_384
const encoded = new WeakMap<Prepared, Uint8Array>()

function toBytes(id: RequestId, result: Prepared): Uint8Array {
  const encoder = new TextEncoder()
  const body = encoded.get(result) ?? encoder.encode(result.json)
  encoded.set(result, body)
  const head = encoder.encode(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":`)
  return joinBytes([head, body, closeBrace], head.length + body.length + 1)
}

const closeBrace = /* @__PURE__ */ new Uint8Array([125])

/** 2026-07-28 assigns a status to some errors. Earlier, every response is a 200 unless the request was invalid. */
function statusOf(code: number, era: 'handshake' | 'stateless'): number {
  if (code === -32600 || code === -32700) return 400
  if (era === 'handshake') return 200
  if (code === -32601) return 404
  return code === -32020 || code === -32021 || code === -32022 ? 400 : 200
}

/** Waiting times are counted in ticks, so that adding a response needs neither a timer nor the clock. */
const ticksPerWait = 4

/**
 * Responses that have not begun. A single coarse timer turns each one that takes longer than `streamAfterMs` into a stream,
 * because proxies give up requests that get no headers.
 */
export class SlowResponses {
  readonly #responses = new DenseSet<PostResponse>()
  readonly #tickMs: number
  #tick = 0
  #timer: Timer | undefined

  /** @param streamAfterMs `Infinity`: responses never become streams because of the time. */
  constructor(streamAfterMs = 1_000) {
    if (!(streamAfterMs > 0)) throw new TypeError('streamAfterMs must be a number above 0, or Infinity to turn it off')
    this.#tickMs = Math.ceil(streamAfterMs / ticksPerWait)
  }

  add(response: PostResponse): void {
    if (response.begun || this.#tickMs > maxTimerMs) return
    response.waiting = this
    response.waitingSince = this.#tick
    this.#responses.add(response)
    this.#timer ??= this.#startTimer()
  }

  delete(response: PostResponse): void {
    this.#responses.delete(response)
  }

  #startTimer(): Timer {
    const timer = scheduler.setInterval(() => this.#check(), this.#tickMs)
    scheduler.unref(timer)
    return timer
  }

  #check(): void {
    this.#tick++
    if (this.#responses.size === 0) return this.#stopTimer()
    for (const response of this.#responses.all()) {
      if (this.#tick - response.waitingSince <= ticksPerWait) continue
      this.#responses.delete(response)
      response.beginStream()
    }
  }

  #stopTimer(): void {
    scheduler.clearInterval(this.#timer)
    this.#timer = undefined
  }
}

/** The longest time that a timer can wait. */
const maxTimerMs = 2 ** 31 - 1

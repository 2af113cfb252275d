import type { RequestId } from '../../../../jsonrpc/message.ts'
import { chain } from '../../../../util/maybe-async.ts'
import { random } from '../../../../util/random.ts'
import { scheduler } from '../../../../util/scheduler.ts'
import { eventHeaders, type HeaderFields, type HttpCall, jsonHeaders } from '../call.ts'
import { noConnection, notFound } from './refusals.ts'
import { type RawStreams, toEvent } from './streams.ts'

/** The response to one POST, with the answers to all of its requests: an event stream, or plain JSON. */
export class PostStream {
  readonly #call: HttpCall
  readonly #streams: RawStreams
  readonly #sessionId: string | undefined
  readonly #requests: number
  /** The responses so far, where they are sent together as JSON. */
  readonly #texts: string[] | undefined
  /** Requests without a response. */
  #waiting: number
  /** Undefined until the stream has begun. */
  #id: string | undefined
  #isOver = false

  /**
   * @param sessionId The session that the response names.
   * @param requests The number of requests in the POST.
   */
  constructor(call: HttpCall, streams: RawStreams, sessionId: string | undefined, requests: number, isJson: boolean) {
    this.#call = call
    this.#streams = streams
    this.#sessionId = sessionId
    this.#requests = requests
    this.#waiting = requests
    this.#texts = isJson ? [] : undefined
  }

  /** Whether messages can be sent before the response. */
  get carriesMessages(): boolean {
    return this.#texts === undefined
  }

  /** Sends the headers, so that messages can follow. */
  begin(): void {
    if (this.#id === undefined) this.#begin(random.uuid())
  }

  #begin(id: string): void {
    if (this.#isOver || this.#texts) return
    this.#id = id
    this.#streams.connect(id, this.#call, this.#call.stream(this.#streamHeaders))
  }

  /** Begins with an event from which the client can resume. Rejects, with nothing sent, if the store fails. */
  async beginResumable(): Promise<void> {
    const id = random.uuid()
    const sendFirst = await this.#streams.prepare(id)
    this.#begin(id)
    sendFirst()
  }

  /** Sends a message that belongs to one of the requests. */
  notify(text: string): Promise<void> | void {
    if (this.#texts || this.#isOver) return
    this.begin()
    return this.#streams.send(this.#id!, text)
  }

  /** Sends the response to one of the requests. Throws if the client is gone and cannot come back. */
  respond(requestId: RequestId, text: string): Promise<void> | void {
    if (this.#texts) return this.#collect(requestId, text)
    if (this.#id === undefined && this.#requests === 1) return this.#reply(text)
    this.begin()
    return chain(this.#streams.send(this.#id!, text), () => this.#responded(requestId))
  }

  /** There will be no response to one of the requests, because it was cancelled. */
  skip(): void {
    if (--this.#waiting > 0 || this.#isOver) return
    if (this.#texts && this.#texts.length > 0) return this.#replyJson(this.#texts)
    this.#isOver = true
    if (this.#id !== undefined) this.#streams.complete(this.#id)
    else this.#call.reply(200, this.#streamHeaders)
  }

  /** Ends the connection before the response. With an event store, the client gets the rest when it resumes the stream. */
  disconnect(retryMs?: number): void {
    this.begin()
    if (this.#id === undefined) {
      this.#isOver = true
      return
    }
    if (retryMs !== undefined) this.#streams.sendRetry(this.#id, retryMs)
    this.#streams.disconnect(this.#id)
  }

  /** The transport closed: there will be no response. */
  abandon(): void {
    if (this.#isOver) return
    this.#isOver = true
    if (this.#id === undefined) notFound().send(this.#call)
  }

  /** Most requests are answered at once. Their whole stream is a single event, sent like a plain response. */
  #reply(text: string): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#call.reply(200, this.#streamHeaders, toEvent(text, undefined))
  }

  get #streamHeaders(): HeaderFields {
    return this.#sessionId === undefined ? eventHeaders : sessionHeaders(this.#sessionId)
  }

  #collect(requestId: RequestId, text: string): void {
    this.#texts!.push(text)
    if (--this.#waiting > 0) return
    if (this.#isOver) throw noConnection(requestId)
    this.#replyJson(this.#texts!)
  }

  #replyJson(texts: readonly string[]): void {
    this.#isOver = true
    const sessionId = this.#sessionId
    const headers = sessionId === undefined ? jsonHeaders : { ...jsonHeaders, 'mcp-session-id': sessionId }
    this.#call.reply(200, headers, this.#requests === 1 ? texts[0] : `[${texts.join(',')}]`)
  }

  #responded(requestId: RequestId): void {
    if (--this.#waiting > 0) return
    const id = this.#id!
    const isReachable = this.#streams.isConnected(id) || this.#streams.isResumable(id) || this.#streams.isClosed
    this.#isOver = true
    this.#streams.complete(id)
    if (!isReachable) throw noConnection(requestId)
  }
}

/** The headers of an event stream in a session. A literal, because a copy of an object costs twice as much. */
export function sessionHeaders(sessionId: string): HeaderFields {
  return {
    'content-type': 'text/event-stream',
    'cache-control': 'no-cache, no-transform',
    'x-accel-buffering': 'no',
    'mcp-session-id': sessionId,
  }
}

let unanswered: PostStream[] = []

/** Begins a stream at the end of this turn of the event loop, unless its response was sent by then. Node.js only. */
export function beginAtEndOfTurn(stream: PostStream): void {
  if (unanswered.push(stream) > 1) return
  scheduler.setImmediate(() => {
    const streams = unanswered
    unanswered = []
    for (const each of streams) each.begin()
  })
}

import { HttpError, McpError } from '../../../errors.ts'
import { Fault, kindOf, type RequestId } from '../../../jsonrpc/message.ts'
import { parseText } from '../../../jsonrpc/parse.ts'
import { maxTimerMs } from '../../../util/backoff.ts'
import { isObject, type JsonObject } from '../../../util/objects.ts'
import { unref } from '../../../util/unref.ts'
import type { ReadHeader } from './call.ts'
import { notAnEndpoint } from './hints.ts'
import { isEventStream, isPassing, mediaType, readSessionId, unreadable } from './read.ts'
import { HttpExchange, reasonOf, type Taker } from './request.ts'
import type { Asked, ClientSession } from './session.ts'
import { ResumableStream } from './stream.ts'

export interface PostContent {
  readonly asked: Asked
  readonly text: string
  readonly headers: Readonly<Record<string, string>>
  /** Whether the request belongs to the stateless era, where nothing is resumed and closing is cancelling. */
  readonly isModern: boolean
}

/** A server that answered and does not end the stream gets this long. */
const lingerMs = 1_000

/** One request on its way: its POST, the answer in whatever form, and the stream that the answer may need. */
export class RequestPost implements Taker {
  readonly isModern: boolean
  readonly #conversation: ClientSession
  readonly #content: PostContent
  readonly #resolve: () => void
  readonly #reject: (error: Error) => void
  #delivery: HttpExchange | undefined
  #stream: ResumableStream | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #isOver = false
  /** What the server asked on its stream, by id. */
  #questions: RequestId[] | undefined
  /** What was wrong with the last message that could not be used. */
  #problem: string | undefined

  constructor(conversation: ClientSession, content: PostContent, resolve: () => void, reject: (error: Error) => void) {
    this.#conversation = conversation
    this.#content = content
    this.isModern = content.isModern
    this.#resolve = resolve
    this.#reject = reject
  }

  get id(): RequestId {
    return this.#content.asked.id
  }

  get method(): string {
    return this.#content.asked.method
  }

  /** False while the server was not reached, so that there is nothing to tell it. */
  get wasSent(): boolean {
    return this.#delivery !== undefined && !this.#delivery.isWaiting
  }

  start(): void {
    if (this.#isOver) return
    const { text, headers, asked } = this.#content
    const { onAuthorized } = asked
    const request = { method: 'POST', about: this.method, headers, body: text, onAuthorized } as const
    this.#delivery = new HttpExchange(this.#conversation.destination, request, this)
    this.#delivery.start()
  }

  /** Nobody waits for it any more. */
  drop(): void {
    if (!this.#isOver) this.#finish()
    this.#letGo()
    this.#takeBack()
  }

  fail(error: Error): void {
    if (this.#isOver) return
    this.#finish()
    this.#letGo()
    this.#takeBack()
    this.#reject(error)
  }

  accepted(status: number, header: ReadHeader): 'text' | 'bytes' {
    this.#greeted(status)
    if (this.method === 'initialize' && !this.#stream) this.#conversation.sessionId = readSessionId(header)
    if (isEventStream(header)) {
      this.#stream ??= this.#createStream()
      this.#stream.begin()
      return 'bytes'
    }
    const type = mediaType(header)
    if (type === 'application/json' && !this.#stream) return 'text'
    const { name } = this.#conversation.destination
    throw new HttpError(`${this.method} (POST ${name}) was answered with ${describeBody(status, type)}`, {
      outcome: 'refused',
      status,
    })
  }

  #createStream(): ResumableStream {
    const { maxMessageBytes } = this.#conversation.destination
    const take = ({ data }: { data: string }) => this.#take(data)
    // Calls have a timeout; a subscription has none.
    const isEndless = this.method === 'subscriptions/listen'
    return new ResumableStream(maxMessageBytes, take, isEndless ? () => this.#broken(undefined) : undefined)
  }

  bytes(chunk: Uint8Array): void {
    this.#stream!.push(chunk)
  }

  ended(text: string): void {
    if (this.#isOver) return this.#letGo()
    if (this.#stream) return this.#broken(undefined)
    this.#take(text)
    if (!this.#isOver) this.fail(this.#unanswered('was answered with something that is no answer to it'))
  }

  failed(error: HttpError): void {
    if (this.#isOver) return
    if (error.status !== undefined) this.#greeted(error.status)
    if (!this.isModern && this.method !== 'initialize' && this.#conversation.isSessionLost(error)) {
      return this.#conversation.loseSession()
    }
    if (this.#stream && isPassing(error)) return this.#broken(error)
    if (this.#stream) return this.fail(this.#lostStream(error))
    const answer = error.outcome === 'refused' ? answerIn(error) : undefined
    if (!answer) return this.fail(reasonOf(error))
    // The refusal is an answer in the terms of JSON-RPC; those about a request that could not be read have no id.
    this.#conversation.receive({ ...answer, id: this.id })
    this.#settle()
  }

  #take(text: string): void {
    if (this.#isOver) return
    const value = parseText(text)
    if (value instanceof Fault) return this.#note(unreadable(value))
    if (Array.isArray(value) && !this.#conversation.batching) {
      return this.#note(new McpError('invalid-response', 'The server sent a batch, which its revision does not have'))
    }
    const isAnswer = Array.isArray(value) ? value.some((each) => this.#isAnswer(each)) : this.#isAnswer(value)
    if (!isAnswer && !this.#isUsable(value)) return
    for (const each of Array.isArray(value) ? value : [value]) this.#noteQuestion(each)
    this.#conversation.receive(value)
    if (isAnswer) this.#settle()
  }

  /** A message without an id that is not valid is reported, and not answered: each answer would be a POST of its own. */
  #isUsable(value: unknown): boolean {
    const kind = Array.isArray(value) ? 'request' : kindOf(value)
    if (kind instanceof Fault && kind.id === undefined) {
      this.#note(unreadable(kind))
      return false
    }
    if (kind instanceof Fault) this.#stream?.addFault()
    if ((kind === 'request' || kind instanceof Fault) && this.#stream) this.#conversation.checkAnswers()
    return true
  }

  #noteQuestion(value: unknown): void {
    if (!isObject(value) || value.method === undefined || value.id === undefined) return
    this.#questions ??= []
    this.#questions.push(value.id as RequestId)
  }

  /** What was asked for this call has no sense without it, and the stream on which the server would say so is gone. */
  #takeBack(): void {
    const questions = this.#questions ?? []
    this.#questions = undefined
    for (const requestId of questions) {
      const params = { requestId, reason: `${this.method}, which it belongs to, was given up` }
      this.#conversation.receive({ jsonrpc: '2.0', method: 'notifications/cancelled', params })
    }
  }

  #isAnswer(value: unknown): boolean {
    return isObject(value) && value.method === undefined && value.id === this.id
  }

  #note(error: McpError): void {
    this.#problem = error.message
    this.#conversation.report(error)
    this.#stream?.addFault()
  }

  #settle(): void {
    if (this.#isOver) return
    this.#finish()
    this.#resolve()
    this.#conversation.reached()
    if (this.#stream) this.#linger()
  }

  /** Most servers end the stream now; one that does not must not keep a connection. */
  #linger(): void {
    this.#timer = setTimeout(() => this.#letGo(), lingerMs)
    // On Node: nobody waits for it.
    unref(this.#timer)
  }

  /** The stream ended, or broke, before the answer came. */
  #broken(error: HttpError | undefined): void {
    const stream = this.#stream!
    if (this.isModern || stream.lastEventId === '') return this.fail(this.#lostStream(error))
    const waitMs = stream.nextWaitMs(this.#conversation.destination.backoff)
    if (waitMs === undefined) return this.fail(this.#lostStream(error))
    this.#timer = setTimeout(() => this.#resume(stream), Math.min(waitMs, maxTimerMs))
  }

  /** 2025-11-25 transports, resumability: always by GET, however the stream began. */
  #resume(stream: ResumableStream): void {
    const headers = { ...this.#conversation.streamHeaders(), ...stream.headers }
    const request = { method: 'GET', about: `The rest of the answer to ${this.method}`, headers } as const
    this.#delivery = new HttpExchange(this.#conversation.destination, request, this)
    this.#delivery.start()
  }

  #lostStream(cause: HttpError | undefined): HttpError {
    const why = cause ? ` (${cause.message})` : ''
    return this.#unanswered(`lost its stream before the answer came${why}; the server may have acted on it`, cause)
  }

  #unanswered(what: string, cause?: HttpError): HttpError {
    const problem = this.#problem === undefined ? '' : `. ${this.#problem}`
    return new HttpError(`${this.method} ${what}${problem}`, {
      outcome: this.#stream ? 'unknown' : 'refused',
      status: cause?.status,
      ...(cause && { cause }),
    })
  }

  #greeted(status: number): void {
    if (this.method === 'initialize' || this.method === 'server/discover') {
      this.#conversation.greetings.set(this.method, status)
    }
  }

  #finish(): void {
    this.#isOver = true
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#conversation.forget(this)
  }

  #letGo(): void {
    this.#stream?.end()
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#delivery?.abort()
  }
}

/** A JSON-RPC error in the body of a refusal. What is about who we are is for HTTP to say. */
function answerIn({ status, body }: HttpError): JsonObject | undefined {
  if (body === undefined || status === 401 || status === 403) return undefined
  const value = parseText(body)
  if (value instanceof Fault || !isObject(value) || !isObject(value.error)) return undefined
  const { code, message } = value.error
  return Number.isInteger(code) && typeof message === 'string' ? { ...value, jsonrpc: '2.0' } : undefined
}

function describeBody(status: number, type: string): string {
  if (type === '') return `HTTP ${status} and no content`
  const hint = type === 'text/html' ? notAnEndpoint : ''
  return `HTTP ${status} and ${JSON.stringify(type)}, which is not an MCP message${hint}`
}

import type { Call, TaskControl } from '../era/call.ts'
import type { RequestId } from '../jsonrpc/message.ts'
import type { Progress } from '../jsonrpc/pending.ts'
import type { HttpRequest } from '../jsonrpc/transport.ts'
import type { Caller } from '../protocol/caller.ts'
import type { InputResponse } from '../protocol/input.ts'
import { type Askable, canAsk } from '../protocol/input-check.ts'
import type { LoggingMessageParams } from '../protocol/logging.ts'
import type { ProgressToken, RequestMeta } from '../protocol/meta.ts'
import type { Root } from '../protocol/roots.ts'
import type { CreateMessageParams } from '../protocol/sampling.ts'
import { withValidTrace } from '../protocol/trace-context.ts'
import type { AskOptions, Conversation } from '../replay/conversation.ts'
import type { InferOutput, SchemaLike } from '../schema/standard.ts'
import type { AuthInfo } from '../util/auth-info.ts'
import type { JsonObject } from '../util/objects.ts'
import { checkSafeUrl } from '../util/safe-url.ts'
import { checkMessage, type ElicitAnswer, elicit, type UrlAnswer, type UrlOptions } from './elicit.ts'
import { createLog, type Log, type LogFilter } from './log.ts'
import { ProgressSender } from './progress.ts'
import { type SampledMessage, sample } from './sample.ts'

/** What a handler can ask of its caller. */
export type Ability = Askable | 'progress' | 'log'

/**
 * What a handler knows about the request it serves, and what it can do besides answering it. Everything costly is made
 * on first use.
 */
export class Context {
  /** Who is calling: revision, client and its capabilities. */
  readonly caller: Caller
  readonly #call: Call
  readonly #conversation: Conversation
  readonly #filterLog: LogFilter | undefined
  #log: Log | undefined
  #progress: ProgressSender | undefined

  constructor(call: Call, caller: Caller, conversation: Conversation, filterLog?: LogFilter) {
    this.#call = call
    this.#filterLog = filterLog
    this.caller = caller
    this.#conversation = conversation
  }

  /** Aborts when the caller cancels, when the connection closes and when the server shuts down. */
  get signal(): AbortSignal {
    return this.#call.signal
  }

  get requestId(): RequestId {
    return this.#call.request.id
  }

  /** The session of the transport, where it has one. */
  get sessionId(): string | undefined {
    return this.#call.link.transport.sessionId
  }

  /** The HTTP request that brought the call: its URL and headers. Undefined on other transports. */
  get request(): HttpRequest | undefined {
    return this.#call.stream?.request
  }

  /**
   * The identity of the caller: what the token says over HTTP (`auth` of `serveHttp`), or the `auth` that was passed to
   * `connect(server)` or `serveStdio`. A layer of your own in front of us may have left something else.
   */
  get auth(): AuthInfo | undefined {
    const { stream, link } = this.#call
    return stream?.request ? stream.request.auth : link.transport.auth
  }

  /** The task that this call runs as; undefined while it is an ordinary one. */
  get task(): TaskControl | undefined {
    return this.#call.task
  }

  /** @internal */
  get call(): Call {
    return this.#call
  }

  /** The request's own `_meta`, without trace values that break their W3C format. */
  get meta(): RequestMeta {
    const meta = this.#call.request.params?._meta
    return (meta ? withValidTrace(meta as JsonObject) : {}) as RequestMeta
  }

  /** Whether the caller can be asked for it, and whether it will see progress and logs: what it did not ask for is not sent. */
  can(ability: Ability): boolean {
    if (ability === 'progress') return this.#progressToken !== undefined
    return ability === 'log' ? this.caller.logLevel !== undefined : canAsk(this.caller, ability)
  }

  /**
   * Lets the user fill in a form, or agree or not where there is no schema. On 2026-07-28 the handler runs again with the
   * answer: what comes before a question may happen again, so put effects after the last one or into `once`.
   */
  elicit<S extends SchemaLike>(message: string, schema: S, options?: AskOptions): Promise<ElicitAnswer<InferOutput<S>>>
  elicit(message: string, schema?: undefined, options?: AskOptions): Promise<ElicitAnswer<object>>
  elicit(message: string, schema?: SchemaLike, options: AskOptions = {}): Promise<ElicitAnswer<object>> {
    return awaitedLate(elicit(this.#conversation, message, schema, options)) as Promise<ElicitAnswer<object>>
  }

  /** Asks the user to visit a page, for what no client may see: passwords, payments, the consent of a third party. */
  elicitUrl(message: string, url: string | URL, { elicitationId, ...options }: UrlOptions = {}): Promise<UrlAnswer> {
    return awaitedLate(this.#elicitUrl(message, url, elicitationId ?? crypto.randomUUID(), options))
  }

  async #elicitUrl(
    message: string,
    page: string | URL,
    elicitationId: string,
    options: AskOptions,
  ): Promise<UrlAnswer> {
    checkMessage(message)
    const params = { mode: 'url' as const, message, url: checkSafeUrl(page), elicitationId }
    const { action } = await this.#conversation.ask({ method: 'elicitation/create', params }, options)
    return {
      action: action as UrlAnswer['action'],
      complete: () => this.elicitationComplete(elicitationId),
    }
  }

  /**
   * Tells the client that what its user was to do on a page is done: one asked for by `elicitUrl`, or named by a
   * `UrlElicitationRequiredError`; also when the request is over. 2025-11-25 only; nothing elsewhere.
   */
  elicitationComplete(elicitationId: string): void {
    const method = 'notifications/elicitation/complete'
    if (this.caller.rules.lacks(method)) return
    if (this.#call.ended) this.#call.link.notify(method, { elicitationId })
    else this.#call.notify(method, { elicitationId })
  }

  /** Has the client's model write a message. */
  sample(params: CreateMessageParams, options: AskOptions = {}): Promise<SampledMessage> {
    return awaitedLate(sample(this.#conversation, params, options))
  }

  /** The folders that the client lets servers work in; remembered until the client says that they changed. */
  roots(options: AskOptions = {}): Promise<Root[]> {
    return awaitedLate(this.#listRoots(options))
  }

  async #listRoots(options: AskOptions): Promise<Root[]> {
    return (await this.#conversation.ask({ method: 'roots/list' }, options)).roots as Root[]
  }

  /** Does work that must happen once though the handler may run again, and gives what JSON keeps of its value. */
  once<T>(key: string, work: () => T | Promise<T>): Promise<T> {
    return awaitedLate(this.#conversation.once(key, work))
  }

  /** For handlers that return `inputRequired()`: the answers, as the client gave them. Nothing has been checked. */
  get inputResponses(): Readonly<Record<string, InputResponse | undefined>> {
    return this.#conversation.inputResponses
  }

  /** For handlers that return `inputRequired()`: the state that went with the questions. */
  get requestState(): unknown {
    return this.#conversation.requestState
  }

  /** Tells the caller how far the work is. Values must rise; without a total they mean nothing but "more". */
  progress(progress: number, details: Omit<Progress, 'progress'> = {}): void {
    if (this.task) return this.task.progress(progress, details)
    const token = this.#progressToken
    if (token === undefined) return
    this.#progress ??= new ProgressSender(this.#call, this.caller.rules, token)
    this.#progress.send({ progress, ...details })
  }

  /** Log messages for the client: `ctx.log.info('3 rows deleted')`. */
  get log(): Log {
    const filter = this.#filterLog
    const check = filter && ((message: LoggingMessageParams) => filter(message, this))
    this.#log ??= createLog(this.#call, () => this.caller.logLevel, check)
    return this.#log
  }

  /** Any notification, on the way of this request. */
  notify(method: string, params?: Record<string, unknown>): void {
    this.#call.notify(method, params)
  }

  /**
   * Lets go of the client's connection while the work goes on; the client asks for the rest after `retryMs`. Does nothing
   * where streams cannot be resumed: other transports, and revisions before 2025-11-25 and from 2026-07-28 on.
   */
  closeStream({ retryMs = 1_000 }: { retryMs?: number } = {}): void {
    if (this.caller.rules.primesStreams) this.#call.stream?.disconnect?.(retryMs)
  }

  /**
   * Lets go of the connection on which the client listens to changes; the client opens it again after `retryMs`, and nothing
   * is lost. Does nothing where streams cannot be resumed: on other revisions than 2025-11-25, and on stdio.
   */
  closeListeningStream({ retryMs = 1_000 }: { retryMs?: number } = {}): void {
    if (this.caller.rules.primesStreams) this.#call.link.transport.disconnect?.(retryMs)
  }

  /** Called by dispatch before the reply; undefined when there is nothing to wait for. */
  finish(): Promise<void> | undefined {
    return this.#progress?.finish()
  }

  get #progressToken(): ProgressToken | undefined {
    return this.meta.progressToken
  }
}

/** Several questions may be asked before the first is awaited; one that is awaited late, or never, is no crash. */
function awaitedLate<T>(answer: Promise<T>): Promise<T> {
  answer.catch(() => {})
  return answer
}

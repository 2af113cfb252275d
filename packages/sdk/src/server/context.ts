import type { Call, TaskControl } from '../era/call.ts'
import { ProgressSender } from '../era/progress.ts'
import { Exchange } from '../jsonrpc/exchange.ts'
import type { RequestId, ResultObject } from '../jsonrpc/message.ts'
import type { Progress } from '../jsonrpc/pending.ts'
import type { AuthInfo } from '../protocol/auth-info.ts'
import type { Caller } from '../protocol/caller.ts'
import type { HttpRequest } from '../protocol/http-request.ts'
import type { InputRequest, InputResponse } from '../protocol/input.ts'
import { type Askable, canAsk } from '../protocol/input-check.ts'
import type { LoggingMessageParams } from '../protocol/logging.ts'
import type { ProgressToken, RequestMeta } from '../protocol/meta.ts'
import type { Root } from '../protocol/roots.ts'
import type { CreateMessageParams } from '../protocol/sampling.ts'
import { withValidTrace } from '../protocol/trace-context.ts'
import type { AskOptions, Conversation } from '../replay/conversation.ts'
import type { InferOutput, SchemaLike } from '../schema/standard.ts'
import type { JsonObject } from '../util/objects.ts'
import { random } from '../util/random.ts'
import { checkSafeUrl } from '../util/safe-url.ts'
import {
  checkMessage,
  type ElicitAnswer,
  elicit,
  type SampledMessage,
  sample,
  type UrlAnswer,
  type UrlOptions,
} from './input.ts'
import { createLog, type Log, type LogFilter } from './log.ts'

/** What a handler can do with its caller. */
export type Ability = Askable | 'progress' | 'log'

/**
 * The request that a handler serves, and what the handler can do besides returning a result. Expensive parts are created on
 * first use.
 */
export class Context {
  /** The caller: its protocol revision, client information and capabilities. */
  readonly caller: Caller
  readonly #call: Call
  readonly #conversation: Conversation
  readonly #filterLog: LogFilter | undefined
  #log: Log | undefined
  #progress: ProgressSender | undefined

  /** @internal */
  constructor(call: Call, caller: Caller, conversation: Conversation, filterLog?: LogFilter) {
    this.#call = call
    this.#filterLog = filterLog
    this.caller = caller
    this.#conversation = conversation
  }

  /** Aborts when the caller cancels the request, the connection closes or the server shuts down. */
  get signal(): AbortSignal {
    return this.#call.signal
  }

  /** The JSON-RPC id of the request. */
  get requestId(): RequestId {
    return this.#call.request.id
  }

  /** The session id, if the transport has sessions. */
  get sessionId(): string | undefined {
    return this.#call.link.transport.sessionId
  }

  /** The HTTP request: its URL and headers. Undefined on other transports. */
  get request(): HttpRequest | undefined {
    return this.#call.stream?.request
  }

  /**
   * The identity of the caller: over HTTP the contents of the token (`auth` of `serveHttp`), otherwise the `auth` that was
   * passed to `connect(server)` or `serveStdio`. Middleware of your framework may have set something else.
   */
  get auth(): AuthInfo | undefined {
    const { stream, link } = this.#call
    return stream?.request ? stream.request.auth : link.transport.auth
  }

  /** The task that this call runs as. Undefined for an ordinary call. */
  get task(): TaskControl | undefined {
    return this.#call.task
  }

  /** The JSON-RPC exchange of this request: its message, link and stream. Undefined if the call runs as a task. */
  get exchange(): Exchange | undefined {
    return this.#call instanceof Exchange ? this.#call : undefined
  }

  /** @internal */
  get call(): Call {
    return this.#call
  }

  /** The `_meta` of the request, without malformed W3C trace values. */
  get meta(): RequestMeta {
    const meta = this.#call.request.params?._meta
    return (meta ? withValidTrace(meta as JsonObject) : {}) as RequestMeta
  }

  /** Returns whether the client supports a kind of question, and whether it requested progress or log messages. */
  can(ability: Ability): boolean {
    if (ability === 'progress') return this.#progressToken !== undefined
    return ability === 'log' ? this.caller.logLevel !== undefined : canAsk(this.caller, ability)
  }

  /**
   * Asks the user to fill in a form or, without a schema, to confirm. On 2026-07-28 the handler runs again with the answer, so
   * code before a question may run more than once: put side effects after the last question, or wrap them in `once`.
   *
   * @example
   * ```ts
   * const answer = await ctx.elicit('Which size?', z.object({ size: z.enum(['S', 'M', 'L']) }))
   * if (answer.action !== 'accept') return 'Cancelled.'
   * ```
   */
  elicit<S extends SchemaLike>(message: string, schema: S, options?: AskOptions): Promise<ElicitAnswer<InferOutput<S>>>
  elicit(message: string, schema?: undefined, options?: AskOptions): Promise<ElicitAnswer<object>>
  elicit(message: string, schema?: SchemaLike, options: AskOptions = {}): Promise<ElicitAnswer<object>> {
    return withoutUnhandledRejection(elicit(this.#conversation, message, schema, options)) as Promise<
      ElicitAnswer<object>
    >
  }

  /** Asks the user to open a URL, for data that the client must not see: passwords, payments, third-party consent. */
  elicitUrl(message: string, url: string | URL, { elicitationId, ...options }: UrlOptions = {}): Promise<UrlAnswer> {
    return withoutUnhandledRejection(this.#elicitUrl(message, url, elicitationId ?? random.uuid(), options))
  }

  async #elicitUrl(
    message: string,
    target: string | URL,
    elicitationId: string,
    options: AskOptions,
  ): Promise<UrlAnswer> {
    checkMessage(message)
    const params = { mode: 'url' as const, message, url: checkSafeUrl(target), elicitationId }
    const { action } = await this.#conversation.ask({ method: 'elicitation/create', params }, options)
    return {
      action: action as UrlAnswer['action'],
      complete: () => this.elicitationComplete(elicitationId),
    }
  }

  /**
   * Notifies the client that a URL elicitation is complete, of `elicitUrl` or of a `UrlElicitationRequiredError`. Works after
   * the request has ended too. Does nothing on revisions other than 2025-11-25.
   */
  elicitationComplete(elicitationId: string): void {
    const method = 'notifications/elicitation/complete'
    if (this.caller.rules.lacks(method)) return
    if (this.#call.ended) this.#call.link.notify(method, { elicitationId })
    else this.#call.notify(method, { elicitationId })
  }

  /** Requests a completion from the model of the client. */
  sample(params: CreateMessageParams, options: AskOptions = {}): Promise<SampledMessage> {
    return withoutUnhandledRejection(sample(this.#conversation, params, options))
  }

  /** Returns the root folders of the client. Cached until the client reports a change. */
  roots(options: AskOptions = {}): Promise<Root[]> {
    return withoutUnhandledRejection(this.#listRoots(options))
  }

  async #listRoots(options: AskOptions): Promise<Root[]> {
    return (await this.#conversation.ask({ method: 'roots/list' }, options)).roots as Root[]
  }

  /**
   * Runs work once, even if the handler runs again after a question. Returns its value, converted to JSON and back.
   *
   * @example
   * ```ts
   * const charge = await ctx.once('charge', () => stripe.charge(card))
   * ```
   */
  once<T>(key: string, work: () => T | Promise<T>): Promise<T> {
    return withoutUnhandledRejection(this.#conversation.once(key, work))
  }

  /** @internal Whether an earlier run of the handler, or this one, has a result of `once` for this key. */
  remembers(key: string): boolean {
    return this.#conversation.remembers(key)
  }

  /** @internal Number of questions that were answered in earlier runs of the handler. */
  get answerCount(): number {
    return this.#conversation.answerCount
  }

  /**
   * Asks a question as it is, without a check of its text or a conversion of the answer. For programs that relay questions;
   * `elicit`, `elicitUrl`, `sample` and `roots` are easier to use.
   */
  ask(question: InputRequest, options: AskOptions = {}): Promise<ResultObject> {
    return withoutUnhandledRejection(this.#conversation.ask(question, options))
  }

  /** For handlers that return `inputRequired()`: the responses of the client, not validated. */
  get inputResponses(): Readonly<Record<string, InputResponse | undefined>> {
    return this.#conversation.inputResponses
  }

  /** For handlers that return `inputRequired()`: the state that was sent with the questions. */
  get requestState(): unknown {
    return this.#conversation.requestState
  }

  /** Reports progress to the caller. Values must increase. */
  progress(progress: number, details: Omit<Progress, 'progress'> = {}): void {
    if (this.task) return this.task.progress(progress, details)
    const token = this.#progressToken
    if (token === undefined) return
    this.#progress ??= new ProgressSender(this.#call, this.caller.rules, token)
    this.#progress.send({ progress, ...details })
  }

  /** Sends log messages to the client: `ctx.log.info('3 rows deleted')`. */
  get log(): Log {
    const filter = this.#filterLog
    const check = filter && ((message: LoggingMessageParams) => filter(message, this))
    this.#log ??= createLog(this.#call, () => this.caller.logLevel, check)
    return this.#log
  }

  /** Sends a notification on the stream of this request. */
  notify(method: string, params?: Record<string, unknown>): void {
    this.#call.notify(method, params)
  }

  /**
   * Closes the connection of this request while the handler continues. The client reconnects after `retryMs` and resumes the
   * stream. Does nothing if streams cannot be resumed: on other transports and on revisions other than 2025-11-25.
   */
  closeStream({ retryMs = 1_000 }: { retryMs?: number } = {}): void {
    if (this.caller.rules.primesStreams) this.#call.stream?.disconnect?.(retryMs)
  }

  /**
   * Closes the connection on which the client listens for notifications. The client reconnects after `retryMs` and misses
   * nothing. Does nothing if streams cannot be resumed: on other transports and on revisions other than 2025-11-25.
   */
  closeListeningStream({ retryMs = 1_000 }: { retryMs?: number } = {}): void {
    if (this.caller.rules.primesStreams) this.#call.link.transport.disconnect?.(retryMs)
  }

  /** @internal Sends pending progress before the reply. Undefined if there is nothing to wait for. */
  finish(): Promise<void> | undefined {
    return this.#progress?.finish()
  }

  get #progressToken(): ProgressToken | undefined {
    return this.meta.progressToken
  }
}

/** A handler may ask several questions before it awaits the first, so an early rejection must not crash the process. */
function withoutUnhandledRejection<T>(answer: Promise<T>): Promise<T> {
  answer.catch(() => {})
  return answer
}

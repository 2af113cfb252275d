import { McpError } from '../../errors.ts'
import type { ResultObject } from '../../jsonrpc/message.ts'
import type { Progress } from '../../jsonrpc/pending.ts'
import type { InputRequest } from '../../protocol/input.ts'
import type { LoggingMessageParams } from '../../protocol/logging.ts'
import type { Context } from '../../server/context.ts'
import { type Deferred, deferred } from '../../util/deferred.ts'
import { pause, scheduler, type Timer } from '../../util/scheduler.ts'
import type { RelayedOptions } from '../relayed-options.ts'
import { type OpenCall, passOnLog } from './open-call.ts'

/** A question of a server to the caller of the gateway. */
export interface RelayedQuestion {
  /** Identifies the question within its call. */
  readonly key: string
  readonly request: InputRequest
}

/** What happens next in a call: the server asks something, or the call ends. */
export type Step = { readonly questions: readonly RelayedQuestion[] } | { readonly result: object }

/** How long to wait for more questions after the first. */
const questionsMs = 5

interface OpenQuestion extends RelayedQuestion {
  readonly answer: Deferred<ResultObject>
}

/** A call as the request of its caller drives it, also if the call is on another node. */
export interface DrivenCall {
  /** Resolves with the open questions, or with the result. Rejects with the error of the call. */
  next(): Promise<Step>
  answer(key: string, answer: ResultObject): void
  /** Passes on that the caller cannot answer. */
  refuse(key: string, error: unknown): void
  /** Cancels the call if the caller does not come back in time. */
  park(parkedMs: number): void
  cancel(reason: unknown): void
}

/** Receives what happens in a call, for its caller. */
export interface CallListener {
  onProgress(progress: Progress): void
  onLog(message: LoggingMessageParams): void
}

/** Passes what happens in a call on to the request of its caller. */
export function listenerOf(ctx: Context, server: string): CallListener {
  return {
    onProgress: ({ progress, ...details }) => ctx.progress(progress, details),
    onLog: (message) => passOnLog(ctx, server, message),
  }
}

/**
 * A call to a server that stays open while the caller answers questions. A caller without a session answers in another request,
 * so the call outlives the request that began it.
 */
export class RelayedCall implements OpenCall, DrivenCall {
  /** Cannot be guessed, and is only ever sent inside sealed state. */
  readonly ticket: string
  /** The id of the server that is called. Only this one may ask. */
  readonly server: string
  readonly relayed: RelayedOptions
  /** Undefined while no request of the caller waits for the call. */
  #listener: CallListener | undefined
  readonly #abort = new AbortController()
  readonly #questions = new Map<string, OpenQuestion>()
  #count = 0
  #outcome: { readonly result: object } | { readonly error: unknown } | undefined
  #changed = deferred<void>()
  #timer: Timer | undefined

  constructor({ ticket, server, ctx }: { ticket: string; server: string; ctx: Context }) {
    this.ticket = ticket
    this.server = server
    this.#listener = listenerOf(ctx, server)
    this.relayed = {
      origin: this,
      onLog: (message) => this.#listener?.onLog(message),
      logLevel: ctx.caller.logLevel,
      statesLogLevel: ctx.caller.rules.describesCaller,
      asTask: ctx.task !== undefined,
    }
  }

  /** A relayed call runs once. */
  isCounted(): boolean {
    return false
  }

  onProgress(progress: Progress): void {
    this.#listener?.onProgress(progress)
  }

  /** @param onEnd Called when the server has answered, or the call was cancelled; with true if the caller does not know yet. */
  start(work: (call: RelayedCall) => Promise<object>, onEnd: (isParked: boolean) => void): void {
    work(this).then(
      (result) => this.#end({ result }, onEnd),
      (error) => this.#end({ error }, onEnd),
    )
  }

  get signal(): AbortSignal {
    return this.#abort.signal
  }

  get ended(): boolean {
    return this.#outcome !== undefined
  }

  /** Asks the caller. Resolves with the answer, possibly after several requests of the caller. */
  ask(request: InputRequest, signal: AbortSignal): Promise<ResultObject> {
    if (this.ended) return Promise.reject(withdrawn('The call has ended'))
    const question: OpenQuestion = { key: `q${++this.#count}`, request, answer: deferred() }
    this.#questions.set(question.key, question)
    signal.addEventListener('abort', () => this.#withdraw(question, signal.reason), { once: true })
    this.#notify()
    return question.answer.promise
  }

  async next(): Promise<Step> {
    for (;;) {
      // A server that asks several things at once sends them one after the other.
      if (this.#questions.size > 0) await pause(questionsMs)
      const questions = [...this.#questions.values()].map(({ key, request }) => ({ key, request }))
      if (questions.length > 0) return { questions }
      if (this.#outcome) {
        if ('error' in this.#outcome) throw this.#outcome.error
        return this.#outcome
      }
      await this.#changed.promise
    }
  }

  answer(key: string, answer: ResultObject): void {
    const question = this.#questions.get(key)
    this.#questions.delete(key)
    question?.answer.resolve(answer)
  }

  /** Passes on that the caller cannot answer. */
  refuse(key: string, error: unknown): void {
    const question = this.#questions.get(key)
    this.#questions.delete(key)
    question?.answer.reject(error)
  }

  /** Cancels the call if the caller does not come back in time. */
  park(parkedMs: number): void {
    this.unpark(undefined)
    if (this.ended) return
    this.#timer = scheduler.setTimeout(() => this.cancel('The caller did not answer in time'), parkedMs)
    scheduler.unref(this.#timer)
  }

  /** The caller is back, with another request. */
  unpark(listener: CallListener | undefined): void {
    this.#listener = listener
    scheduler.clearTimeout(this.#timer)
    this.#timer = undefined
  }

  cancel(reason: unknown): void {
    this.unpark(undefined)
    this.#abort.abort(reason)
    for (const question of [...this.#questions.values()]) this.#withdraw(question, reason)
  }

  #withdraw(question: OpenQuestion, reason: unknown): void {
    if (!this.#questions.delete(question.key)) return
    question.answer.reject(withdrawn(reason))
    this.#notify()
  }

  #end(outcome: { result: object } | { error: unknown }, onEnd: (isParked: boolean) => void): void {
    const isParked = this.#timer !== undefined
    this.#outcome = outcome
    this.unpark(undefined)
    // A server that has answered needs no answer any more. A caller who is asked all the same would come back to nothing.
    for (const question of [...this.#questions.values()]) this.#withdraw(question, 'The call has ended')
    onEnd(isParked)
    this.#notify()
  }

  #notify(): void {
    const before = this.#changed
    this.#changed = deferred()
    before.resolve()
  }
}

function withdrawn(reason: unknown): McpError {
  return new McpError('cancelled', 'The question was withdrawn', { cause: reason })
}

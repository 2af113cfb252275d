import { HandedOver } from '../../era/call.ts'
import { ErrorCode, ProtocolError } from '../../errors.ts'
import type { ResultObject } from '../../jsonrpc/message.ts'
import type { Progress } from '../../jsonrpc/pending.ts'
import type { InputRequest } from '../../protocol/input.ts'
import type { Context } from '../../server/context.ts'
import { stableSuffix } from '../models/stable-suffix.ts'
import type { RelayedOptions } from '../relayed-options.ts'
import { type OpenCall, passOnLog } from './open-call.ts'

/**
 * A call to a server where every request stands alone. Nothing stays open while the caller answers a question: what the server
 * sent so far is part of the state that the caller sends back, so that any node can continue the call.
 */
export class ReplayedCall implements OpenCall {
  readonly relayed: RelayedOptions
  readonly signal: AbortSignal
  readonly #ctx: Context
  #exchanges = 0
  #counted: number
  readonly #questions = new Map<string, { count: number; answer: Promise<ResultObject>; isOpen: boolean }>()

  constructor(ctx: Context, server: string) {
    this.#ctx = ctx
    this.signal = ctx.task ? unlessHandedOver(ctx.signal) : ctx.signal
    this.#counted = ctx.answerCount
    this.relayed = {
      origin: this,
      exchange: (send) => this.#exchange(send),
      onLog: (message) => passOnLog(ctx, server, message),
      logLevel: ctx.caller.logLevel,
      statesLogLevel: ctx.caller.rules.describesCaller,
      asTask: ctx.task !== undefined,
    }
  }

  /** Whether an earlier request of the caller began a call of this kind. */
  static isBegun(ctx: Context): boolean {
    return ctx.remembers(keyOf(1))
  }

  /** Questions are told apart by their content, because several can be asked at the same time. */
  ask(request: InputRequest, signal: AbortSignal): Promise<ResultObject> {
    const content = stableSuffix(JSON.stringify(request))
    const before = this.#questions.get(content)
    // A server that is polled repeats a question until it has the answer.
    if (before?.isOpen) return before.answer
    const count = (before?.count ?? 0) + 1
    const answer = this.#ctx.ask(request, { key: `${content}#${count}`, signal })
    const question = { count, answer, isOpen: true }
    this.#questions.set(content, question)
    answer.then(
      () => {
        question.isOpen = false
      },
      () => {},
    )
    return answer
  }

  /** A run repeats the questions of the one before, in the same order. */
  isCounted(): boolean {
    return this.#counted-- > 0
  }

  onProgress({ progress, ...details }: Progress): void {
    this.#ctx.progress(progress, details)
  }

  /** Sends a request to the server, unless an earlier run of this call sent it and got an answer that was not final. */
  async #exchange(send: () => Promise<ResultObject>): Promise<ResultObject> {
    const ctx = this.#ctx
    const number = ++this.#exchanges
    const key = keyOf(number)
    if (ctx.remembers(key)) return ctx.once(key, send)
    if (ctx.task) await this.#note(number)
    const result = await send()
    return isFinal(result) ? result : ctx.once(key, () => result)
  }

  /** A task runs again if its process ends. What the server did meanwhile is unknown, and must not be done twice. */
  async #note(number: number): Promise<void> {
    const key = `sent ${number}`
    if (this.#ctx.remembers(key)) throw interrupted()
    await this.#ctx.once(key, () => true)
  }
}

/** If another process continues a task, what the server does for it must not be cancelled. */
function unlessHandedOver(signal: AbortSignal): AbortSignal {
  const controller = new AbortController()
  signal.addEventListener('abort', () => {
    if (!(signal.reason instanceof HandedOver)) controller.abort(signal.reason)
  })
  return controller.signal
}

function keyOf(number: number): string {
  return `exchange ${number}`
}

function isFinal({ resultType }: ResultObject): boolean {
  return resultType === undefined || resultType === 'complete'
}

function interrupted(): ProtocolError {
  return new ProtocolError(
    ErrorCode.InternalError,
    'The gateway stopped while the server ran this call, so it is unknown whether it had an effect. It was not repeated.',
  )
}

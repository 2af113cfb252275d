import { HandedOver } from '../../era/call.ts'
import { ErrorCode, ProtocolError } from '../../errors.ts'
import type { ResultObject } from '../../jsonrpc/message.ts'
import type { Progress } from '../../jsonrpc/pending.ts'
import type { InputRequest } from '../../protocol/input.ts'
import { answerProblem } from '../../protocol/input-check.ts'
import type { Context } from '../../server/context.ts'
import { stableSuffix } from '../models/stable-suffix.ts'
import type { QuestionOrigin, RelayedOptions } from '../relayed-options.ts'
import { type OpenCall, passOnLog } from './open-call.ts'

interface Question {
  readonly content: string
  /** How many questions had this key, up to this one. */
  readonly count: number
  readonly answer: Promise<ResultObject>
  isOpen: boolean
}

/** Fits into the state that a caller carries (`maxStateBytes`), encrypted and with what else is in it. */
const maxKeptChars = 131_072

/** Keys of servers that are passed on. Others could be mistaken for keys of the gateway, or be too long for its state. */
const usableKey = /^[A-Za-z0-9][\w.-]{0,63}$/

/**
 * A call to a server where every request stands alone. Nothing stays open while the caller answers a question: what the server
 * sent so far is part of the state that the caller sends back, so that any node can continue the call.
 */
export class ReplayedCall implements OpenCall {
  readonly relayed: RelayedOptions
  readonly signal: AbortSignal
  readonly #ctx: Context
  #exchanges = 0
  /** The result of the call, and its key in the state of the request. */
  #final: { readonly key: string; readonly result: ResultObject } | undefined
  #counted: number
  /** The last question of each key. */
  readonly #questions = new Map<string, Question>()

  constructor(ctx: Context, server: string) {
    this.#ctx = ctx
    this.signal = mayBeTask(ctx) ? unlessHandedOver(ctx.signal) : ctx.signal
    this.#counted = ctx.answerCount
    this.relayed = {
      origin: this,
      exchange: (send) => this.#exchange(send),
      keep: () => this.#keep(),
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

  withKey(key: string): QuestionOrigin {
    return new KeyedQuestion(this, key)
  }

  /**
   * Several questions can be asked at the same time, so their order does not tell them apart.
   * @param serverKey The key that the server chose. Undefined: the content of the question is the key.
   */
  ask(request: InputRequest, signal: AbortSignal, serverKey?: string): Promise<ResultObject> {
    const content = JSON.stringify(request)
    const base = serverKey !== undefined && usableKey.test(serverKey) ? serverKey : `#${stableSuffix(content)}`
    const before = this.#questions.get(base)
    // A server that is polled repeats a question until it has the answer.
    if (before?.isOpen && before.content === content) return before.answer
    const count = (before?.count ?? 0) + 1
    const key = count === 1 ? base : `${base}#${count}`
    const answer = (key === serverKey && this.#given(key, request)) || this.#ctx.ask(request, { key, signal })
    const question: Question = { content, count, answer, isOpen: true }
    this.#questions.set(base, question)
    answer.then(
      () => {
        question.isOpen = false
      },
      () => {},
    )
    return answer
  }

  /**
   * The answer that came with the first request: servers that keep nothing between two requests take it before they ask. Later
   * runs of the call use it again.
   */
  #given(key: string, request: InputRequest): Promise<ResultObject> | undefined {
    const { inputResponses, call } = this.#ctx
    const name = `given ${key}`
    const isFirst = call.request.params?.requestState === undefined
    const given = isFirst && Object.hasOwn(inputResponses, key) ? inputResponses[key] : undefined
    const isUsable = given !== undefined && answerProblem(request, given) === undefined
    return isUsable || this.#ctx.remembers(name) ? this.#ctx.once(name, () => given as ResultObject) : undefined
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
    if (mayBeTask(ctx)) await this.#note(number)
    const result = await send()
    if (isFinal(result)) {
      this.#final = { key, result }
      return result
    }
    const stored = await ctx.once(key, () => result)
    if (stored.resultType === 'task') ctx.call.becomeTask?.()
    return stored
  }

  /** Stores the result, so that a later run of this call finds it instead of calling the server again. */
  async #keep(): Promise<boolean> {
    const final = this.#final
    if (!final) return false
    const isCarried = this.#ctx.caller.rules.multiRoundTrip && !mayBeTask(this.#ctx)
    if (isCarried && JSON.stringify(final.result).length > maxKeptChars) {
      throw new Error('it is suspicious, and too large to be kept while the caller is asked')
    }
    await this.#ctx.once(final.key, () => final.result)
    return true
  }

  /** A task runs again if its process ends. What the server did meanwhile is unknown, and must not be done twice. */
  async #note(number: number): Promise<void> {
    const key = `sent ${number}`
    if (this.#ctx.remembers(key)) throw interrupted()
    await this.#ctx.once(key, () => true)
  }
}

/** A question of a server that chose a key for it. */
export class KeyedQuestion implements QuestionOrigin {
  /** The call that the server asks for. */
  readonly call: ReplayedCall
  readonly #key: string

  constructor(call: ReplayedCall, key: string) {
    this.call = call
    this.#key = key
  }

  isCounted(): boolean {
    return this.call.isCounted()
  }

  ask(request: InputRequest, signal: AbortSignal): Promise<ResultObject> {
    return this.call.ask(request, signal, this.#key)
  }
}

/** A call that may become a task while it runs is run again like one. */
function mayBeTask({ task, call }: Context): boolean {
  return task !== undefined || call.becomeTask !== undefined
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

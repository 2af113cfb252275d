import { PeerError, ProtocolError, RpcCode, Suspended } from '../../errors.ts'
import type { ResultObject, RpcErrorBody } from '../../jsonrpc/message.ts'
import { formProblem } from '../../protocol/form.ts'
import type { InputRequest } from '../../protocol/input.ts'
import { isObject } from '../../util/objects.ts'
import { warnOnce } from '../../util/warn.ts'
import { OnceOnly } from '../once.ts'
import { QuestionKeys } from '../question-keys.ts'
import { answerProblem, topicOf } from '../questions.ts'

/** What the client carries from one round to the next, under seal. */
export interface JournalState {
  round: number
  once: [string, string][]
  /** Answers of earlier rounds. */
  answers: Record<string, Answered>
  /** Questions of the last round, by what they were about. */
  asked: Record<string, string>
  /** How often a question was another than the one that was answered. */
  changed: number
}

interface Answered {
  topic: string
  answer: ResultObject
}

/** Questions of one run; clients answer no more in one round. */
const maxOpen = 100
const maxChanges = 3

/**
 * Everything that happened in earlier runs of a handler, so that this run gets past it: answers by the key of their
 * question, and work that is done once.
 */
export class Journal {
  readonly round: number
  #changed: number
  readonly once: OnceOnly
  readonly #answers = new Map<string, Answered>()
  readonly #open = new Map<string, InputRequest>()
  readonly #onFlood: (error: unknown) => void
  readonly #keys = new QuestionKeys()
  readonly #checks = new Set<Promise<unknown>>()

  /**
   * @param onFlood Called when more is asked in one run than any user would answer; the handler gets no further then.
   * @param responses What the client sent. Only what was asked is looked at (2026-07-28 mrtr, server requirements).
   */
  constructor(
    onFlood: (error: unknown) => void,
    state?: JournalState,
    responses: Readonly<Record<string, unknown>> = {},
  ) {
    this.#onFlood = onFlood
    this.round = state?.round ?? 0
    this.#changed = state?.changed ?? 0
    this.once = new OnceOnly(state?.once)
    for (const [key, answered] of Object.entries(state?.answers ?? {})) this.#answers.set(key, answered)
    for (const [key, topic] of Object.entries(state?.asked ?? {})) {
      if (Object.hasOwn(responses, key)) this.#answers.set(key, { topic, answer: responses[key] as ResultObject })
    }
  }

  /** @returns What was done before; from now on it is noted as soon as it is done. */
  noteWith(note: ((key: string, value: string) => Promise<void>) | undefined): [string, string][] {
    this.once.note = note
    return this.once.entries()
  }

  get isWaiting(): boolean {
    return this.#open.size > 0
  }

  /** Nothing that a later run would need. */
  get isEmpty(): boolean {
    return this.#open.size === 0 && this.#answers.size === 0 && this.once.entries().length === 0
  }

  get questions(): ReadonlyMap<string, InputRequest> {
    return this.#open
  }

  ask(question: InputRequest, givenKey: string | undefined): Promise<ResultObject> {
    const key = this.#keys.next(question.method, givenKey)
    const answered = this.#answers.get(key)
    if (!answered) return this.#suspend(key, question)
    const checked = this.#check(key, question, answered)
    this.#checks.add(checked)
    return checked
  }

  /** Nothing after an unanswered question has happened, so neither does this. */
  async doOnce<T>(key: string, work: () => T | Promise<T>): Promise<T> {
    if (this.isWaiting && !this.once.has(key)) throw new Suspended(key)
    return this.once.do(key, work)
  }

  /** Waits for what may still add a question or a value. */
  async settled(): Promise<void> {
    await Promise.allSettled([...this.#checks, this.once.settled()])
  }

  async toState(): Promise<JournalState> {
    const asked: Record<string, string> = Object.create(null)
    for (const [key, question] of this.#open) asked[key] = await digestOf(question)
    const answers: Record<string, Answered> = Object.create(null)
    for (const [key, answered] of this.#answers) if (!this.#open.has(key)) answers[key] = answered
    return { round: this.round + 1, once: this.once.entries(), answers, asked, changed: this.#changed }
  }

  #suspend(key: string, question: InputRequest): Promise<never> {
    this.#open.set(key, question)
    if (this.#open.size <= maxOpen) return Promise.reject(new Suspended(key))
    // Whoever catches what goes through the handler, and asks again, would do so for ever.
    this.#onFlood(tooMany())
    return new Promise(() => {})
  }

  /** An answer is good for the question that it was given to, and for no other. */
  async #check(key: string, question: InputRequest, { topic, answer }: Answered): Promise<ResultObject> {
    if ((await digestOf(question)) !== topic) {
      const what = `The question ${JSON.stringify(key)} changed while it was being answered`
      const advice = 'what changes from run to run belongs into ctx.once'
      if (++this.#changed > maxChanges)
        throw new ProtocolError(RpcCode.InternalError, `${what}, again and again: ${advice}`)
      warnOnce('changed-question', `${what}, so it is asked again; ${advice}.`)
      return this.#suspend(key, question)
    }
    if (isRefusal(answer)) throw new PeerError(answer.error.code, answer.error.message, answer.error.data)
    const problem = answerProblem(question, answer) ?? formAnswerProblem(question, answer)
    if (problem === undefined) return answer
    throw new ProtocolError(RpcCode.InvalidParams, `params.inputResponses[${JSON.stringify(key)}]: ${problem}`)
  }
}

/** What is kept of a question that the client answered with an error. */
export interface RefusedAnswer extends ResultObject {
  error: RpcErrorBody
}

export function isRefusal(answer: unknown): answer is RefusedAnswer {
  return isObject(answer) && isObject(answer.error) && typeof answer.error.code === 'number'
}

/** A client that was shown the form knows what fits it (2026-07-28 mrtr: malformed answers are errors of the request). */
export function formAnswerProblem(
  { method, params }: InputRequest,
  { action, content }: ResultObject,
): string | undefined {
  if (method !== 'elicitation/create' || params.mode === 'url' || action !== 'accept') return undefined
  return formProblem(params.requestedSchema, content ?? {})
}

/** A topic as it is kept: short, and not to be found another text for. */
async function digestOf(question: InputRequest): Promise<string> {
  const text = new TextEncoder().encode(topicOf(question))
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', text))
  return btoa(String.fromCharCode(...digest.subarray(0, 16)))
}

function tooMany(): ProtocolError {
  return new ProtocolError(
    RpcCode.InternalError,
    `More than ${maxOpen} questions were asked at once; does a loop catch what goes through the handler, and ask again?`,
  )
}

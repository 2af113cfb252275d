import { ProtocolError, RpcCode, Suspended } from '../../errors.ts'
import type { ResultObject } from '../../jsonrpc/message.ts'
import { formProblem } from '../../protocol/form.ts'
import type { InputRequest } from '../../protocol/types.ts'
import { warnOnce } from '../../util/warn.ts'
import { OnceOnly } from '../once.ts'
import { QuestionKeys } from '../question-keys.ts'
import { answerProblem } from '../questions.ts'

/** What the client carries from one round to the next, under seal. */
export interface JournalState {
  round: number
  once: [string, string][]
  /** Answers of earlier rounds. */
  answers: Record<string, Answered>
  /** Questions of the last round, by what they were about. */
  asked: Record<string, string>
}

interface Answered {
  topic: string
  answer: ResultObject
}

/**
 * Everything that happened in earlier runs of a handler, so that this run gets past it: answers by the key of their
 * question, and work that is done once.
 */
export class Journal {
  readonly round: number
  readonly once: OnceOnly
  readonly #answers = new Map<string, Answered>()
  readonly #open = new Map<string, InputRequest>()
  readonly #keys = new QuestionKeys()
  readonly #checks = new Set<Promise<unknown>>()

  /** @param responses What the client sent. Only what was asked is looked at (2026-07-28 mrtr, server requirements). */
  constructor(state?: JournalState, responses: Readonly<Record<string, unknown>> = {}) {
    this.round = state?.round ?? 0
    this.once = new OnceOnly(state?.once)
    for (const [key, answered] of Object.entries(state?.answers ?? {})) this.#answers.set(key, answered)
    for (const [key, topic] of Object.entries(state?.asked ?? {})) {
      if (Object.hasOwn(responses, key)) this.#answers.set(key, { topic, answer: responses[key] as ResultObject })
    }
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
    for (const [key, question] of this.#open) asked[key] = await topicOf(question)
    const answers: Record<string, Answered> = Object.create(null)
    for (const [key, answered] of this.#answers) if (!this.#open.has(key)) answers[key] = answered
    return { round: this.round + 1, once: this.once.entries(), answers, asked }
  }

  #suspend(key: string, question: InputRequest): Promise<never> {
    this.#open.set(key, question)
    return Promise.reject(new Suspended(key))
  }

  /** An answer is good for the question that it was given to, and for no other. */
  async #check(key: string, question: InputRequest, { topic, answer }: Answered): Promise<ResultObject> {
    if ((await topicOf(question)) !== topic) {
      warnOnce(
        `topic ${key}`,
        `The question ${JSON.stringify(key)} changed while it was being answered, so it is asked again. What changes from run to run belongs into ctx.once.`,
      )
      return this.#suspend(key, question)
    }
    const problem = answerProblem(question, answer) ?? formAnswerProblem(question, answer)
    if (problem === undefined) return answer
    throw new ProtocolError(RpcCode.InvalidParams, `params.inputResponses[${JSON.stringify(key)}]: ${problem}`)
  }
}

/** A client that was shown the form knows what fits it (2026-07-28 mrtr: malformed answers are errors of the request). */
function formAnswerProblem({ method, params }: InputRequest, { action, content }: ResultObject): string | undefined {
  if (method !== 'elicitation/create' || params.mode === 'url' || action !== 'accept') return undefined
  return formProblem(params.requestedSchema, content ?? {})
}

/**
 * What a user agreed to: the words and the fields that were shown, and the host of a page; a URL may have a fresh secret in
 * it each time. What a model was given is not shown to anyone, so it does not count.
 */
async function topicOf({ method, params }: InputRequest): Promise<string> {
  const shown = method === 'elicitation/create' ? [params.message, formOf(params)] : []
  const text = new TextEncoder().encode(JSON.stringify([method, ...shown]))
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', text))
  return btoa(String.fromCharCode(...digest.subarray(0, 16)))
}

function formOf(params: { mode?: string; url?: string; requestedSchema?: unknown }): unknown {
  return params.mode === 'url' ? new URL(params.url!).host : params.requestedSchema
}

import { ErrorCode, PeerError, ProtocolError, Suspended } from '../errors.ts'
import type { ResultObject, RpcErrorBody } from '../jsonrpc/message.ts'
import type { InputRequest } from '../protocol/input.ts'
import { answerProblem } from '../protocol/input-check.ts'
import { isObject } from '../util/objects.ts'
import { warnOnce } from '../util/warn.ts'
import { QuestionKeys, textOf } from './questions.ts'

/** A journal as it is stored between two runs. */
export interface JournalState {
  /** Round trips so far. */
  round: number
  /** Results of `ctx.once`. */
  once: [string, string][]
  /** Answers of earlier round trips. */
  answers: Record<string, Answered>
  /** Questions of the last round trip: the digest of each, by key. */
  asked: Record<string, string>
  /** How often a question differed from the one that was answered. */
  changes: number
}

interface Answered {
  digest: string
  answer: ResultObject
}

export const emptyJournal: JournalState = { round: 0, once: [], answers: {}, asked: {}, changes: 0 }

/** Questions open at the same time. Clients accept no more in one round trip. */
const maxOpen = 100
const maxChanges = 3

/**
 * Records the answers and the results of `ctx.once` of earlier runs of a handler. The current run gets them at once, so it
 * continues where the last one stopped.
 */
export class Journal {
  readonly round: number
  /** Number of questions that were answered in earlier runs. */
  readonly answerCount: number
  #changes: number
  readonly #once: OnceResults
  readonly #answers = new Map<string, Answered>()
  readonly #open = new Map<string, InputRequest>()
  readonly #onFlood: (error: unknown) => void
  readonly #keys = new QuestionKeys()
  readonly #checks = new Set<Promise<unknown>>()

  /**
   * @param onFlood Called when one run asks more than `maxOpen` questions. Its last question then never settles.
   * @param responses What the client sent. Keys that were not asked are ignored (2026-07-28 mrtr, server requirements).
   */
  constructor(
    onFlood: (error: unknown) => void,
    state?: JournalState,
    responses: Readonly<Record<string, unknown>> = {},
  ) {
    this.#onFlood = onFlood
    this.round = state?.round ?? 0
    this.#changes = state?.changes ?? 0
    this.#once = new OnceResults(state?.once)
    for (const [key, answered] of Object.entries(state?.answers ?? {})) this.#answers.set(key, answered)
    for (const [key, digest] of Object.entries(state?.asked ?? {})) {
      if (Object.hasOwn(responses, key)) this.#answers.set(key, { digest, answer: responses[key] as ResultObject })
    }
    this.answerCount = this.#answers.size
  }

  /**
   * Persists results of `ctx.once` with `save` from now on.
   * @returns The results so far, which `save` did not see.
   */
  saveOnceWith(save: SaveOnce | undefined): [string, string][] {
    this.#once.save = save
    return this.#once.entries()
  }

  /** Whether a question has no answer yet. */
  get isWaiting(): boolean {
    return this.#open.size > 0
  }

  /** Whether the next run needs nothing from this one. */
  get isEmpty(): boolean {
    return this.#open.size === 0 && this.#answers.size === 0 && this.#once.entries().length === 0
  }

  /** The questions without an answer, by key. */
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

  /** Starts no new work while a question is open: in the order of the handler it comes after the answer. */
  async once<T>(key: string, work: () => T | Promise<T>): Promise<T> {
    if (this.isWaiting && !this.#once.has(key)) throw new Suspended(key)
    return this.#once.run(key, work)
  }

  /** Whether `once` has a result for this key, or is about to. */
  remembers(key: string): boolean {
    return this.#once.has(key)
  }

  /** Waits for checks and work in progress, which may still add a question or a result. */
  async settled(): Promise<void> {
    await Promise.allSettled([...this.#checks, this.#once.settled()])
  }

  /** The state for the next round trip. */
  async toState(): Promise<JournalState> {
    const asked: Record<string, string> = Object.create(null)
    for (const [key, question] of this.#open) asked[key] = await digestOf(question)
    const answers: Record<string, Answered> = Object.create(null)
    for (const [key, answered] of this.#answers) if (!this.#open.has(key)) answers[key] = answered
    return { round: this.round + 1, once: this.#once.entries(), answers, asked, changes: this.#changes }
  }

  #suspend(key: string, question: InputRequest): Promise<never> {
    this.#open.set(key, question)
    if (this.#open.size <= maxOpen) return Promise.reject(new Suspended(key))
    // A loop that catches Suspended and asks again would never end, so its promise stays pending.
    this.#onFlood(tooManyQuestions())
    return new Promise(() => {})
  }

  async #check(key: string, question: InputRequest, { digest, answer }: Answered): Promise<ResultObject> {
    if ((await digestOf(question)) !== digest) return this.#askChanged(key, question)
    if (isErrorAnswer(answer)) throw new PeerError(answer.error.code, answer.error.message, answer.error.data)
    checkAnswer(key, question, answer)
    return answer
  }

  /** The answer belongs to a question with another text, so it is not used. */
  #askChanged(key: string, question: InputRequest): Promise<never> {
    const what = `The question ${JSON.stringify(key)} changed between two runs of the handler`
    const advice = 'If its text varies, compute it inside ctx.once.'
    if (++this.#changes > maxChanges) {
      throw new ProtocolError(ErrorCode.InternalError, `${what}, more than ${maxChanges} times. ${advice}`)
    }
    warnOnce('changed-question', `${what}, so the client is asked again. ${advice}`)
    return this.#suspend(key, question)
  }
}

/** Throws if a client's answer does not fit the question (2026-07-28 mrtr: then the request is invalid). */
export function checkAnswer(key: string, question: InputRequest, answer: unknown): void {
  const problem = answerProblem(question, answer)
  if (problem === undefined) return
  throw new ProtocolError(ErrorCode.InvalidParams, `params.inputResponses[${JSON.stringify(key)}]: ${problem}`)
}

/** Recorded if the client answered a question with an error. */
export interface ErrorAnswer extends ResultObject {
  error: RpcErrorBody
}

export function isErrorAnswer(answer: unknown): answer is ErrorAnswer {
  return isObject(answer) && isObject(answer.error) && typeof answer.error.code === 'number'
}

/** Short, and safe against another question with the same digest. */
async function digestOf(question: InputRequest): Promise<string> {
  const text = new TextEncoder().encode(textOf(question))
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', text))
  return btoa(String.fromCharCode(...digest.subarray(0, 16)))
}

function tooManyQuestions(): ProtocolError {
  return new ProtocolError(
    ErrorCode.InternalError,
    `A handler asked more than ${maxOpen} questions at once. Check for a loop that catches Suspended and asks again.`,
  )
}

/** Results of work that runs once per key, as JSON text. An empty text stands for undefined. */
export class OnceResults {
  readonly #results: Map<string, string>
  readonly #running = new Map<string, Promise<string>>()
  /** Persists a result. If set, work counts as done only after this resolves. */
  save: SaveOnce | undefined

  constructor(results: Iterable<[string, string]> = []) {
    this.#results = new Map(results)
  }

  /** Returns a JSON copy of the value, so that the first run sees the same as every later one. */
  async run<T>(key: string, work: () => T | Promise<T>): Promise<T> {
    const text = this.#results.get(key) ?? (await this.#start(key, work))
    return (text === '' ? undefined : JSON.parse(text)) as T
  }

  has(key: string): boolean {
    return this.#results.has(key) || this.#running.has(key)
  }

  /** Waits for work in progress, so that its result is not lost. Failed work may run again. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#running.values())
  }

  entries(): [string, string][] {
    return [...this.#results]
  }

  #start(key: string, work: () => unknown): Promise<string> {
    const running = this.#running.get(key) ?? this.#finish(key, work)
    this.#running.set(key, running)
    return running
  }

  async #finish(key: string, work: () => unknown): Promise<string> {
    try {
      // The wrapper turns a synchronous throw into a rejection, after `#running` has the entry.
      const text = toText(key, await (async () => work())())
      await this.save?.(key, text)
      this.#results.set(key, text)
      return text
    } finally {
      this.#running.delete(key)
    }
  }
}

/** Persists the result of `ctx.once` under its key, as JSON text. */
export type SaveOnce = (key: string, value: string) => Promise<void>

function toText(key: string, value: unknown): string {
  if (value === undefined) return ''
  const where = `ctx.once(${JSON.stringify(key)}): the work must return a JSON value`
  let text: string | undefined
  try {
    text = JSON.stringify(value)
  } catch (cause) {
    throw new TypeError(`${where}: ${(cause as Error).message}`, { cause })
  }
  if (text !== undefined) return text
  throw new TypeError(`${where}, not a ${typeof value}`)
}

import { McpError, PeerError } from '../../errors.ts'
import type { Params, ResultObject } from '../../jsonrpc/message.ts'
import { joinBoxes } from '../../protocol/downgrade-form.ts'
import type { ElicitContent } from '../../protocol/elicitation.ts'
import type { InputRequest, InputRequests, InputRequiredResult, InputResponses } from '../../protocol/input.ts'
import { chain } from '../../util/maybe-async.ts'
import { isObject } from '../../util/objects.ts'
import type { Call } from '../call.ts'
import { OnceOnly } from '../once.ts'
import { QuestionKeys } from '../question-keys.ts'
import {
  answerProblem,
  checkAskable,
  isInputRequired,
  nothingAsked,
  tooManyRounds,
  topicOf,
  warnOpen,
  withDeclaredContext,
} from '../questions.ts'
import type { AskOptions, Caller, Conversation, Outcome, QuestionLimits } from '../server.ts'
import { askAsTask, takesTask, toAugmentation } from './asked-task.ts'

/** What a session keeps of its client's answers. */
export interface RootsMemory {
  /** The roots as the client gave them, until it says that they changed. */
  readonly known: { roots?: Promise<ResultObject> | undefined }
}

/** How often a handler is told that it asked too often, before its request is ended. */
const maxTold = 100

const noResponses: InputResponses = Object.freeze({})

/** Questions are requests to the client, on the stream of the call that they belong to. */
export class HandshakeConversation implements Conversation {
  readonly #call: Call
  readonly #caller: Caller & RootsMemory
  readonly #limits: QuestionLimits
  /** Made on first use: most requests ask nothing. */
  #once: OnceOnly | undefined
  #keys: QuestionKeys | undefined
  /** By key, so that a handler which runs again gets past what it asked before. */
  #answers: Map<string, { topic: string; answer: Promise<ResultObject> }> | undefined
  #rounds = 0
  #open = 0
  inputResponses: InputResponses = noResponses
  requestState: unknown

  constructor(call: Call, caller: Caller & RootsMemory, limits: QuestionLimits) {
    this.#call = call
    this.#caller = caller
    this.#limits = limits
  }

  run(work: () => Outcome): Outcome {
    return chain(work(), (result) => {
      if (this.#open > 0) warnOpen(this.#call.request.method, this.#answers?.keys() ?? [])
      if (isInputRequired(result)) return this.#fulfil(result, work)
      return this.#caller.rules.toResult(this.#call.request.method, result)
    })
  }

  once<T>(key: string, work: () => T | Promise<T>): Promise<T> {
    this.#once ??= new OnceOnly()
    return this.#once.do(key, work)
  }

  async ask(question: InputRequest, options: AskOptions): Promise<ResultObject> {
    checkAskable(this.#caller, question)
    return question.method === 'roots/list' ? this.#askRoots(question, options) : this.#askOnce(question, options)
  }

  #askOnce(question: InputRequest, options: AskOptions): Promise<ResultObject> {
    this.#keys ??= new QuestionKeys()
    const key = this.#keys.next(question.method, options.key)
    this.#answers ??= new Map()
    const topic = topicOf(question)
    const known = this.#answers.get(key)
    if (known?.topic === topic) return known.answer
    const answer = this.#ask(question, options)
    this.#answers.set(key, { topic, answer })
    answer.catch(() => this.#answers!.delete(key))
    return answer
  }

  /** Asked once per session, where the client tells of changes (2025-11-25 roots). */
  async #askRoots(question: InputRequest, options: AskOptions): Promise<ResultObject> {
    const caller = this.#caller
    if (!caller.capabilities.roots?.listChanged) return this.#ask(question, options)
    while (caller.known.roots) {
      try {
        return await caller.known.roots
      } catch (error) {
        // Another call asked, and was given up; what the client says holds for all.
        if (error instanceof PeerError) throw error
      }
    }
    const asked = this.#ask(question, options)
    caller.known.roots = asked
    asked.catch(() => {
      if (caller.known.roots === asked) caller.known.roots = undefined
    })
    return asked
  }

  async #ask(question: InputRequest, { key: _key, task, timeoutMs, ...options }: AskOptions): Promise<ResultObject> {
    if (!this.#countRound()) return new Promise(() => {})
    this.#open++
    try {
      const { method } = question
      const params = this.#paramsOf(question)
      const limitMs = timeoutMs ?? (method === 'roots/list' ? undefined : this.#limits.timeoutMs)
      const request = { ...options, timeoutMs: limitMs }
      const answer =
        task && takesTask(this.#caller, method)
          ? await askAsTask(this.#call, method, { ...params, task: toAugmentation(task) }, request)
          : await this.#call.ask(method, params, request)
      const problem = answerProblem(question, answer)
      if (problem !== undefined) {
        throw new McpError('invalid-response', `The client's answer to ${method} is no answer: ${problem}`)
      }
      return toNewest(question, answer)
    } finally {
      this.#open--
    }
  }

  #paramsOf(question: InputRequest): Params {
    const { rules } = this.#caller
    const { method, params = {} } = withDeclaredContext(this.#caller, question)
    const { mode, elicitationId = crypto.randomUUID() } = params as Params
    // 2025-11-25 elicitation, URL mode: each has an id of its own.
    return rules.toParams(method, (mode === 'url' ? { ...params, elicitationId } : params) as Params)
  }

  /** False: the handler was told, will not hear it, and gets no further. */
  #countRound(): boolean {
    const { maxRounds } = this.#limits
    if (this.#open > 0 || ++this.#rounds <= maxRounds) return true
    if (this.#rounds <= maxRounds + maxTold) throw tooManyRounds(maxRounds)
    this.#call.fail(tooManyRounds(maxRounds).toBody())
    return false
  }

  /** A handler that returns its questions is given the answers and runs again, as it would on 2026-07-28. */
  async #fulfil(first: InputRequiredResult, work: () => Outcome): Promise<ResultObject> {
    let result: ResultObject = first as ResultObject & InputRequiredResult
    for (let run = 1; isInputRequired(result); run++) {
      if (run > this.#limits.maxRounds) throw tooManyRounds(this.#limits.maxRounds)
      this.inputResponses = await this.#answerAll(result.inputRequests ?? {}, result.requestState)
      this.requestState = copyJson(result.requestState)
      this.#keys = undefined
      result = await work()
    }
    return this.#caller.rules.toResult(this.#call.request.method, result)
  }

  async #answerAll(questions: InputRequests, state: unknown): Promise<InputResponses> {
    const entries = Object.entries(questions)
    if (entries.length === 0 && state === undefined) throw nothingAsked()
    const answers = await Promise.all(entries.map(async ([key, question]) => [key, await this.#put(question)] as const))
    return Object.fromEntries(answers) as unknown as InputResponses
  }

  /** The handler keeps track of what it asks by hand. */
  async #put(question: InputRequest): Promise<ResultObject> {
    checkAskable(this.#caller, question)
    return question.method === 'roots/list' ? this.#askRoots(question, {}) : this.#ask(question, {})
  }
}

/** As it would come back on 2026-07-28. */
function copyJson(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value))
}

/** Forms had no choice of several before 2025-11-25. */
function toNewest({ method, params }: InputRequest, answer: ResultObject): ResultObject {
  if (method !== 'elicitation/create' || params.mode === 'url' || !isObject(answer.content)) return answer
  return { ...answer, content: joinBoxes(params.requestedSchema, answer.content as ElicitContent) }
}

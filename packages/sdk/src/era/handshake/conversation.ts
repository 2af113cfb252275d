import { McpError, PeerError } from '../../errors.ts'
import type { Params, ResultObject } from '../../jsonrpc/message.ts'
import type { RequestOptions } from '../../jsonrpc/pending.ts'
import type { Caller } from '../../protocol/caller.ts'
import { joinCheckboxes } from '../../protocol/downgrade-form.ts'
import type { ElicitContent } from '../../protocol/elicitation.ts'
import type { InputRequest, InputRequests, InputRequiredResult, InputResponses } from '../../protocol/input.ts'
import {
  answerShapeProblem,
  checkAskable,
  formAnswerProblem,
  isInputRequired,
  withDeclaredContext,
} from '../../protocol/input-check.ts'
import type { AskOptions, Conversation, Outcome } from '../../replay/conversation.ts'
import { OnceResults } from '../../replay/journal.ts'
import { emptyInputRequired, QuestionKeys, textOf, tooManyRounds, warnUnanswered } from '../../replay/questions.ts'
import { chain } from '../../util/maybe-async.ts'
import { isObject } from '../../util/objects.ts'
import { random } from '../../util/random.ts'
import type { Call } from '../call.ts'
import type { QuestionLimits } from '../server.ts'
import { askAsTask, canAnswerAsTask, type TaskProgress, toTaskRequest } from './client-task.ts'

/** What is remembered for a session, because handlers of several calls need it. */
export interface SessionCache {
  readonly cache: {
    /** The client's roots. Undefined until the first question, and again after the client announced a change. */
    roots?: Promise<ResultObject> | undefined
    /** Created on first use. */
    taskProgress?: TaskProgress | undefined
  }
}

/** How often a question is rejected for exceeding the limit before the whole request fails. */
const maxRejections = 100

const noResponses: InputResponses = Object.freeze({})

/** A conversation whose questions are requests to the client, sent on the stream of the call. */
export class HandshakeConversation implements Conversation {
  readonly #call: Call
  readonly #caller: Caller & SessionCache
  readonly #limits: QuestionLimits
  /** Created on first use, because most requests ask nothing. */
  #once: OnceResults | undefined
  #keys: QuestionKeys | undefined
  /** By key. A handler that runs again gets the answers to the questions it asked before. */
  #answers: Map<string, { text: string; answer: Promise<ResultObject> }> | undefined
  #rounds = 0
  #open = 0
  inputResponses: InputResponses = noResponses
  requestState: unknown
  readonly answerCount = 0

  constructor(call: Call, caller: Caller & SessionCache, limits: QuestionLimits) {
    this.#call = call
    this.#caller = caller
    this.#limits = limits
  }

  run(work: () => Outcome): Outcome {
    return chain(work(), (result) => {
      if (this.#open > 0) warnUnanswered(this.#call.request.method, this.#answers?.keys() ?? [])
      if (isInputRequired(result)) return this.#runAgain(result, work)
      return this.#caller.rules.toResult(this.#call.request.method, result)
    })
  }

  once<T>(key: string, work: () => T | Promise<T>): Promise<T> {
    this.#once ??= new OnceResults()
    return this.#once.run(key, work)
  }

  remembers(key: string): boolean {
    return this.#once?.has(key) ?? false
  }

  async ask(question: InputRequest, options: AskOptions): Promise<ResultObject> {
    checkAskable(this.#caller, question)
    if (question.method === 'roots/list') return this.#askRoots(question, options)
    const answer = await this.#askByKey(question, options)
    checkProblem(question, formAnswerProblem(question, answer))
    return answer
  }

  #askByKey(question: InputRequest, options: AskOptions): Promise<ResultObject> {
    this.#keys ??= new QuestionKeys()
    const key = this.#keys.next(question.method, options.key)
    this.#answers ??= new Map()
    const text = textOf(question)
    const known = this.#answers.get(key)
    if (known?.text === text) return known.answer
    const answer = this.#send(question, options)
    this.#answers.set(key, { text, answer })
    answer.catch(() => this.#answers!.delete(key))
    return answer
  }

  /** Asks once per session if the client announces changes (2025-11-25 roots). */
  async #askRoots(question: InputRequest, options: AskOptions): Promise<ResultObject> {
    const { capabilities, cache } = this.#caller
    if (!capabilities.roots?.listChanged) return this.#send(question, options)
    while (cache.roots) {
      try {
        return await cache.roots
      } catch (error) {
        // An error from the client counts for every call. Otherwise the call that asked was cancelled, so ask again.
        if (error instanceof PeerError) throw error
      }
    }
    const roots = this.#send(question, options)
    cache.roots = roots
    roots.catch(() => {
      if (cache.roots === roots) cache.roots = undefined
    })
    return roots
  }

  async #send(question: InputRequest, { key: _key, task, timeoutMs, ...options }: AskOptions): Promise<ResultObject> {
    if (!this.#countRound()) return new Promise(() => {})
    this.#open++
    try {
      // 2025-11-25 lifecycle: before that, servers send only pings and log messages.
      await this.#caller.ready
      const { method } = question
      const params = this.#paramsOf(question)
      const limitMs = timeoutMs ?? (method === 'roots/list' ? undefined : this.#limits.timeoutMs)
      const request = { ...options, timeoutMs: limitMs, limitsProgress: true }
      const answer =
        task && canAnswerAsTask(this.#caller, method)
          ? await this.#askAsTask(method, { ...params, task: toTaskRequest(task) }, request)
          : await this.#call.ask(method, params, request)
      checkProblem(question, answerShapeProblem(question, answer))
      return toNewest(question, answer)
    } finally {
      this.#open--
    }
  }

  #askAsTask(method: string, params: Params, options: RequestOptions): Promise<ResultObject> {
    const { cache } = this.#caller
    cache.taskProgress ??= new Map()
    return askAsTask(this.#call, method, params, { ...options, progress: cache.taskProgress, limits: this.#limits })
  }

  #paramsOf(question: InputRequest): Params {
    const { rules } = this.#caller
    const { method, params = {} } = withDeclaredContext(this.#caller, question)
    const { mode, elicitationId = random.uuid() } = params as Params
    // 2025-11-25 elicitation, URL mode: the id is required.
    return rules.toParams(method, (mode === 'url' ? { ...params, elicitationId } : params) as Params)
  }

  /** Throws if the handler asks too often. Returns false if it keeps asking after that: then its question never settles. */
  #countRound(): boolean {
    const { maxRounds } = this.#limits
    if (this.#open > 0 || ++this.#rounds <= maxRounds) return true
    if (this.#rounds <= maxRounds + maxRejections) throw tooManyRounds(maxRounds)
    this.#call.fail(tooManyRounds(maxRounds).toBody())
    return false
  }

  /** A handler that returns `inputRequired()` runs again with the answers, as it does on 2026-07-28. */
  async #runAgain(first: InputRequiredResult, work: () => Outcome): Promise<ResultObject> {
    let result: ResultObject = first as ResultObject & InputRequiredResult
    for (let run = 1; isInputRequired(result); run++) {
      if (run > this.#limits.maxRounds) throw tooManyRounds(this.#limits.maxRounds)
      this.inputResponses = await this.#askAll(result.inputRequests ?? {}, result.requestState)
      this.requestState = copyJson(result.requestState)
      this.#keys = undefined
      result = await work()
    }
    return this.#caller.rules.toResult(this.#call.request.method, result)
  }

  async #askAll(questions: InputRequests, state: unknown): Promise<InputResponses> {
    const entries = Object.entries(questions)
    if (entries.length === 0 && state === undefined) throw emptyInputRequired()
    const answers = await Promise.all(
      entries.map(async ([key, question]) => [key, await this.#askManually(question)] as const),
    )
    return Object.fromEntries(answers) as unknown as InputResponses
  }

  /** No key and no check of forms: a handler that returns its questions does both itself. */
  async #askManually(question: InputRequest): Promise<ResultObject> {
    checkAskable(this.#caller, question)
    return question.method === 'roots/list' ? this.#askRoots(question, {}) : this.#send(question, {})
  }
}

function checkProblem({ method }: InputRequest, problem: string | undefined): void {
  if (problem === undefined) return
  throw new McpError('invalid-response', `The client's answer to ${method} is invalid: ${problem}`)
}

/** As the state would come back on 2026-07-28. */
function copyJson(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value))
}

/** Before 2025-11-25 a form has a checkbox for each option instead of a multiple choice. */
function toNewest({ method, params }: InputRequest, answer: ResultObject): ResultObject {
  if (method !== 'elicitation/create' || params.mode === 'url' || !isObject(answer.content)) return answer
  return { ...answer, content: joinCheckboxes(params.requestedSchema, answer.content as ElicitContent) }
}

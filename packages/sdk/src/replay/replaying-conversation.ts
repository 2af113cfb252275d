import { CapabilityError, ErrorCode, McpError, ProtocolError, UrlElicitationRequiredError } from '../errors.ts'
import type { Params, ResultObject, RpcRequest } from '../jsonrpc/message.ts'
import type { Caller } from '../protocol/caller.ts'
import type { InputRequest, InputRequests, InputRequiredResult, InputResponses } from '../protocol/input.ts'
import { checkAskable, isInputRequired, multiRoundTripMethods, withDeclaredContext } from '../protocol/input-check.ts'
import { InsufficientScopeError } from '../protocol/scopes.ts'
import { isThenable } from '../util/maybe-async.ts'
import { isObject, omit, pick } from '../util/objects.ts'
import type { AskOptions, Conversation, Outcome, Reply } from './conversation.ts'
import { Journal, type JournalState, type SaveOnce } from './journal.ts'
import { emptyInputRequired, tooManyRounds, warnUnanswered } from './questions.ts'
import type { ReplayState } from './sealed-states.ts'

/** A request whose handler may run more than once. */
export interface ReplayCall {
  readonly request: RpcRequest
  /** True once nothing more can be sent for it. */
  readonly ended: boolean
  /** Rejects a question that comes after the end. */
  refuseLate(method: string): Promise<never>
}

/** Stores the state of a request between two runs: with the client, or in the record of a task. */
export interface StateStorage<C> {
  /** How many round trips one request may take. */
  readonly maxRounds: number
  /** @returns The `requestState` that `load` takes in the next run. */
  save(state: ReplayState, call: C): Promise<string>
  load(requestState: string, call: C): Promise<ReplayState>
  /** Allows a state that can be used once to be loaded once more. */
  release?(state: ReplayState): void
}

/** Shared by all conversations of a server, or by all runs of a task. */
export interface ReplayBackend<C> {
  readonly states: StateStorage<C>
  /** Persists results of `ctx.once` as soon as they exist. Undefined: they are part of the state. */
  readonly saveOnce?: SaveOnce | undefined
  /** Converts a final result to the caller's revision. */
  complete(method: string, caller: Caller, result: ResultObject): Reply | PromiseLike<Reply>
  /** Adds the members that every result has to an `input_required` result. */
  sign(result: ResultObject): Reply
}

const noResponses: InputResponses = Object.freeze({})

/**
 * Sends questions as the result of the request. The answers come with the next request, for which the handler
 * runs again from the start; the journal answers what earlier runs asked and did.
 */
export class ReplayingConversation<C extends ReplayCall> implements Conversation {
  readonly #call: C
  readonly #caller: Caller
  #backend: ReplayBackend<C>
  #state: ReplayState | undefined
  /** Created on first use, because most requests ask nothing. */
  #journal: Journal | undefined
  #roots: Promise<ResultObject> | undefined
  /** Whether this run ends with questions. */
  isAsking = false
  #endRun: (error: unknown) => void = () => {}

  constructor(call: C, caller: Caller, backend: ReplayBackend<C>) {
    this.#call = call
    this.#caller = caller
    this.#backend = backend
  }

  get inputResponses(): InputResponses {
    const given = (this.#params.inputResponses as InputResponses | undefined) ?? noResponses
    return this.#state?.manualResponses ? ({ ...this.#state.manualResponses, ...given } as InputResponses) : given
  }

  get requestState(): unknown {
    return this.#state?.handlerState
  }

  run(work: () => Outcome): Reply | PromiseLike<Reply> {
    const { requestState } = this.#params
    if (typeof requestState !== 'string' || !this.#mayAsk) return this.#try(work)
    return this.#backend.states.load(requestState, this.#call).then((state) => {
      this.#state = state
      this.#journal = this.#createJournal(state.journal, this.inputResponses)
      return this.#try(work)
    })
  }

  async ask(question: InputRequest, { key }: AskOptions): Promise<ResultObject> {
    const { request, ended } = this.#call
    if (ended) return this.#call.refuseLate(question.method)
    if (!this.#mayAsk) throw notInteractive(request.method)
    checkAskable(this.#caller, question)
    this.#journal ??= this.#createJournal()
    if (question.method !== 'roots/list') return this.#journal.ask(question, key)
    // Roots do not change during a run, so one question is enough.
    this.#roots ??= this.#journal.ask(question, key)
    return this.#roots
  }

  once<T>(key: string, work: () => T | Promise<T>): Promise<T> {
    this.#journal ??= this.#createJournal()
    return this.#journal.once(key, work)
  }

  get answerCount(): number {
    return this.#journal?.answerCount ?? 0
  }

  remembers(key: string): boolean {
    return this.#journal?.remembers(key) ?? false
  }

  /**
   * Continues with another backend while the handler runs, as when its call is promoted to a task.
   * @returns The state so far. Later results of `ctx.once` go to `backend.saveOnce`.
   */
  async handOver(backend: ReplayBackend<C>): Promise<ReplayState> {
    this.#backend = backend
    this.#journal ??= this.#createJournal()
    const journal = this.#journal
    const once = journal.saveOnceWith(backend.saveOnce)
    const { handlerState, manualKeys } = this.#state ?? {}
    return {
      journal: { ...(await journal.toState()), round: journal.round, once },
      handlerState,
      manualKeys,
      manualResponses: this.#manualResponses(),
    }
  }

  #createJournal(state?: JournalState, responses?: InputResponses): Journal {
    const journal = new Journal((error) => this.#endRun(error), state, responses as Record<string, unknown> | undefined)
    journal.saveOnceWith(this.#backend.saveOnce)
    return journal
  }

  get #params(): Params {
    return this.#call.request.params!
  }

  get #mayAsk(): boolean {
    return multiRoundTripMethods.has(this.#call.request.method)
  }

  #try(work: () => Outcome): Reply | PromiseLike<Reply> {
    let outcome: Outcome
    try {
      outcome = work()
    } catch (error) {
      return this.#failed(error)
    }
    if (!isThenable(outcome)) return this.#returned(outcome)
    const running = outcome
    return new Promise((resolve, reject) => {
      // A handler that never stops asking never settles, so the journal has to end its run.
      this.#endRun = reject
      running
        .then(
          (result) => this.#returned(result),
          (error) => this.#failed(error),
        )
        .then(resolve, reject)
    })
  }

  /** If a question is open, the result is `input_required`, even if the handler caught `Suspended` and returned. */
  #returned(result: ResultObject): Reply | PromiseLike<Reply> {
    if (this.#journal?.isWaiting) warnUnanswered(this.#call.request.method, this.#journal.questions.keys())
    if (this.#journal)
      return this.#waitForJournal().then(() => (this.#journal!.isWaiting ? this.#askAll() : this.#finish(result)))
    return this.#finish(result)
  }

  async #failed(error: unknown): Promise<Reply> {
    await this.#waitForJournal()
    if (this.#journal?.isWaiting) return this.#askAll()
    if (error instanceof UrlElicitationRequiredError && this.#mayAsk) return this.#askUrls(error)
    // The client obtains a token with the scopes and sends the same request again.
    if (error instanceof InsufficientScopeError && this.#state) this.#backend.states.release?.(this.#state)
    throw toProtocolError(error)
  }

  async #waitForJournal(): Promise<void> {
    await this.#journal?.settled()
  }

  #finish(result: ResultObject): Reply | PromiseLike<Reply> {
    if (isInputRequired(result)) return this.#askManually(result)
    return this.#backend.complete(this.#call.request.method, this.#caller, result)
  }

  #askAll(): Promise<Reply> {
    const journal = this.#journal!
    return this.#replyWithQuestions(Object.fromEntries(journal.questions), journal, this.#state?.handlerState)
  }

  /** Answers to the questions that the handler returned itself; it reads them again in the next run. */
  #manualResponses(): Record<string, unknown> | undefined {
    const { manualKeys = [], manualResponses = {} } = this.#state ?? {}
    const keys = [...manualKeys, ...Object.keys(manualResponses)]
    return keys.length > 0 ? pick(this.inputResponses as Record<string, unknown>, keys) : undefined
  }

  /** Needs no state: a request that comes with answers to these questions was shown the URLs. */
  #askUrls({ elicitations }: UrlElicitationRequiredError): Promise<Reply> {
    const answers = elicitations.map((_, index) => this.inputResponses[`url#${index + 1}`])
    if (answers.some(isDeclined)) throw new ProtocolError(ErrorCode.InternalError, 'The user declined to visit the URL')
    if (answers.every(isObject)) {
      throw new ProtocolError(
        ErrorCode.InternalError,
        'The user agreed to visit the URL. Repeat the request when they have finished there.',
      )
    }
    const questions = elicitations.map(({ message, url }, index): [string, InputRequest] => [
      `url#${index + 1}`,
      { method: 'elicitation/create', params: { mode: 'url', message, url } },
    ])
    return this.#askManually({ resultType: 'input_required', inputRequests: Object.fromEntries(questions) })
  }

  async #askManually({ inputRequests = {}, requestState, _meta }: InputRequiredResult): Promise<Reply> {
    if (!this.#mayAsk) throw notInteractive(this.#call.request.method)
    try {
      for (const question of Object.values(inputRequests)) checkAskable(this.#caller, question)
    } catch (error) {
      throw toProtocolError(error)
    }
    return this.#replyWithQuestions(inputRequests, this.#journal, requestState, _meta)
  }

  async #replyWithQuestions(
    inputRequests: InputRequests,
    journal: Journal | undefined,
    handlerState: unknown,
    _meta?: InputRequiredResult['_meta'],
  ): Promise<Reply> {
    this.isAsking = true
    const { maxRounds } = this.#backend.states
    const round = (journal?.round ?? 0) + 1
    if (round > maxRounds) throw tooManyRounds(maxRounds)
    const needsState = handlerState !== undefined || (journal && !journal.isEmpty)
    const requestState = needsState
      ? await this.#backend.states.save(
          {
            journal: await (journal ?? this.#createJournal()).toState(),
            handlerState,
            // If the journal waits, the handler asked with `ctx` and still needs the answers it got before.
            manualKeys: journal?.isWaiting ? undefined : Object.keys(inputRequests),
            manualResponses: journal?.isWaiting ? this.#manualResponses() : undefined,
          },
          this.#call,
        )
      : undefined
    if (requestState === undefined && Object.keys(inputRequests).length === 0) throw emptyInputRequired()
    const entries = Object.entries(inputRequests).map(([key, question]) => [
      key,
      toWire(withDeclaredContext(this.#caller, question)),
    ])
    return this.#backend.sign({
      resultType: 'input_required',
      ...(entries.length > 0 && { inputRequests: Object.fromEntries(entries) }),
      ...(requestState !== undefined && { requestState }),
      ...(_meta && { _meta }),
    })
  }
}

function isDeclined(answer: unknown): boolean {
  return isObject(answer) && (answer.action === 'decline' || answer.action === 'cancel')
}

/** URL elicitation has no ids in 2026-07-28. */
function toWire({ method, params }: InputRequest): object {
  return { method, ...(params && { params: omit(params, ['elicitationId']) }) }
}

/** 2026-07-28 basic, -32021: the error names the capability that the client has to declare. */
function toProtocolError(error: unknown): unknown {
  if (!(error instanceof CapabilityError) || !error.required) return error
  return new ProtocolError(ErrorCode.MissingClientCapability, error.message, { requiredCapabilities: error.required })
}

function notInteractive(method: string): McpError {
  return new McpError(
    'capability-missing',
    `A handler of ${method} cannot ask the client. Only tools, prompts and reading a resource can.`,
  )
}

import { CapabilityError, McpError, ProtocolError, RpcCode, UrlElicitationRequiredError } from '../../errors.ts'
import type { Params, ResultObject } from '../../jsonrpc/message.ts'
import type { InputRequest, InputRequests, InputRequiredResult, InputResponses } from '../../protocol/input.ts'
import { isThenable } from '../../util/maybe-async.ts'
import { isObject, omit, pick } from '../../util/objects.ts'
import type { Call } from '../call.ts'
import {
  checkAskable,
  interactive,
  isInputRequired,
  nothingAsked,
  tooManyRounds,
  warnOpen,
  withDeclaredContext,
} from '../questions.ts'
import type { AskOptions, Caller, Conversation, Outcome, Reply } from '../server.ts'
import { Journal, type JournalState } from './journal.ts'
import type { OpenedState } from './states.ts'

/** Where what a handler must remember is kept from one run to the next. */
export interface KeptStates {
  /** How often one request may ask. */
  readonly maxRounds: number
  /** @returns What brings it back. */
  seal(state: OpenedState, call: Call): Promise<string>
  open(text: string, call: Call): Promise<OpenedState>
}

/** What all conversations of one server share, or all runs of one task. */
export interface ConversationHost {
  readonly states: KeptStates
  /** Keeps what was done once, before anything else happens. Without it, the state has it. */
  readonly note?: ((key: string, value: string) => Promise<void>) | undefined
  /** Gives a final result its form. */
  complete(method: string, caller: Caller, result: ResultObject): Reply | PromiseLike<Reply>
  /** Says who answers. */
  sign(result: ResultObject): Reply
}

const noResponses: InputResponses = Object.freeze({})

/**
 * Questions are a result, and their answers come with the next call of the same request. The handler runs again from the
 * start; what the journal knows of earlier runs lets it get past what was asked and done.
 */
export class StatelessConversation implements Conversation {
  readonly #call: Call
  readonly #caller: Caller
  #host: ConversationHost
  #opened: OpenedState | undefined
  /** Made on first use: most requests ask nothing. */
  #journal: Journal | undefined
  #roots: Promise<ResultObject> | undefined
  /** Its questions are on their way as the answer to the request. */
  isAsking = false
  #giveUp: (error: unknown) => void = () => {}

  constructor(call: Call, caller: Caller, host: ConversationHost) {
    this.#call = call
    this.#caller = caller
    this.#host = host
  }

  get inputResponses(): InputResponses {
    const given = (this.#params.inputResponses as InputResponses | undefined) ?? noResponses
    return this.#opened?.responses ? ({ ...this.#opened.responses, ...given } as InputResponses) : given
  }

  get requestState(): unknown {
    return this.#opened?.byHand
  }

  run(work: () => Outcome): Reply | PromiseLike<Reply> {
    const { requestState } = this.#params
    if (typeof requestState !== 'string' || !this.#mayAsk) return this.#try(work)
    return this.#host.states.open(requestState, this.#call).then((opened) => {
      this.#opened = opened
      this.#journal = this.#createJournal(opened.journal, this.inputResponses)
      return this.#try(work)
    })
  }

  async ask(question: InputRequest, { key }: AskOptions): Promise<ResultObject> {
    const { request, ended } = this.#call
    if (ended) return this.#call.refuseLate(question.method)
    if (!this.#mayAsk) throw notHere(request.method)
    checkAskable(this.#caller, question)
    this.#journal ??= this.#createJournal()
    if (question.method !== 'roots/list') return this.#journal.ask(question, key)
    // The same in one run, so that nothing is asked twice.
    this.#roots ??= this.#journal.ask(question, key)
    return this.#roots
  }

  once<T>(key: string, work: () => T | Promise<T>): Promise<T> {
    this.#journal ??= this.#createJournal()
    return this.#journal.doOnce(key, work)
  }

  /** Lets somebody else decide what becomes of the result. Before it runs. */
  completeWith(complete: ConversationHost['complete']): void {
    this.#host = { ...this.#host, complete }
  }

  /**
   * From now on somebody else keeps what this request remembers, as when it becomes a task.
   * @returns Everything up to now; what is done once from now on goes to `host.note`.
   */
  async handOver(host: ConversationHost): Promise<OpenedState> {
    this.#host = host
    this.#journal ??= this.#createJournal()
    const journal = this.#journal
    const once = journal.noteWith(host.note)
    const { byHand, askedByHand } = this.#opened ?? {}
    return {
      journal: { ...(await journal.toState()), round: journal.round, once },
      byHand,
      askedByHand,
      responses: this.#responsesByHand(),
    }
  }

  #createJournal(state?: JournalState, responses?: InputResponses): Journal {
    const journal = new Journal((error) => this.#giveUp(error), state, responses as Record<string, unknown> | undefined)
    journal.noteWith(this.#host.note)
    return journal
  }

  get #params(): Params {
    return this.#call.request.params!
  }

  get #mayAsk(): boolean {
    return interactive.has(this.#call.request.method)
  }

  #try(work: () => Outcome): Reply | PromiseLike<Reply> {
    let outcome: Outcome
    try {
      outcome = work()
    } catch (error) {
      return this.#failed(error)
    }
    if (!isThenable(outcome)) return this.#ended(outcome)
    const running = outcome
    return new Promise((resolve, reject) => {
      // A handler that asks without end never comes to an end.
      this.#giveUp = reject
      running
        .then(
          (result) => this.#ended(result),
          (error) => this.#failed(error),
        )
        .then(resolve, reject)
    })
  }

  /** A handler that swallows the suspension changes nothing: as long as a question is open, the questions are the answer. */
  #ended(result: ResultObject): Reply | PromiseLike<Reply> {
    if (this.#journal?.isWaiting) warnOpen(this.#call.request.method, this.#journal.questions.keys())
    if (this.#journal)
      return this.#settled().then(() => (this.#journal!.isWaiting ? this.#askAll() : this.#last(result)))
    return this.#last(result)
  }

  async #failed(error: unknown): Promise<Reply> {
    await this.#settled()
    if (this.#journal?.isWaiting) return this.#askAll()
    if (error instanceof UrlElicitationRequiredError && this.#mayAsk) return this.#askUrls(error)
    throw toProtocolError(error)
  }

  async #settled(): Promise<void> {
    await this.#journal?.settled()
  }

  #last(result: ResultObject): Reply | PromiseLike<Reply> {
    if (isInputRequired(result)) return this.#byHand(result)
    return this.#host.complete(this.#call.request.method, this.#caller, result)
  }

  #askAll(): Promise<Reply> {
    const journal = this.#journal!
    return this.#inputRequired(Object.fromEntries(journal.questions), journal, this.#opened?.byHand)
  }

  /** The handler looks at these itself, also in the next run. */
  #responsesByHand(): Record<string, unknown> | undefined {
    const { askedByHand = [], responses = {} } = this.#opened ?? {}
    const keys = [...askedByHand, ...Object.keys(responses)]
    return keys.length > 0 ? pick(this.inputResponses as Record<string, unknown>, keys) : undefined
  }

  /** The page was shown when the same request comes again, so there is nothing to remember. */
  #askUrls({ elicitations }: UrlElicitationRequiredError): Promise<Reply> {
    const answers = elicitations.map((_, index) => this.inputResponses[`url#${index + 1}`])
    if (answers.some(isRefused))
      throw new ProtocolError(RpcCode.InternalError, 'The user did not agree to visit the page')
    if (answers.every(isObject)) {
      throw new ProtocolError(
        RpcCode.InternalError,
        'The user agreed to visit the page; call again when they are done there',
      )
    }
    const questions = elicitations.map(({ message, url }, index): [string, InputRequest] => [
      `url#${index + 1}`,
      { method: 'elicitation/create', params: { mode: 'url', message, url } },
    ])
    return this.#byHand({ resultType: 'input_required', inputRequests: Object.fromEntries(questions) })
  }

  async #byHand({ inputRequests = {}, requestState, _meta }: InputRequiredResult): Promise<Reply> {
    if (!this.#mayAsk) throw notHere(this.#call.request.method)
    try {
      for (const question of Object.values(inputRequests)) checkAskable(this.#caller, question)
    } catch (error) {
      throw toProtocolError(error)
    }
    return this.#inputRequired(inputRequests, this.#journal, requestState, _meta)
  }

  async #inputRequired(
    inputRequests: InputRequests,
    journal: Journal | undefined,
    byHand: unknown,
    _meta?: InputRequiredResult['_meta'],
  ): Promise<Reply> {
    this.isAsking = true
    const { maxRounds } = this.#host.states
    const round = (journal?.round ?? 0) + 1
    if (round > maxRounds) throw tooManyRounds(maxRounds)
    const isRemembered = byHand !== undefined || (journal && !journal.isEmpty)
    const requestState = isRemembered
      ? await this.#host.states.seal(
          {
            journal: await (journal ?? this.#createJournal()).toState(),
            byHand,
            // Only what the handler has not finished with: questions of its own come with answers of their own.
            askedByHand: journal?.isWaiting ? undefined : Object.keys(inputRequests),
            responses: journal?.isWaiting ? this.#responsesByHand() : undefined,
          },
          this.#call,
        )
      : undefined
    if (requestState === undefined && Object.keys(inputRequests).length === 0) throw nothingAsked()
    const entries = Object.entries(inputRequests).map(([key, question]) => [
      key,
      toWire(withDeclaredContext(this.#caller, question)),
    ])
    return this.#host.sign({
      resultType: 'input_required',
      ...(entries.length > 0 && { inputRequests: Object.fromEntries(entries) }),
      ...(requestState !== undefined && { requestState }),
      ...(_meta && { _meta }),
    })
  }
}

function isRefused(answer: unknown): boolean {
  return isObject(answer) && (answer.action === 'decline' || answer.action === 'cancel')
}

/** 2026-07-28 elicitation has no ids for pages. */
function toWire({ method, params }: InputRequest): object {
  return { method, ...(params && { params: omit(params, ['elicitationId']) }) }
}

/** 2026-07-28 basic, -32021: the client is told what it would have to declare. */
function toProtocolError(error: unknown): unknown {
  if (!(error instanceof CapabilityError) || !error.required) return error
  return new ProtocolError(RpcCode.MissingClientCapability, error.message, { requiredCapabilities: error.required })
}

function notHere(method: string): McpError {
  return new McpError(
    'capability-missing',
    `Nothing can be asked of a client while ${method} is served: only tools, prompts and reading a resource may ask`,
  )
}

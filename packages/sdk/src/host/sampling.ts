import { chooseModel } from '../client/input/choose-model.ts'
import { ErrorCode, McpError, ProtocolError } from '../errors.ts'
import type { CreateMessageParams, CreateMessageResult } from '../protocol/sampling.ts'
import { sampledProblem, samplingProblem, tokensProblem } from '../protocol/sampling-check.ts'
import { untilAborted } from '../util/abort.ts'
import { omit } from '../util/objects.ts'
import type { ActionServer, SamplingAction, SamplingResultAction } from './action.ts'
import type { AuditRecord } from './audit/audit.ts'
import type { Model, ModelAnswer } from './models/model.ts'
import type { HostSampling } from './options.ts'
import { SamplingAccount, type SamplingBudget, type SamplingUsage, toLimits } from './sampling-budget.ts'

export type { SamplingBudget, SamplingUsage } from './sampling-budget.ts'

/** The decision about a request or a result. `edited` replaces what was shown. */
export type SamplingDecision<T> = { readonly allowed: boolean; readonly edited?: T | undefined }

/** Options of `SamplingCoordinator`. */
export interface SamplingOptions {
  model: Model
  /** Decides whether a request goes to the model, and whether its result goes to the server. */
  approve(
    action: SamplingAction | SamplingResultAction,
    signal: AbortSignal,
  ): Promise<SamplingDecision<CreateMessageParams | CreateMessageResult>>
  /** Receives a record of each request. It has counts and names, not the messages. */
  audit(record: AuditRecord): void
  /** The limits of each server. */
  budget?: SamplingBudget | undefined
  /** Limits of single servers by id, which replace those of `budget`. */
  budgets?: Readonly<Record<string, SamplingBudget>> | undefined
  /** As in `HostSampling`, like the next. */
  context?: HostSampling['context']
  hints?: HostSampling['hints']
  /** Returns the other servers whose data may be in the context for a server. Default: none. */
  contextServers?: ((action: SamplingAction) => Promise<readonly string[]>) | undefined
  /** What servers used so far, if several coordinators share it. */
  accounts?: Map<string, SamplingAccount> | undefined
}

/**
 * Lets servers use a model, within limits: it chooses the model, caps `maxTokens`, keeps budgets per server, and asks for
 * approval of every request and every result.
 *
 * @example
 * const sampling = new SamplingCoordinator({ model, approve, audit: (record) => log.append(record) })
 * const client = await connect(url, {
 *   handlers: { sample: (params, { signal }) => sampling.sample(server, params, signal) },
 *   capabilities: { sampling: { tools: {} } },
 * })
 */
export class SamplingCoordinator {
  readonly #options: SamplingOptions
  readonly #accounts: Map<string, SamplingAccount>

  constructor(options: SamplingOptions) {
    checkSampling(options)
    this.#options = options
    this.#accounts = options.accounts ?? new Map()
  }

  /**
   * Generates a message for a server.
   *
   * @throws ProtocolError if the request is invalid, a limit is reached or the user rejects it. The server may see it.
   * @throws McpError if the model fails, or its message is invalid. It is not for the server.
   */
  async sample(server: ActionServer, params: CreateMessageParams, signal: AbortSignal): Promise<CreateMessageResult> {
    const record: Details = { outcome: 'failed', requestedTokens: params.maxTokens }
    try {
      const result = await this.#run({ server, signal, record }, params)
      record.outcome = 'sent'
      return result
    } catch (error) {
      record.error = error instanceof McpError ? error.message : 'unexpected error'
      throw error
    } finally {
      this.#options.audit({ event: 'sampling', server: server.id, details: { ...record } })
    }
  }

  /** Returns what a server used so far. */
  usageOf(serverId: string): SamplingUsage {
    return this.#accountOf(serverId).usage()
  }

  async #run(run: Run, given: CreateMessageParams): Promise<CreateMessageResult> {
    const problem = samplingProblem(given)
    if (problem !== undefined) throw new ProtocolError(ErrorCode.InvalidParams, problem)
    const account = this.#accountOf(run.server.id)
    // Before the user is asked, so that a server cannot flood the user with questions.
    const release = account.enter()
    try {
      const params = await this.#reviewRequest(run, account, given)
      const answer = await this.#generate(run, account, params)
      return await this.#reviewResult(run, params, answer)
    } finally {
      release()
    }
  }

  async #reviewRequest(run: Run, account: SamplingAccount, given: CreateMessageParams): Promise<CreateMessageParams> {
    const request = account.cap(await this.#withContext(run, given))
    const decision = await this.#ask(run, { kind: 'sampling', server: run.server, request, ...contextFrom(run) })
    if (!decision.allowed) throw this.#rejected(run, 'request-denied', 'The user rejected the sampling request')
    if (decision.edited === undefined) return request
    run.record.requestEdited = true
    const edited = omit(decision.edited as CreateMessageParams, ['includeContext'])
    const problem = samplingProblem(edited)
    if (problem !== undefined) throw new McpError('invalid-argument', `The edited request is invalid: ${problem}`)
    return account.cap(edited)
  }

  async #withContext(run: Run, params: CreateMessageParams): Promise<CreateMessageParams> {
    const { server, signal, record } = run
    const { includeContext: scope, systemPrompt } = params
    const request = omit(params, ['includeContext'])
    if (scope === undefined || scope === 'none') return request
    record.contextRequested = scope
    const { context, contextServers } = this.#options
    if (!context) return request
    const others = (scope === 'allServers' && (await contextServers?.({ kind: 'sampling', server, request }))) || []
    const asking = { server, scope, servers: [server.id, ...others], signal }
    const text = await untilAborted((async () => context(asking))(), signal, cancelled)
    if (!text) return request
    record.contextAdded = true
    run.contextFrom = others
    return { ...request, systemPrompt: systemPrompt ? `${systemPrompt}\n\nContext:\n${text}` : `Context:\n${text}` }
  }

  async #generate(run: Run, account: SamplingAccount, approved: CreateMessageParams): Promise<ModelAnswer> {
    const { model } = this.#options
    // Other requests may have used the budget while the user was asked.
    const params = account.cap(approved)
    const name = this.#chooseModel(params)
    run.record.model = name
    run.record.maxTokens = params.maxTokens
    const settle = account.reserve(params)
    let answer: ModelAnswer | undefined
    try {
      const generated = model.generate({ model: name, params, signal: run.signal })
      answer = checkAnswer(await untilAborted(generated, run.signal, cancelled), params)
      if (answer.omitted?.length) run.record.omitted = answer.omitted
      return answer
    } finally {
      // Without a valid answer, the request may have cost as much as it could.
      Object.assign(run.record, settle(answer))
    }
  }

  /** Hints are tried in order. One that fits no model may stand for another (2025-11-25 sampling, model preferences). */
  #chooseModel({ modelPreferences }: CreateMessageParams): string {
    const { hints = {}, model } = this.#options
    const { choices } = model
    for (const hint of modelPreferences?.hints ?? []) {
      const wanted = hint.name?.toLowerCase()
      if (!wanted) continue
      const isOwn = choices.some(({ name }) => name.toLowerCase().includes(wanted))
      if (isOwn) return chooseModel({ ...modelPreferences, hints: [hint] }, choices)!
      const known = Object.keys(hints).find((part) => wanted.includes(part.toLowerCase()))
      if (known !== undefined) return hints[known]!
    }
    return chooseModel(modelPreferences, choices) ?? choices[0]!.name
  }

  async #reviewResult(run: Run, request: CreateMessageParams, answer: ModelAnswer): Promise<CreateMessageResult> {
    const result: CreateMessageResult = omit(answer, ['usage', 'omitted'])
    const action = { kind: 'sampling-result', server: run.server, request, result, ...contextFrom(run) } as const
    const decision = await this.#ask(run, action)
    if (!decision.allowed) throw this.#rejected(run, 'result-denied', 'The user rejected the result of sampling')
    if (decision.edited === undefined) return result
    run.record.resultEdited = true
    const edited = decision.edited as CreateMessageResult
    const problem = sampledProblem(edited, request) ?? tokensProblem(edited, request, undefined)
    if (problem === undefined) return edited
    throw new McpError('invalid-argument', `The edited result is invalid: ${problem}`)
  }

  #ask({ signal }: Run, action: SamplingAction | SamplingResultAction) {
    return untilAborted(this.#options.approve(action, signal), signal, cancelled)
  }

  /** 2025-11-25 sampling, error handling: -1 is the code of requests that the user rejected. */
  #rejected({ record }: Run, outcome: Details['outcome'], message: string): ProtocolError {
    record.outcome = outcome
    return new ProtocolError(-1, message)
  }

  #accountOf(serverId: string): SamplingAccount {
    const { budget, budgets = {} } = this.#options
    let account = this.#accounts.get(serverId)
    if (!account) {
      const own = Object.hasOwn(budgets, serverId) ? budgets[serverId] : undefined
      account = new SamplingAccount(serverId, toLimits({ ...budget, ...own }))
      this.#accounts.set(serverId, account)
    }
    return account
  }
}

/** A request on its way. */
interface Run {
  readonly server: ActionServer
  readonly signal: AbortSignal
  readonly record: Details
  /** The other servers whose data may be in the context. */
  contextFrom?: readonly string[]
}

function contextFrom({ contextFrom = [] }: Run): Pick<SamplingAction, 'contextFrom'> {
  return contextFrom.length > 0 ? { contextFrom } : {}
}

/**
 * Checks the options before anything uses them.
 * @throws TypeError Names the member.
 */
export function checkSampling({ model, budget, budgets = {}, hints = {} }: HostSampling & { model?: Model }): void {
  if (model?.choices.length === 0) throw new TypeError('The model has no choices. Name at least one model.')
  for (const limits of [budget, ...Object.values(budgets)]) toLimits(limits)
  const names = model?.choices.map(({ name }) => name) ?? []
  for (const [hint, name] of Object.entries(hints)) {
    if (hint === '') throw new TypeError('sampling.hints has an empty name, which would stand for every hint.')
    if (model && !names.includes(name))
      throw new TypeError(`sampling.hints: ${hint} stands for the model "${name}". Models are: ${names.join(', ')}.`)
  }
}

/** The details of the audit record. */
interface Details {
  outcome: 'sent' | 'request-denied' | 'result-denied' | 'failed'
  error?: string
  model?: string
  /** What the server asked for, and what it got at most. */
  requestedTokens: number
  maxTokens?: number
  inputTokens?: number
  outputTokens?: number
  isEstimated?: boolean
  requestEdited?: boolean
  resultEdited?: boolean
  contextRequested?: string
  contextAdded?: boolean
  omitted?: readonly string[]
}

function checkAnswer(answer: ModelAnswer, params: CreateMessageParams): ModelAnswer {
  const problem =
    sampledProblem(answer, params) ?? usageProblem(answer, params) ?? tokensProblem(answer, params, undefined)
  if (problem === undefined) return answer
  throw new McpError('invalid-response', `The model returned an invalid message: ${problem}`)
}

function usageProblem({ usage }: ModelAnswer, { maxTokens }: CreateMessageParams): string | undefined {
  if (!usage || usage.outputTokens <= maxTokens) return undefined
  return `it has ${usage.outputTokens} tokens, and maxTokens is ${maxTokens}`
}

function cancelled(): McpError {
  return new McpError('cancelled', 'The sampling request was cancelled')
}

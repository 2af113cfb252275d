import { isObject } from 'tenon/internal'
import type { RequestOptions, ServerContext } from '../core/context.ts'
import { ProtocolError, ProtocolErrorCode } from '../core/errors.ts'
import { isInputRequiredResult } from '../core/guards.ts'
import type { StoredHandler } from '../core/protocol.ts'
import type { ClientCapabilities, JSONRPCRequest, Result } from '../core/types.ts'
import { missingCapabilities, type Question, toQuestion } from './client-capabilities.ts'

/** How `inputRequired(...)` results are answered for clients of revisions that do not have them. */
export interface InputRoundsOptions {
  maxRounds?: number
  roundTimeoutMs?: number
  legacyShim?: boolean
}

/** Checks the options and fills in the defaults. */
export function toRoundsOptions(options: InputRoundsOptions = {}): Required<InputRoundsOptions> {
  const { maxRounds = 8, roundTimeoutMs = 600_000, legacyShim = true } = options
  if (!Number.isInteger(maxRounds) || maxRounds < 1) {
    throw new RangeError(`inputRequired.maxRounds must be a positive integer (got ${maxRounds})`)
  }
  if (!Number.isFinite(roundTimeoutMs) || roundTimeoutMs <= 0) {
    throw new RangeError(`inputRequired.roundTimeoutMs must be a positive number (got ${roundTimeoutMs})`)
  }
  return { maxRounds, roundTimeoutMs, legacyShim }
}

/** The server, as the rounds use it. */
export interface RoundsHost {
  clientCapabilities(): ClientCapabilities | undefined
  /** Returns what a state decodes to. */
  decodeState(state: string, ctx: ServerContext, method: string): Promise<unknown>
  ask(question: Question, options: RequestOptions): Promise<unknown>
}

/** The questions of a result, and its state. Throws if it has neither. */
export function partsOf(method: string, result: Result): { requests: Record<string, unknown>; state?: string } {
  const requests = isObject(result.inputRequests) ? result.inputRequests : {}
  const { requestState: state } = result
  if (Object.keys(requests).length > 0 || typeof state === 'string') {
    return { requests, ...(typeof state === 'string' && { state }) }
  }
  throw new ProtocolError(
    ProtocolErrorCode.InternalError,
    `Handler for ${method} returned an input-required result with neither inputRequests nor requestState`,
  )
}

/** How long to wait before a handler runs again that only asked to be called later. */
const pauseMs = 250

/**
 * Serves a handler that returns `inputRequired(...)` to a client of a handshake revision: asks the questions as requests, and runs
 * the handler again with the answers until it returns a result.
 */
export class InputRounds {
  private readonly _host: RoundsHost
  private readonly _options: Required<InputRoundsOptions>

  constructor(host: RoundsHost, options: Required<InputRoundsOptions>) {
    this._host = host
    this._options = options
  }

  async run(
    handler: StoredHandler<ServerContext>,
    request: JSONRPCRequest,
    ctx: ServerContext,
    first: Result,
  ): Promise<Result> {
    const { method } = request
    const { maxRounds } = this._options
    let result = first
    for (let round = 1; isInputRequiredResult(result); round++) {
      if (round > maxRounds) {
        const message = `Multi-round-trip request '${method}' still required input after ${maxRounds} rounds (inputRequired.maxRounds)`
        return failure(method, message)
      }
      const { requests, state } = partsOf(method, result)
      const answers = await this._answer(method, requests, ctx)
      if (answers instanceof Failure) return failure(method, answers.message)
      result = await handler(request, await this._nextContext(ctx, method, answers, state))
    }
    return result
  }

  private async _answer(method: string, requests: Record<string, unknown>, ctx: ServerContext) {
    const entries = Object.entries(requests)
    if (entries.length === 0) {
      await pause(ctx.mcpReq.signal)
      return undefined
    }
    const declared = this._host.clientCapabilities()
    const questions: [string, Question][] = []
    for (const [key, entry] of entries) {
      const question = toQuestion(method, key, entry)
      if (missingCapabilities(question.required, declared)) return new Failure(cannotAsk(key, question, declared))
      questions.push([key, question])
    }
    return this._askAll(method, questions, ctx)
  }

  /** Asks all questions at once. If one fails, the others are cancelled. */
  private async _askAll(method: string, questions: readonly [string, Question][], ctx: ServerContext) {
    const failed = new AbortController()
    const options: RequestOptions = {
      relatedRequestId: ctx.mcpReq.id,
      timeout: this._options.roundTimeoutMs,
      resetTimeoutOnProgress: true,
      onprogress: () => {},
      signal: AbortSignal.any([ctx.mcpReq.signal, failed.signal]),
    }
    const ask = async ([key, question]: [string, Question]) => [key, await this._host.ask(question, options)] as const
    try {
      return Object.fromEntries(await Promise.all(questions.map(ask))) as Record<string, unknown>
    } catch (error) {
      failed.abort(error)
      if (ctx.mcpReq.signal.aborted) throw error
      const reason = error instanceof Error ? error.message : String(error)
      return new Failure(`Fulfilling input required by '${method}' failed: ${reason}`)
    }
  }

  private async _nextContext(
    ctx: ServerContext,
    method: string,
    answers: Record<string, unknown> | undefined,
    state: string | undefined,
  ): Promise<ServerContext> {
    const { inputResponses: _, droppedInputResponseKeys: __, ...mcpReq } = ctx.mcpReq
    const next = withState({ ...ctx, mcpReq: { ...mcpReq, ...(answers && { inputResponses: answers }) } }, state)
    if (state === undefined) return next
    const decoded = await this._host.decodeState(state, next, method)
    return decoded === undefined ? next : withState(next, decoded)
  }
}

/** Returns a context whose `requestState()` returns the value. */
export function withState(ctx: ServerContext, value: unknown): ServerContext {
  return { ...ctx, mcpReq: { ...ctx.mcpReq, requestState: <T>() => value as T | undefined } }
}

class Failure {
  readonly message: string

  constructor(message: string) {
    this.message = message
  }
}

function cannotAsk(key: string, { method }: Question, declared: ClientCapabilities | undefined): string {
  const hint = declared === undefined ? ' (a server without sessions cannot send requests to its client)' : ''
  return `Cannot request input '${key}' (${method}): the client on this 2025-era connection did not declare the required capability${hint}`
}

function pause(signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, pauseMs)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      reject(signal.reason)
    })
  })
}

/** A tool fails with a result, which the model can read. */
function failure(method: string, message: string): Result {
  if (method === 'tools/call') return { content: [{ type: 'text', text: message }], isError: true }
  throw new ProtocolError(ProtocolErrorCode.InternalError, message)
}

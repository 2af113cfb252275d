import { isObject } from 'tenon/internal'
import type { BaseContext, RequestOptions } from '../core/context.ts'
import { SdkError, SdkErrorCode } from '../core/errors.ts'
import { isInputRequiredResult } from '../core/guards.ts'
import type { StandardSchemaV1 } from '../core/standard-schema.ts'
import type { InputRequiredResult, JSONRPCRequest, RequestMeta, Result } from '../core/types.ts'
import type { InputRequired, InterruptedCall } from './protocol.ts'
import { toCancelled } from './to-sdk-error.ts'

/** How a client reacts to results that ask for input. */
export interface InputRequiredOptions {
  /** Whether the handlers of the client answer, and the call is repeated with the answers. Default true. */
  autoFulfill?: boolean
  /** How often a server may ask during one call. Default 10. */
  maxRounds?: number
}

/** How long to wait before a call is repeated that the server did not ask anything for. */
const retryDelayMs = 250

export interface InputProvider {
  readonly maxRounds: number
  /** Handles one question. Undefined if the client has no handler for it. */
  handlerOf(method: string): ((request: JSONRPCRequest, ctx: BaseContext) => Promise<Result>) | undefined
  isQuestion(method: string): boolean
  readonly sessionId: string | undefined
}

/** Answers the questions of a server and repeats the call, until its result is final. */
export async function provideInput(
  provider: InputProvider,
  first: InputRequired,
  call: InterruptedCall,
): Promise<unknown> {
  const { request, options, retry } = call
  const { maxRounds } = provider
  const { method } = request
  let input: { inputRequests: Record<string, unknown>; requestState?: string } = first
  for (let round = 1; round <= maxRounds; round++) {
    options?.onprogress?.({ progress: round, message: `Fulfilling input required by '${method}' (round ${round})` })
    const { inputRequests, requestState } = input
    const hasQuestions = Object.keys(inputRequests).length > 0
    const inputResponses = hasQuestions ? await answerAll(provider, inputRequests, options?.signal) : undefined
    if (!hasQuestions) await pause(retryDelayMs, options?.signal)
    const params = {
      ...request.params,
      ...(inputResponses && { inputResponses }),
      ...(requestState !== undefined && { requestState }),
    }
    const result = await retry(params, retryOptions(call))
    if (!isInputRequiredResult(result)) return result
    input = { ...result, inputRequests: result.inputRequests ?? {} }
  }
  const { inputRequests, requestState } = input
  throw new SdkError(
    SdkErrorCode.InputRequiredRoundsExceeded,
    `Multi-round-trip request '${method}' still required input after ${maxRounds} rounds (inputRequired.maxRounds)`,
    { rounds: maxRounds, lastResult: { inputRequests, ...(requestState !== undefined && { requestState }) } },
  )
}

/** Answers all questions at the same time. When one fails, the others are cancelled. */
async function answerAll(
  provider: InputProvider,
  questions: Record<string, unknown>,
  outer: AbortSignal | undefined,
): Promise<Record<string, unknown>> {
  const failed = new AbortController()
  const signal = outer ? AbortSignal.any([outer, failed.signal]) : failed.signal
  const answers = Object.entries(questions).map(async ([key, question]) => {
    try {
      return [key, await answer(provider, key, question, signal)] as const
    } catch (error) {
      failed.abort(error)
      throw error
    }
  })
  return Object.fromEntries(await Promise.all(answers))
}

async function answer(provider: InputProvider, key: string, question: unknown, signal: AbortSignal): Promise<Result> {
  const { method, params } = (isObject(question) ? question : {}) as { method?: unknown; params?: unknown }
  if (typeof method !== 'string') {
    const what = `Invalid input request '${key}': each entry of inputRequests must be a request with a method`
    throw new SdkError(SdkErrorCode.InvalidResult, what, { key })
  }
  if (!provider.isQuestion(method)) {
    const what = `Invalid input request '${key}': '${method}' is not one of elicitation/create, sampling/createMessage and roots/list`
    throw new SdkError(SdkErrorCode.InvalidResult, what, { key, method })
  }
  const handler = provider.handlerOf(method)
  if (!handler) {
    throw new SdkError(
      SdkErrorCode.CapabilityNotSupported,
      `Cannot fulfil input request '${key}': no handler is registered for '${method}' on this client. Declare its capability and register a handler, or handle input_required results yourself.`,
      { key, method },
    )
  }
  const request = { jsonrpc: '2.0', id: key, method, ...(isObject(params) && { params }) } as JSONRPCRequest
  return handler(request, contextOf(request, signal, provider.sessionId))
}

/** The context of a question that came in a result: there is no request of the server to relate messages to. */
function contextOf(request: JSONRPCRequest, signal: AbortSignal, sessionId: string | undefined): BaseContext {
  const refuse = (member: string) => () => {
    throw new SdkError(
      SdkErrorCode.SendFailed,
      `ctx.mcpReq.${member} is not available while fulfilling an embedded input request: it belongs to no request of the server`,
    )
  }
  return {
    sessionId,
    mcpReq: {
      id: request.id,
      method: request.method,
      _meta: request.params?._meta as RequestMeta | undefined,
      requestState: () => undefined,
      signal,
      send: refuse('send') as BaseContext['mcpReq']['send'],
      notify: refuse('notify') as BaseContext['mcpReq']['notify'],
    },
  }
}

/** Each attempt has its own timeout; the total one is for all of them. */
function retryOptions({ options = {}, startedAt }: InterruptedCall): RequestOptions {
  const { signal, onprogress, resetTimeoutOnProgress, headers, timeout, maxTotalTimeout } = options
  const totalElapsed = Date.now() - startedAt
  if (maxTotalTimeout !== undefined && totalElapsed >= maxTotalTimeout) {
    const data = { maxTotalTimeout, totalElapsed }
    throw new SdkError(SdkErrorCode.RequestTimeout, 'Maximum total timeout exceeded', data)
  }
  return {
    signal,
    ...(onprogress && { onprogress }),
    resetTimeoutOnProgress,
    headers,
    timeout,
    ...(maxTotalTimeout !== undefined && { maxTotalTimeout: maxTotalTimeout - totalElapsed }),
    allowInputRequired: true,
  }
}

function pause(delayMs: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(toCancelled(signal.reason))
    const onAbort = () => {
      clearTimeout(timer)
      reject(toCancelled(signal?.reason))
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort)
      resolve()
    }, delayMs)
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}

/** Returns a schema for a result that may ask for input instead. Use it with `allowInputRequired`. */
export function withInputRequired<S extends StandardSchemaV1>(
  schema: S,
): StandardSchemaV1<unknown, StandardSchemaV1.InferOutput<S> | InputRequiredResult> {
  return {
    '~standard': {
      version: 1,
      vendor: 'modelcontextprotocol',
      validate: (value, options) =>
        isInputRequiredResult(value)
          ? { value }
          : (schema['~standard'].validate(value, options) as StandardSchemaV1.Result<
              StandardSchemaV1.InferOutput<S> | InputRequiredResult
            >),
    },
  }
}

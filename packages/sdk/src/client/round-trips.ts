import { ClosedError, McpError } from '../errors.ts'
import type { Params, ResultObject } from '../jsonrpc/message.ts'
import type { InputRequiredResult } from '../protocol/input.ts'
import { inputRequestMethods, multiRoundTripMethods } from '../protocol/input-check.ts'
import { backoffMs, defaultBackoff } from '../util/backoff.ts'
import { define, isObject, type JsonObject } from '../util/objects.ts'

/** More questions at a time than any user would answer. */
const maxQuestions = 100

export interface RoundTrips {
  readonly method: string
  readonly params: Params
  readonly maxRounds: number
  readonly signal: AbortSignal | undefined
  /** Makes the request once, under a new id. */
  call(params: Params): Promise<ResultObject>
  answer(method: string, params: Params, signal: AbortSignal): Promise<ResultObject>
}

/** Answers what the server asks and calls again, until there is a result (2026-07-28 mrtr, client requirements). */
export async function driveRoundTrips(first: ResultObject, rounds: RoundTrips): Promise<ResultObject> {
  const { method, params, maxRounds } = rounds
  let result = first
  for (let round = 1; result.resultType === 'input_required'; round++) {
    if (round > maxRounds) {
      throw new McpError(
        'invalid-response',
        `${method}: the server asked ${maxRounds} times without coming to a result`,
      )
    }
    const { inputRequests, requestState } = readQuestions(method, result)
    const inputResponses = inputRequests && (await gather(rounds, inputRequests))
    // A server that asks nothing wants to be called again later.
    if (!inputRequests) await pause(backoffMs(defaultBackoff, round - 1), rounds.signal)
    result = await rounds.call({
      ...params,
      ...(inputResponses && { inputResponses }),
      ...(requestState !== undefined && { requestState }),
    })
  }
  return result
}

function readQuestions(
  method: string,
  result: ResultObject,
): { inputRequests: [string, JsonObject][] | undefined; requestState: unknown } {
  const { inputRequests, requestState } = result as ResultObject & InputRequiredResult
  const wrong = (what: string) => new McpError('invalid-response', `${method} was answered with questions, but ${what}`)
  if (!multiRoundTripMethods.has(method)) throw wrong('its revision allows none there')
  if (inputRequests === undefined && requestState === undefined) throw wrong('there are none')
  if (requestState !== undefined && typeof requestState !== 'string') throw wrong('requestState is no string')
  if (inputRequests === undefined) return { inputRequests: undefined, requestState }
  return { inputRequests: readInputRequests(method, inputRequests), requestState }
}

/** What is asked, by key; throws when it is nothing that could be. */
export function readInputRequests(method: string, inputRequests: unknown): [string, JsonObject][] {
  const wrong = (what: string) => new McpError('invalid-response', `${method} was answered with questions, but ${what}`)
  if (!isObject(inputRequests)) throw wrong('inputRequests is no object')
  const entries = Object.entries(inputRequests as JsonObject)
  if (entries.length > maxQuestions) throw wrong(`there are more than ${maxQuestions}`)
  const stranger = entries.find(([, request]) => !isObject(request) || !inputRequestMethods.has(request.method))
  if (stranger) throw wrong(`${JSON.stringify(stranger[0].slice(0, 100))} is none`)
  return entries as [string, JsonObject][]
}

/** All at the same time; when one cannot be answered, the others are taken back. */
async function gather({ signal, answer }: RoundTrips, questions: [string, JsonObject][]): Promise<JsonObject> {
  const failed = new AbortController()
  const until = signal ? AbortSignal.any([signal, failed.signal]) : failed.signal
  const answers: JsonObject = {}
  const all = Promise.all(
    questions.map(async ([key, { method, params }]) => {
      define(answers, key, await answer(method as string, (params as Params | undefined) ?? {}, until))
    }),
  )
  try {
    await unlessAborted(all, signal)
  } catch (error) {
    failed.abort(error)
    throw error
  }
  return answers
}

/** Whoever gives a call up does not wait for a user who thinks. */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work
  return new Promise((resolve, reject) => {
    const stop = () => reject(stopped(signal.reason))
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop)
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
  })
}

function stopped(reason: unknown): McpError {
  return reason instanceof ClosedError ? reason : new McpError('cancelled', 'The call was cancelled', { cause: reason })
}

function pause(delayMs: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, delayMs)
    signal?.addEventListener('abort', done)
  })
}

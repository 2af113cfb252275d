import type { KeyedInputRequest } from '../../era/client.ts'
import { ClosedError, McpError } from '../../errors.ts'
import type { ResultObject } from '../../jsonrpc/message.ts'
import { inputRequestMethods, multiRoundTripMethods } from '../../protocol/input-check.ts'
import { joinSignals, untilAborted } from '../../util/abort.ts'
import { backoffMs, defaultBackoff } from '../../util/backoff.ts'
import { define, isObject, type JsonObject } from '../../util/objects.ts'
import { pause } from '../../util/scheduler.ts'

/** Limits the requests for input in one result. */
const maxInputRequests = 100

export interface RoundTrips<P extends object, R extends ResultObject> {
  readonly method: string
  readonly params: P
  readonly maxRounds: number
  readonly signal: AbortSignal
  /** Sends the request once, with a new id. */
  call(params: P): Promise<R>
  /** Handles one request for input. */
  answer(request: KeyedInputRequest, signal: AbortSignal): Promise<ResultObject>
}

/** Provides the input that the server requests and calls again, until the result is final (2026-07-28 mrtr). */
export async function driveRoundTrips<P extends object, R extends ResultObject>(
  first: R,
  roundTrips: RoundTrips<P, R>,
): Promise<R> {
  const { method, params, maxRounds, signal } = roundTrips
  let result = first
  for (let round = 1; result.resultType === 'input_required'; round++) {
    if (round > maxRounds) {
      throw new McpError(
        'invalid-response',
        `${method}: the server requested input ${maxRounds} times without returning a result (maxRounds)`,
      )
    }
    const { inputRequests, requestState } = readInputRequired(method, result)
    const inputResponses = inputRequests && (await gather(roundTrips, inputRequests))
    // Without requests for input, the server only asks to be called again later.
    if (!inputRequests) await pauseUntil(backoffMs(defaultBackoff, round - 1), signal)
    result = await roundTrips.call({
      ...params,
      ...(inputResponses && { inputResponses }),
      ...(requestState !== undefined && { requestState }),
    })
  }
  return result
}

async function pauseUntil(delayMs: number, stop: AbortSignal): Promise<void> {
  const { signal, release } = joinSignals([stop])
  await pause(delayMs, { signal }).finally(release)
}

function readInputRequired(
  method: string,
  { inputRequests, requestState }: ResultObject,
): { inputRequests: KeyedInputRequest[] | undefined; requestState: string | undefined } {
  if (!multiRoundTripMethods.has(method)) throw invalidInput(method, 'its revision does not allow that')
  if (inputRequests === undefined && requestState === undefined) {
    throw invalidInput(method, 'it has neither inputRequests nor requestState')
  }
  if (requestState !== undefined && typeof requestState !== 'string') {
    throw invalidInput(method, 'requestState is not a string')
  }
  return {
    inputRequests: inputRequests === undefined ? undefined : readInputRequests(method, inputRequests),
    requestState,
  }
}

/** Reads the `inputRequests` of a result; throws if they are invalid. */
export function readInputRequests(method: string, inputRequests: unknown): KeyedInputRequest[] {
  if (!isObject(inputRequests)) throw invalidInput(method, 'inputRequests is not an object')
  const entries = Object.entries(inputRequests)
  if (entries.length > maxInputRequests)
    throw invalidInput(method, `it has more than ${maxInputRequests} inputRequests`)
  return entries.map(([key, request]) => {
    const { method: inputMethod, params } = isObject(request) ? request : {}
    const inputParams = params ?? {}
    if (typeof inputMethod !== 'string' || !inputRequestMethods.has(inputMethod) || !isObject(inputParams)) {
      throw invalidInput(method, `${JSON.stringify(key.slice(0, 100))} is not a request for input`)
    }
    return { key, method: inputMethod, params: inputParams }
  })
}

function invalidInput(method: string, what: string): McpError {
  return new McpError('invalid-response', `The server answered ${method} with an invalid request for input: ${what}`)
}

/** Handles all requests at the same time. When one fails, the others are cancelled. */
async function gather(
  { signal, answer }: Pick<RoundTrips<object, ResultObject>, 'signal' | 'answer'>,
  requests: KeyedInputRequest[],
): Promise<JsonObject> {
  const failed = new AbortController()
  const { signal: stop, release } = joinSignals([signal, failed.signal])
  const responses: JsonObject = {}
  const all = Promise.all(requests.map(async (request) => define(responses, request.key, await answer(request, stop))))
  try {
    // Not `signal`, which may be that of the client: Node warns about many listeners on one signal.
    await unlessAborted(all, stop)
  } catch (error) {
    failed.abort(error)
    throw error
  } finally {
    release()
  }
  return responses
}

/** Rejects as soon as the signal aborts, so that a cancelled call does not wait for the user. */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return untilAborted(work, signal, toCancelled)
}

function toCancelled(reason: unknown): McpError {
  return reason instanceof ClosedError ? reason : new McpError('cancelled', 'The call was cancelled', { cause: reason })
}

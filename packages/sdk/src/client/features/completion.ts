import type { RequestOptions } from '../../jsonrpc/pending.ts'
import type { CompleteParams, CompleteResult } from '../../protocol/completion.ts'
import { clock } from '../../util/clock.ts'
import { scheduler } from '../../util/scheduler.ts'
import type { Client } from '../client.ts'
import { invalidResult, type Requester } from '../requester.ts'

/** Options of `createCompleter`. */
export interface CompleterOptions {
  /** How long to wait for more input before the request is sent, in milliseconds. Default 150. */
  debounceMs?: number | undefined
  /** How long suggestions are cached, in milliseconds. Default 30,000. */
  cacheMs?: number | undefined
  /** Receives errors of requests. Default: errors are ignored, and there are no suggestions. */
  onError?: ((error: unknown) => void) | undefined
}

/** The maximum number of cached results; the oldest is evicted first. */
const maxCached = 200

/** The maximum number of suggestions (2026-07-28 completion). */
const maxValues = 100

const nothing: CompleteResult['completion'] = { values: [] }

/**
 * Creates a function that completes the text of one input field. It debounces calls and caches results. If the server fails or
 * does not support completion, there are no suggestions.
 *
 * @returns A function that resolves with the suggestions, or with undefined if a later call replaced this one.
 *
 * @example
 * const complete = createCompleter(client)
 * input.oninput = async () => {
 *   const found = await complete({ ref: { type: 'ref/prompt', name: 'greet' }, argument: { name: 'city', value: input.value } })
 *   if (found) show(found.values, found.hasMore)
 * }
 */
export function createCompleter(
  client: Pick<Client, 'complete'>,
  { debounceMs = 150, cacheMs = 30_000, onError = () => {} }: CompleterOptions = {},
): (params: CompleteParams) => Promise<CompleteResult['completion'] | undefined> {
  const cached = new Map<string, { completion: CompleteResult['completion']; until: number }>()
  let stopLast = () => {}

  const ask = async (
    params: CompleteParams,
    key: string,
    signal: AbortSignal,
  ): Promise<CompleteResult['completion'] | undefined> => {
    try {
      const completion = toUsable(await client.complete(params, { signal }))
      for (const oldest of cached.keys()) if (cached.size >= maxCached) cached.delete(oldest)
      cached.set(key, { completion, until: clock.now() + cacheMs })
      return signal.aborted ? undefined : completion
    } catch (error) {
      if (signal.aborted) return undefined
      onError(error)
      return nothing
    }
  }

  return (params) => {
    stopLast()
    const key = JSON.stringify([params.ref, params.argument, params.context])
    const found = cached.get(key)
    if (found && clock.now() < found.until) return Promise.resolve(found.completion)
    cached.delete(key)
    return new Promise((resolve) => {
      const stop = new AbortController()
      const timer = scheduler.setTimeout(() => void ask(params, key, stop.signal).then(resolve), debounceMs)
      stopLast = () => {
        scheduler.clearTimeout(timer)
        stop.abort('The user typed more')
        resolve(undefined)
      }
    })
  }
}

/** Removes what is not valid: servers may send anything. */
function toUsable({ values, total, hasMore }: CompleteResult['completion']): CompleteResult['completion'] {
  return {
    values: values.filter((value) => typeof value === 'string').slice(0, maxValues),
    ...(typeof total === 'number' && { total }),
    ...(typeof hasMore === 'boolean' && { hasMore }),
  }
}

/** Asks the server to complete an argument of a prompt or a resource template. */
export async function complete(
  requester: Requester,
  params: CompleteParams,
  options?: RequestOptions,
): Promise<CompleteResult['completion']> {
  if ((await requester.facts()).revision.announcesCompletions) await requester.require('completions')
  const result = await requester.call('completion/complete', params, options)
  if (!Array.isArray(result.completion?.values))
    throw invalidResult('completion/complete', 'it has no completion.values')
  return result.completion
}

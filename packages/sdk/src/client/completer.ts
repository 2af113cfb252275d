import type { RequestOptions } from '../jsonrpc/pending.ts'
import type { CompleteParams, CompleteResult } from '../protocol/completion.ts'
import { clock } from '../util/clock.ts'

type Completion = CompleteResult['completion']

export interface CompleterOptions {
  /** How long to wait for more typing before the server is asked. Default 150. */
  debounceMs?: number | undefined
  /** How long suggestions are cached. Default 30,000. */
  cacheMs?: number | undefined
  /** Receives errors of the server. Default: nothing is suggested, and that is all. */
  onError?: ((error: unknown) => void) | undefined
}

/** The part of a `Client` that is needed. */
interface CompletingClient {
  complete(params: CompleteParams, options?: RequestOptions): Promise<Completion>
}

/** Suggestions kept at a time; the oldest goes first. */
const maxCached = 200

/** More suggestions than a server may send. */
const maxValues = 100

const nothing: Completion = { values: [] }

/**
 * Creates a function that completes what a user types into one input field. Calls in quick succession are debounced, answers are
 * cached, and a server that fails, or does not complete at all, suggests nothing.
 *
 * @returns Resolves with the suggestions, or with undefined when a later call took its place.
 *
 * @example
 * const complete = createCompleter(client)
 * input.oninput = async () => {
 *   const found = await complete({ ref: { type: 'ref/prompt', name: 'greet' }, argument: { name: 'city', value: input.value } })
 *   if (found) show(found.values, found.hasMore)
 * }
 */
export function createCompleter(
  client: CompletingClient,
  { debounceMs = 150, cacheMs = 30_000, onError = () => {} }: CompleterOptions = {},
): (params: CompleteParams) => Promise<Completion | undefined> {
  const cached = new Map<string, { completion: Completion; until: number }>()
  let stopLast = () => {}

  const ask = async (params: CompleteParams, key: string, signal: AbortSignal): Promise<Completion | undefined> => {
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
      const timer = setTimeout(() => void ask(params, key, stop.signal).then(resolve), debounceMs)
      stopLast = () => {
        clearTimeout(timer)
        stop.abort('The user typed on')
        resolve(undefined)
      }
    })
  }
}

/** Servers may send anything. */
function toUsable({ values, total, hasMore }: Completion): Completion {
  return {
    values: values.filter((value) => typeof value === 'string').slice(0, maxValues),
    ...(typeof total === 'number' && { total }),
    ...(typeof hasMore === 'boolean' && { hasMore }),
  }
}

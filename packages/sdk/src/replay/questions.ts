import { ErrorCode, ProtocolError } from '../errors.ts'
import type { InputRequest } from '../protocol/input.ts'
import { warnOnce } from '../util/warn.ts'

/**
 * The part of a question that its answer depends on: what the user was shown, or what the model was given. An answer is
 * reused only for a question with the same text. Of a URL only the host counts, because the rest may contain a token that
 * differs in every run.
 */
export function textOf({ method, params }: InputRequest): string {
  if (method === 'roots/list') return method
  if (method === 'sampling/createMessage') {
    return JSON.stringify([method, params.messages, params.systemPrompt ?? null, params.tools ?? null])
  }
  const shown = params.mode === 'url' ? new URL(params.url).host : params.requestedSchema
  return JSON.stringify([method, params.message, shown])
}

export function tooManyRounds(maxRounds: number): ProtocolError {
  return new ProtocolError(ErrorCode.InternalError, `The request asked the client more than ${maxRounds} times`)
}

/** 2026-07-28 mrtr: an `input_required` result has questions, state or both. */
export function emptyInputRequired(): TypeError {
  return new TypeError('A handler returned an input_required result with neither inputRequests nor requestState')
}

/** Warns about a handler that did not wait for an answer, which then has no effect. */
export function warnUnanswered(method: string, keys: Iterable<string>): void {
  const names = [...keys].map((key) => JSON.stringify(key)).join(', ')
  warnOnce(
    `open ${method}`,
    `A handler of ${method} returned before its question ${names} was answered. Check for a missing await, or for a catch that does not rethrow Suspended.`,
  )
}

/** Assigns a key to each question of one run of a handler: the given one, or one derived from the order of questions. */
export class QuestionKeys {
  readonly #used = new Set<string>()
  readonly #counts = new Map<string, number>()

  /** Throws if the key is taken, because the answers of two questions could not be told apart. */
  next(method: string, given: string | undefined): string {
    const key = given ?? this.#fromOrder(method)
    if (this.#used.has(key)) {
      throw new TypeError(`Two questions have the key ${JSON.stringify(key)}. Pass a different \`key\` to each.`)
    }
    this.#used.add(key)
    return key
  }

  #fromOrder(method: string): string {
    const count = (this.#counts.get(method) ?? 0) + 1
    this.#counts.set(method, count)
    return `${method.slice(0, method.indexOf('/'))}#${count}`
  }
}

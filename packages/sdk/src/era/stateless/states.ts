import { ProtocolError, RpcCode } from '../../errors.ts'
import { clock } from '../../util/clock.ts'
import { isObject, omit } from '../../util/objects.ts'
import { warnOnce } from '../../util/warn.ts'
import { principalOf } from '../access.ts'
import type { Call } from '../call.ts'
import type { Definition } from '../server.ts'
import type { JournalState } from './journal.ts'

export interface OpenedState {
  journal: JournalState
  /** What a handler that returns its questions by hand wants to have back. */
  byHand: unknown
  /** What it asked by hand, and the answers to that when it goes on to ask otherwise. */
  askedByHand?: string[] | undefined
  responses?: Record<string, unknown> | undefined
}

interface Sealed extends OpenedState {
  id: string
  expires: number
}

/**
 * The `requestState` that clients carry: sealed, and good only for the same request of the same caller, for a while
 * (2026-07-28 mrtr, server requirements).
 */
export class States {
  readonly #definition: Pick<Definition, 'info' | 'sealer' | 'questions'>

  constructor(definition: Pick<Definition, 'info' | 'sealer' | 'questions'>) {
    this.#definition = definition
  }

  get maxRounds(): number {
    return this.#definition.questions.maxRounds
  }

  async seal(state: OpenedState, call: Call): Promise<string> {
    const { sealer, questions } = this.#definition
    const sealed: Sealed = { ...state, id: crypto.randomUUID(), expires: clock.now() + questions.stateTtlMs }
    // Looked at before it is sealed, which takes its time where an answer is large.
    const length = JSON.stringify(sealed).length
    const text = length <= questions.maxStateBytes ? await sealer.seal(sealed, this.#purpose(call)) : undefined
    if (text !== undefined && text.length <= questions.maxStateBytes) return text
    throw new ProtocolError(
      RpcCode.InternalError,
      `The answers so far and what ctx.once keeps take ${length} bytes, sealed a third more; a client carries at most ${questions.maxStateBytes}`,
    )
  }

  async open(text: string, call: Call): Promise<OpenedState> {
    const { sealer, questions } = this.#definition
    const sealed =
      text.length <= questions.maxStateBytes
        ? ((await sealer.open(text, this.#purpose(call))) as Sealed | undefined)
        : undefined
    if (!sealed) {
      warnOnce(
        'foreign-state',
        'A requestState could not be opened: it was changed, it belongs to another request or caller, or processes that should share a stateKey do not.',
      )
      throw refused('was not given out for this request')
    }
    const leftMs = sealed.expires - clock.now()
    if (leftMs <= 0) throw refused('has expired')
    if (questions.usedStates && !(await questions.usedStates.claim(sealed.id, leftMs))) throw refused('was used before')
    return sealed
  }

  /** What the seal is bound to; a state opens for nothing else. */
  #purpose(call: Call): string {
    const { request } = call
    const salient = omit(request.params ?? {}, ['_meta', 'inputResponses', 'requestState'])
    const bound = [this.#definition.info.name, principalOf(call) ?? null, request.method, sorted(salient)]
    return `requestState ${JSON.stringify(bound)}`
  }
}

function refused(why: string): ProtocolError {
  return new ProtocolError(
    RpcCode.InvalidParams,
    `params.requestState ${why}; call again without it and without inputResponses`,
  )
}

/** The order of members has no meaning, and somebody on the way may change it. An object stays apart from any list. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  // JSON would write these as null.
  if (typeof value === 'number' && !Number.isFinite(value)) return { number: String(value) }
  if (!isObject(value)) return value
  const members = Object.keys(value)
    .sort()
    .map((key) => [key, sorted(value[key])])
  return { members }
}

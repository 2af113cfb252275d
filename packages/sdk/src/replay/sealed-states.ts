import { ErrorCode, ProtocolError } from '../errors.ts'
import type { RpcRequest } from '../jsonrpc/message.ts'
import type { Account } from '../util/account.ts'
import { clock } from '../util/clock.ts'
import { isObject, omit } from '../util/objects.ts'
import { random } from '../util/random.ts'
import type { Sealer } from '../util/sealer.ts'
import { warnOnce } from '../util/warn.ts'
import type { JournalState } from './journal.ts'
import type { StateClaims, StateId } from './used-states.ts'

/** The state that one run of a handler passes to the next. */
export interface ReplayState {
  journal: JournalState
  /** For handlers that return `inputRequired()`: their own `requestState`. */
  handlerState: unknown
  /** The keys of the questions that it returned. */
  manualKeys?: string[] | undefined
  /** The answers to those, if the handler then asks another question with `ctx`. */
  manualResponses?: Record<string, unknown> | undefined
}

export interface StateLimits {
  /** How many round trips one request may take. Questions that are open at the same time count once. */
  readonly maxRounds: number
  /** How long a client may take to come back with answers. */
  readonly stateTtlMs: number
  /** The longest `requestState` that is sent to a client. */
  readonly maxStateBytes: number
  /** Allows each state once. Undefined: a state can be used until it expires. */
  readonly claims: StateClaims | undefined
  /** Whether `claims` covers requests that may be repeated without harm, too. */
  readonly claimsAll: boolean
}

export interface SealedStatesOptions<C> {
  readonly serverName: string
  readonly sealer: Sealer
  readonly limits: StateLimits
  /** Identifies the authenticated caller; undefined for anonymous callers. */
  principalOf(call: C): string | undefined
  /** Who a used state is counted for. */
  accountOf(call: C): Account | undefined
  /** Whether a request can be repeated without a second effect. */
  isRepeatable(request: RpcRequest): boolean
}

interface Sealed extends ReplayState, StateId {}

/**
 * The `requestState` that clients carry between two runs of a handler. It is encrypted, expires, and is bound to the request
 * and its caller (2026-07-28 mrtr, server requirements).
 */
export class SealedStates<C extends { readonly request: RpcRequest }> {
  readonly #options: SealedStatesOptions<C>

  constructor(options: SealedStatesOptions<C>) {
    this.#options = options
  }

  get maxRounds(): number {
    return this.#options.limits.maxRounds
  }

  async save(state: ReplayState, call: C): Promise<string> {
    const { sealer, limits } = this.#options
    const sealed: Sealed = { ...state, id: random.uuid(), expires: clock.now() + limits.stateTtlMs }
    // Checked first because it is slow to encrypt a state that is much too long.
    const length = JSON.stringify(sealed).length
    const text = length <= limits.maxStateBytes ? await sealer.seal(sealed, this.#purpose(call)) : undefined
    if (text !== undefined && text.length <= limits.maxStateBytes) return text
    throw new ProtocolError(
      ErrorCode.InternalError,
      `The state of the request is too long: the answers and the results of ctx.once take ${length} bytes, and a third more when encrypted. The limit is ${limits.maxStateBytes}.`,
    )
  }

  async load(text: string, call: C): Promise<ReplayState> {
    const { sealer, limits } = this.#options
    const sealed =
      text.length <= limits.maxStateBytes
        ? ((await sealer.open(text, this.#purpose(call))) as Sealed | undefined)
        : undefined
    if (!sealed) {
      warnOnce(
        'foreign-state',
        'A requestState could not be decrypted. It was modified, it belongs to another request or caller, or this process does not have the same stateKey as the one that created it.',
      )
      throw invalidState('was not issued for this request')
    }
    if (sealed.expires <= clock.now()) throw invalidState('has expired')
    await this.#claim(sealed, call)
    return sealed
  }

  release(state: ReplayState): void {
    this.#options.limits.claims?.release?.(state as Sealed)
  }

  /** Before the handler runs: whether an earlier run had its effect is unknown until it ends, and after a lost response. */
  async #claim(sealed: Sealed, call: C): Promise<void> {
    const { limits, accountOf, isRepeatable } = this.#options
    if (!limits.claims || (!limits.claimsAll && isRepeatable(call.request))) return
    const claim = await limits.claims.claim(sealed, accountOf(call))
    if (claim === 'expired') throw invalidState('has expired')
    if (claim === 'used') throw usedState()
  }

  /** A state can be decrypted only with the purpose it was encrypted for. */
  #purpose(call: C): string {
    const { serverName, principalOf } = this.#options
    const { method, params = {} } = call.request
    const bound = omit(params, ['_meta', 'inputResponses', 'requestState'])
    return `requestState ${JSON.stringify([serverName, principalOf(call) ?? null, method, sorted(bound)])}`
  }
}

function invalidState(reason: string): ProtocolError {
  return new ProtocolError(
    ErrorCode.InvalidParams,
    `params.requestState ${reason}. Repeat the request without requestState and inputResponses.`,
  )
}

/** The client may have lost the response to the first request, so it must not just start again. */
function usedState(): ProtocolError {
  return new ProtocolError(
    ErrorCode.InvalidParams,
    'params.requestState was already used: the request with it runs or has ended, and may have had an effect. Check that before you repeat the request without requestState and inputResponses.',
  )
}

/** A canonical form, because a proxy may reorder members. Objects are wrapped, so that none equals an array. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  // JSON.stringify would write null for these.
  if (typeof value === 'number' && !Number.isFinite(value)) return { number: String(value) }
  if (!isObject(value)) return value
  const members = Object.keys(value)
    .sort()
    .map((key) => [key, sorted(value[key])])
  return { members }
}

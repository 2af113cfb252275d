import type { Account } from '../util/account.ts'
import { clock } from '../util/clock.ts'

/** Records which states were used, for as long as they are valid. Share one between processes to allow each state once. */
export interface UsedStates {
  /** Returns true on the first call with this id, and false on later ones. */
  claim(id: string, ttlMs: number): boolean | Promise<boolean>
}

/** A state that a client sent back. */
export interface StateId {
  readonly id: string
  readonly expires: number
}

/** Lets each state be used once. */
export interface StateClaims {
  /** @returns Whether the state may be used now, and otherwise why not. */
  claim(state: StateId, account: Account | undefined): Claim | Promise<Claim>
  /** Allows the state once more. Undefined: a state cannot be given back. */
  release?(state: StateId): void
}

export type Claim = 'granted' | 'used' | 'expired'

/** Claims states in a store that processes share. */
export class StoredClaims implements StateClaims {
  readonly #store: UsedStates

  constructor(store: UsedStates) {
    this.#store = store
  }

  async claim({ id, expires }: StateId): Promise<Claim> {
    return (await this.#store.claim(id, expires - clock.now())) ? 'granted' : 'used'
  }
}

interface UsedState {
  readonly expires: number
  readonly account: string
}

/** Far more than a process issues during the lifetime of a state. */
const maxStates = 100_000
/** An account with fewer states than this part of all is not the one to blame if there are too many. */
const heavyShare = 0.01
/** How many accounts have a limit of their own before one limit for everyone replaces them. */
const maxLimits = 100

/**
 * Claims states in the memory of this process. If there are too many, the older half of those of the heaviest account is
 * replaced by a limit: all its states up to that expiry count as expired. So a used state is never forgotten, no caller can
 * make this refuse the states of others, and a caller with very many states only gets less time for each.
 */
export class MemoryClaims implements StateClaims {
  readonly #max: number
  /** By id. In order of use, which is roughly the order of expiry. */
  readonly #used = new Map<string, UsedState>()
  /** The expiry up to which all states of an account are refused. */
  readonly #limits = new Map<string, number>()
  #limitOfAll = 0

  constructor(max = maxStates) {
    this.#max = max
  }

  /** The entries in memory. */
  get size(): number {
    return this.#used.size + this.#limits.size
  }

  claim({ id, expires }: StateId, caller: Account | undefined): Claim {
    const account = nameOf(caller)
    this.#deleteExpired()
    if (this.#used.has(id)) return 'used'
    if (expires <= Math.max(this.#limits.get(account) ?? 0, this.#limitOfAll)) return 'expired'
    if (this.#used.size >= this.#max) this.#makeRoom()
    this.#used.set(id, { expires, account })
    return 'granted'
  }

  release({ id }: StateId): void {
    this.#used.delete(id)
  }

  #deleteExpired(): void {
    const now = clock.now()
    for (const [id, { expires }] of this.#used) {
      if (expires > now) return
      this.#used.delete(id)
    }
  }

  #makeRoom(): void {
    const now = clock.now()
    for (const [account, expires] of this.#limits) if (expires <= now) this.#limits.delete(account)
    const { account, count } = this.#heaviest()
    const isHeavy = count >= this.#max * heavyShare
    if (isHeavy && this.#limits.size < maxLimits) {
      const forgotten = this.#forget(count / 2, (state) => state.account === account)
      this.#limits.set(account, Math.max(forgotten, this.#limits.get(account) ?? 0))
      return
    }
    const forgotten = this.#forget(this.#used.size / 2, () => true)
    this.#limitOfAll = Math.max(forgotten, this.#limitOfAll, ...this.#limits.values())
    this.#limits.clear()
  }

  #heaviest(): { account: string; count: number } {
    const counts = new Map<string, number>()
    let heaviest = { account: '', count: 0 }
    for (const { account } of this.#used.values()) {
      const count = (counts.get(account) ?? 0) + 1
      counts.set(account, count)
      if (count > heaviest.count) heaviest = { account, count }
    }
    return heaviest
  }

  /**
   * Deletes the states that were used first.
   * @returns The latest expiry among them.
   */
  #forget(atLeast: number, isMeant: (state: UsedState) => boolean): number {
    let left = atLeast
    let latest = 0
    for (const [id, state] of this.#used) {
      if (left <= 0) break
      if (!isMeant(state)) continue
      this.#used.delete(id)
      latest = Math.max(latest, state.expires)
      left--
    }
    return latest
  }
}

/** Callers without a principal and an address share an account. */
function nameOf(account: Account | undefined): string {
  if (!account) return ''
  return `${account.isAddress ? 'address' : 'user'} ${account.name}`
}

import { type Account, AccountCounter } from '../../util/account.ts'
import { busy } from './busy.ts'

/**
 * How many places one user or address may have for each one that is free. A single one gets three quarters of all; the more there
 * are, the smaller the share of each, and some places are always left for the next.
 */
const perFree = 3

/** The places for callers in use, shared between users and the addresses of anonymous callers. */
export class Places {
  readonly #max: number
  readonly #taken = new AccountCounter()
  #count = 0

  constructor(max: number) {
    this.#max = max
  }

  /** Throws if there is no place for this account. Without an account only the number of all places counts. */
  check(account: Account | undefined): void {
    const free = this.#max - this.#count
    if (free < 1) throw busy(`The gateway serves ${this.#max} callers (maxCallers)`)
    if (account === undefined || this.#taken.of(account) < perFree * free) return
    const whose = account.isAddress ? 'address' : 'user'
    throw busy(`This ${whose} has ${this.#taken.of(account)} of the ${this.#max} places for callers (maxCallers)`)
  }

  /**
   * Takes a place, or throws if there is none.
   * @returns A function that gives it back.
   */
  take(account: Account | undefined): () => void {
    this.check(account)
    this.#add(account, 1)
    return () => this.#add(account, -1)
  }

  #add(account: Account | undefined, by: 1 | -1): void {
    this.#count += by
    this.#taken.add(account, by)
  }
}

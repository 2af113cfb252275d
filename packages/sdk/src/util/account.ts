import { Counter } from './counter.ts'

/** The account that limits count a call for: its principal, or the address of an anonymous caller. */
export interface Account {
  readonly name: string
  readonly isAddress: boolean
}

interface Caller {
  readonly principal?: string | undefined
  readonly peer?: string | undefined
}

/** Returns undefined if neither is known. Then only the limits for all callers apply. */
export function accountOf({ principal, peer }: Caller): Account | undefined {
  if (principal !== undefined) return { name: principal, isAddress: false }
  return peer === undefined ? undefined : { name: networkOf(peer), isAddress: true }
}

/** Counts by account. Principals and addresses are separate. */
export class AccountCounter {
  readonly #principals = new Counter()
  readonly #addresses = new Counter()

  of(account: Account | undefined): number {
    return this.#tallyOf(account).of(account?.name)
  }

  add(account: Account | undefined, by: 1 | -1): void {
    this.#tallyOf(account).add(account?.name, by)
  }

  #tallyOf(account: Account | undefined): Counter {
    return account?.isAddress ? this.#addresses : this.#principals
  }
}

/**
 * Returns the name under which limits count an address. A user of IPv6 has at least a /64 of addresses, so these count
 * as one. An address may come from a header, so the name is bounded.
 */
export function networkOf(peer: string): string {
  const address = peer.slice(0, 100)
  if (!address.includes(':')) return address
  const mapped = /^::ffff:(\d+(?:\.\d+){3})$/i.exec(address)?.[1]
  if (mapped !== undefined) return mapped
  const [head = '', tail] = address.toLowerCase().split('%')[0]!.split('::')
  const before = head === '' ? [] : head.split(':')
  const after = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - before.length - after.length)
  const groups = [...before, ...Array<string>(zeros).fill('0'), ...after]
  return groups.slice(0, 4).map(withoutZeros).join(':')
}

/**
 * Returns the network with the most bytes; there must be at least one. Limits evict from it first, so that other
 * networks are not affected.
 */
export function heaviestNetwork(
  entries: Iterable<{ readonly network: string | undefined; readonly bytes: number }>,
): string | undefined {
  const sums = new Map<string | undefined, number>()
  for (const { network, bytes } of entries) sums.set(network, (sums.get(network) ?? 0) + bytes)
  return [...sums].reduce((most, each) => (each[1] > most[1] ? each : most))[0]
}

function withoutZeros(group: string): string {
  return group.replace(/^0+(?=.)/, '')
}

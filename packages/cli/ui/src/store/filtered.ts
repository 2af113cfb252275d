import type { BoundedList } from './bounded-list.ts'

/**
 * The items of a growing list that pass a filter, computed piece by piece: `advance` looks at items that it has not seen
 * until its time is up. New items and a new filter are the same work, so a page with 100,000 messages stays responsive.
 */
export class Filtered<Value> {
  readonly #source: BoundedList<Value>
  readonly #isWanted: (value: Value) => boolean
  #next = 0
  #items: { readonly index: number; readonly value: Value }[] = []

  constructor(source: BoundedList<Value>, isWanted: (value: Value) => boolean = () => true) {
    this.#source = source
    this.#isWanted = isWanted
  }

  get length(): number {
    return this.#items.length
  }

  at(index: number): Value | undefined {
    return this.#items[index]?.value
  }

  indexOf(value: Value): number {
    return this.#items.findIndex((item) => item.value === value)
  }

  /** Whether every item was looked at. */
  get isComplete(): boolean {
    return this.#next >= this.#source.end
  }

  /** Looks at items until `now()` reaches the deadline. Returns whether anything changed. */
  advance(deadline: number, now: () => number = () => performance.now()): boolean {
    let hasChanged = this.#forgetDropped()
    const { end } = this.#source
    while (this.#next < end) {
      const value = this.#source.at(this.#next)
      if (value !== undefined && this.#isWanted(value)) {
        this.#items.push({ index: this.#next, value })
        hasChanged = true
      }
      this.#next++
      if (this.#next % 64 === 0 && now() >= deadline) break
    }
    return hasChanged
  }

  #forgetDropped(): boolean {
    const { dropped } = this.#source
    this.#next = Math.max(this.#next, dropped)
    const first = this.#items[0]
    if (first === undefined || first.index >= dropped) return false
    const start = this.#items.findIndex(({ index }) => index >= dropped)
    this.#items = start === -1 ? [] : this.#items.slice(start)
    return true
  }
}

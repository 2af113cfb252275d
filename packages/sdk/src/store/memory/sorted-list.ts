/** A sorted list in which appending at the end, the common case, is cheap. */
export class SortedList<T> {
  readonly #compare: (one: T, other: T) => number
  readonly #items: T[] = []

  constructor(compare: (one: T, other: T) => number) {
    this.#compare = compare
  }

  get size(): number {
    return this.#items.length
  }

  get first(): T | undefined {
    return this.#items[0]
  }

  add(item: T): void {
    this.#items.splice(this.#indexAfter(item), 0, item)
  }

  delete(item: T): void {
    const index = this.#indexAfter(item) - 1
    if (index >= 0 && this.#compare(this.#items[index]!, item) === 0) this.#items.splice(index, 1)
  }

  /** Returns up to `limit` items after the given one, which need not be in the list, or from the start without one. */
  after(item: T | undefined, limit: number): T[] {
    const start = item === undefined ? 0 : this.#indexAfter(item)
    return this.#items.slice(start, start + limit)
  }

  /** Returns the index of the first item that is greater. */
  #indexAfter(item: T): number {
    let low = 0
    let high = this.#items.length
    // New items are usually the greatest.
    if (high > 0 && this.#compare(this.#items[high - 1]!, item) <= 0) return high
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#compare(this.#items[middle]!, item) <= 0) low = middle + 1
      else high = middle
    }
    return low
  }
}

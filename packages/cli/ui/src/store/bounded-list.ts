/**
 * A list that forgets its oldest items when it becomes too long. It drops a fifth at a time, so that adding stays cheap.
 */
export class BoundedList<Value> {
  readonly #max: number
  #items: Value[] = []
  #dropped = 0

  constructor(max: number) {
    this.#max = max
  }

  push(item: Value): void {
    this.#items.push(item)
    if (this.#items.length <= this.#max) return
    const count = Math.ceil(this.#max / 5)
    this.#items = this.#items.slice(count)
    this.#dropped += count
  }

  get items(): readonly Value[] {
    return this.#items
  }

  /** How many items were dropped. The first one that is left has this index, counted from the beginning. */
  get dropped(): number {
    return this.#dropped
  }

  /** The number of items that were ever added. */
  get end(): number {
    return this.#dropped + this.#items.length
  }

  /** The item with an index counted from the beginning; undefined if it was dropped. */
  at(index: number): Value | undefined {
    return this.#items[index - this.#dropped]
  }

  clear(): void {
    this.#dropped = this.end
    this.#items = []
  }
}

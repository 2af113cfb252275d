/** An item of a `DenseSet`, which stores its index there. */
export interface DenseSetItem {
  place: number
}

/**
 * A set for items that are added and deleted all the time. Under this load a `Set` leaves a chain of outgrown tables
 * behind, which keeps garbage alive until the next full collection. A `DenseSet` keeps one array.
 */
export class DenseSet<T extends DenseSetItem> {
  readonly #items: T[] = []

  get size(): number {
    return this.#items.length
  }

  add(item: T): void {
    item.place = this.#items.push(item) - 1
  }

  delete(item: T): void {
    const items = this.#items
    if (items[item.place] !== item) return
    const last = items.pop()!
    if (last === item) return
    items[item.place] = last
    last.place = item.place
  }

  /** Returns a copy, so that adding and deleting does not affect an iteration over it. */
  all(): T[] {
    return [...this.#items]
  }
}

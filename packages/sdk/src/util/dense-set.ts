/** Something that can be in a bag: it remembers its place there. */
export interface DenseSetItem {
  place: number
}

/**
 * What comes and goes all the time. A `Set` with as much coming and going leaves a chain of outgrown tables behind, which
 * keeps garbage alive until the next full collection; this keeps one array.
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

  /** As they are now: what comes or goes meanwhile does not disturb whoever walks through them. */
  all(): T[] {
    return [...this.#items]
  }
}

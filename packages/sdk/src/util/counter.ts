/** Counts by name. A count of zero takes no memory. An undefined name is not counted. */
export class Counter {
  readonly #counts = new Map<string, number>()

  of(name: string | undefined): number {
    return name === undefined ? 0 : (this.#counts.get(name) ?? 0)
  }

  add(name: string | undefined, by: 1 | -1): void {
    if (name === undefined) return
    const count = this.of(name) + by
    if (count > 0) this.#counts.set(name, count)
    else this.#counts.delete(name)
  }
}

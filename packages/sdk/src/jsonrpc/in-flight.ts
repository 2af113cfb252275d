import type { Exchange } from './exchange.ts'

/** The requests of a peer that are in progress, by id. Most peers have one at a time, which needs no table. */
export class InFlight {
  #one: Exchange | undefined
  #others: Map<unknown, Exchange> | undefined

  get size(): number {
    return (this.#one ? 1 : 0) + (this.#others?.size ?? 0)
  }

  /** @param id As a peer sent it, so it can be anything. */
  get(id: unknown): Exchange | undefined {
    return this.#one && this.#one.request.id === id ? this.#one : this.#others?.get(id)
  }

  add(exchange: Exchange): void {
    if (!this.#one) {
      this.#one = exchange
      return
    }
    this.#others ??= new Map()
    this.#others.set(exchange.request.id, exchange)
  }

  delete(exchange: Exchange): void {
    if (this.#one === exchange) this.#one = undefined
    else this.#others?.delete(exchange.request.id)
  }

  all(): Exchange[] {
    return [...(this.#one ? [this.#one] : []), ...(this.#others?.values() ?? [])]
  }
}

/** Something that remembers texts. */
export interface MemoryUser {
  /** Bytes that it uses now. */
  readonly bytes: number
  /** Forgets its oldest texts. Returns false if it has none. */
  dropOldest(): boolean
}

/**
 * One budget for the texts that all sessions of a host remember. If it is exceeded, the session that uses most loses its oldest
 * texts, so that no caller can make the host forget those of others.
 */
export class FlowMemory {
  readonly #maxBytes: number
  readonly #users = new Map<MemoryUser, number>()
  #bytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Call it after a user may have grown or shrunk. */
  update(user: MemoryUser): void {
    this.#set(user, user.bytes)
    if (this.#bytes > this.#maxBytes) this.#makeRoom()
  }

  remove(user: MemoryUser): void {
    this.#set(user, 0)
  }

  #set(user: MemoryUser, bytes: number): void {
    this.#bytes += bytes - (this.#users.get(user) ?? 0)
    if (bytes === 0) this.#users.delete(user)
    else this.#users.set(user, bytes)
  }

  /** More than necessary, so that it does not happen at every call. */
  #makeRoom(): void {
    const wanted = this.#maxBytes * 0.875
    while (this.#bytes > wanted) {
      const [largest] = [...this.#users].reduce((a, b) => (b[1] > a[1] ? b : a))
      if (!largest.dropOldest()) this.remove(largest)
      else this.#set(largest, largest.bytes)
    }
  }
}

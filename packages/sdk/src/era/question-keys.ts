/** Names the questions of one run of a handler: as it says, or by their order. */
export class QuestionKeys {
  readonly #used = new Set<string>()
  readonly #counts = new Map<string, number>()

  /** Throws on a key that was used: the answers of two questions could not be told apart. */
  next(method: string, given: string | undefined): string {
    const key = given ?? this.#byOrder(method)
    if (this.#used.has(key)) throw new TypeError(`Two questions have the key ${JSON.stringify(key)}; give each its own`)
    this.#used.add(key)
    return key
  }

  #byOrder(method: string): string {
    const count = (this.#counts.get(method) ?? 0) + 1
    this.#counts.set(method, count)
    return `${method.slice(0, method.indexOf('/'))}#${count}`
  }
}

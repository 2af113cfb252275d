/** Assigns a key to each question of one run of a handler: the given one, or one derived from the order of questions. */
export class QuestionKeys {
  readonly #used = new Set<string>()
  readonly #counts = new Map<string, number>()

  /** Throws if the key is taken, because the answers of two questions could not be told apart. */
  next(method: string, given: string | undefined): string {
    const key = given ?? this.#fromOrder(method)
    if (this.#used.has(key)) {
      throw new TypeError(`Two questions have the key ${JSON.stringify(key)}. Pass a different \`key\` to each.`)
    }
    this.#used.add(key)
    return key
  }

  #fromOrder(method: string): string {
    const count = (this.#counts.get(method) ?? 0) + 1
    this.#counts.set(method, count)
    return `${method.slice(0, method.indexOf('/'))}#${count}`
  }
}

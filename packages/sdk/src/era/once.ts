/** Work by key that was done, as the JSON text of what it gave; an empty text for nothing. */
export class OnceOnly {
  readonly #done: Map<string, string>
  readonly #running = new Map<string, Promise<string>>()
  /** Keeps what was done, where more than this object must know of it; the work is done when this is. */
  note: ((key: string, value: string) => Promise<void>) | undefined

  constructor(done: Iterable<[string, string]> = []) {
    this.#done = new Map(done)
  }

  /** Gives the same whether the work was done now or before: what JSON keeps of its value. */
  async do<T>(key: string, work: () => T | Promise<T>): Promise<T> {
    const text = this.#done.get(key) ?? (await this.#start(key, work))
    return (text === '' ? undefined : JSON.parse(text)) as T
  }

  has(key: string): boolean {
    return this.#done.has(key) || this.#running.has(key)
  }

  /** Waits for work that is under way, so that none is forgotten; what fails is not done. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#running.values())
  }

  entries(): [string, string][] {
    return [...this.#done]
  }

  #start(key: string, work: () => unknown): Promise<string> {
    const running = this.#running.get(key) ?? this.#finish(key, work)
    this.#running.set(key, running)
    return running
  }

  async #finish(key: string, work: () => unknown): Promise<string> {
    try {
      // Also what fails at once fails later, when others can know of it.
      const text = toText(key, await (async () => work())())
      await this.note?.(key, text)
      this.#done.set(key, text)
      return text
    } finally {
      this.#running.delete(key)
    }
  }
}

function toText(key: string, value: unknown): string {
  if (value === undefined) return ''
  const where = `ctx.once(${JSON.stringify(key)}): what the work gives must be JSON`
  let text: string | undefined
  try {
    text = JSON.stringify(value)
  } catch (cause) {
    throw new TypeError(`${where}: ${(cause as Error).message}`, { cause })
  }
  if (text !== undefined) return text
  throw new TypeError(`${where}, not a ${typeof value}`)
}

/** Results of work that runs once per key, as JSON text. An empty text stands for undefined. */
export class OnceResults {
  readonly #results: Map<string, string>
  readonly #running = new Map<string, Promise<string>>()
  /** Persists a result. If set, work counts as done only after this resolves. */
  save: SaveOnce | undefined

  constructor(results: Iterable<[string, string]> = []) {
    this.#results = new Map(results)
  }

  /** Returns a JSON copy of the value, so that the first run sees the same as every later one. */
  async run<T>(key: string, work: () => T | Promise<T>): Promise<T> {
    const text = this.#results.get(key) ?? (await this.#start(key, work))
    return (text === '' ? undefined : JSON.parse(text)) as T
  }

  has(key: string): boolean {
    return this.#results.has(key) || this.#running.has(key)
  }

  /** Waits for work in progress, so that its result is not lost. Failed work may run again. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#running.values())
  }

  entries(): [string, string][] {
    return [...this.#results]
  }

  #start(key: string, work: () => unknown): Promise<string> {
    const running = this.#running.get(key) ?? this.#finish(key, work)
    this.#running.set(key, running)
    return running
  }

  async #finish(key: string, work: () => unknown): Promise<string> {
    try {
      // The wrapper turns a synchronous throw into a rejection, after `#running` has the entry.
      const text = toText(key, await (async () => work())())
      await this.save?.(key, text)
      this.#results.set(key, text)
      return text
    } finally {
      this.#running.delete(key)
    }
  }
}

/** Persists the result of `ctx.once` under its key, as JSON text. */
export type SaveOnce = (key: string, value: string) => Promise<void>

function toText(key: string, value: unknown): string {
  if (value === undefined) return ''
  const where = `ctx.once(${JSON.stringify(key)}): the work must return a JSON value`
  let text: string | undefined
  try {
    text = JSON.stringify(value)
  } catch (cause) {
    throw new TypeError(`${where}: ${(cause as Error).message}`, { cause })
  }
  if (text !== undefined) return text
  throw new TypeError(`${where}, not a ${typeof value}`)
}

import { McpError } from '../../errors.ts'

export interface Sink {
  write(text: string, callback?: (error?: Error | null) => void): boolean
  once(event: 'drain', listener: () => void): unknown
}

/**
 * Writes lines to a pipe: everything that is sent in one turn of the event loop leaves in one write, and what a slow
 * reader leaves unread is bounded.
 */
export class LineWriter {
  readonly #sink: Sink
  readonly #maxQueuedBytes: number
  readonly #onBlocked: (blocked: boolean) => void
  #text = ''
  #scheduled = false
  #blocked = false
  #queued = 0
  #idle: (() => void)[] = []

  /** @param onBlocked The reader does not keep up, or does again: the time to stop, or to go on, taking in work. */
  constructor(sink: Sink, maxQueuedBytes: number, onBlocked: (blocked: boolean) => void) {
    this.#sink = sink
    this.#maxQueuedBytes = maxQueuedBytes
    this.#onBlocked = onBlocked
  }

  write(line: string): void {
    if (this.#queued + line.length > this.#maxQueuedBytes) {
      throw new McpError('overloaded', `The peer does not read: ${this.#queued} characters wait already`)
    }
    this.#queued += line.length + 1
    this.#text += `${line}\n`
    if (this.#scheduled) return
    this.#scheduled = true
    // Handlers that finish at once do so in microtasks; a tick scheduled from a microtask comes after all of them.
    queueMicrotask(() => process.nextTick(() => this.#flush()))
  }

  /** Resolves when everything was handed to the operating system, or when the time is up. */
  flushed(timeoutMs: number): Promise<void> {
    this.#flush()
    if (this.#queued === 0) return Promise.resolve()
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, timeoutMs)
      this.#idle.push(() => {
        clearTimeout(timer)
        resolve()
      })
    })
  }

  #flush(): void {
    this.#scheduled = false
    if (this.#text === '') return
    const text = this.#text
    this.#text = ''
    const hasRoom = this.#sink.write(text, () => this.#written(text.length))
    if (hasRoom || this.#blocked) return
    this.#blocked = true
    this.#onBlocked(true)
    this.#sink.once('drain', () => {
      this.#blocked = false
      this.#onBlocked(false)
    })
  }

  #written(length: number): void {
    this.#queued -= length
    if (this.#queued > 0) return
    for (const resolve of this.#idle.splice(0)) resolve()
  }
}

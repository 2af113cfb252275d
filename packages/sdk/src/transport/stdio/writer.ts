import { McpError } from '../../errors.ts'

/** What we need of a writable stream. */
export interface Sink {
  write(text: string, callback?: () => void): boolean
  once(event: 'drain', listener: () => void): unknown
  /** Bytes that wait inside the stream. */
  readonly writableLength: number
}

/**
 * Writes lines to a pipe. The first line of a turn of the event loop leaves at once, so that the other process can begin
 * with it; the others of that turn leave together, in one write. What a slow reader leaves unread is bounded.
 */
export class LineWriter {
  readonly #sink: Sink
  readonly #maxQueuedBytes: number
  readonly #onBlocked: (blocked: boolean) => void
  #text = ''
  /** A line of this turn has left already. */
  #isTurnOpen = false
  #blocked = false

  /** @param onBlocked The reader does not keep up, or does again: the time to stop, or to go on, taking in work. */
  constructor(sink: Sink, maxQueuedBytes: number, onBlocked: (blocked: boolean) => void) {
    this.#sink = sink
    this.#maxQueuedBytes = maxQueuedBytes
    this.#onBlocked = onBlocked
  }

  write(line: string): void {
    const queued = this.#text.length + this.#sink.writableLength
    if (queued + line.length > this.#maxQueuedBytes) {
      throw new McpError('overloaded', `The peer does not read: ${queued} characters wait already`)
    }
    if (this.#isTurnOpen) {
      this.#text += `${line}\n`
      return
    }
    this.#isTurnOpen = true
    // Handlers that finish at once do so in microtasks; a tick scheduled from a microtask comes after all of them.
    queueMicrotask(this.#schedule)
    this.#send(`${line}\n`)
  }

  /** Resolves when everything was handed to the operating system, or when the time is up. */
  flushed(timeoutMs: number): Promise<void> {
    this.#flush()
    if (this.#sink.writableLength === 0) return Promise.resolve()
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, timeoutMs)
      this.#sink.write('', () => {
        clearTimeout(timer)
        resolve()
      })
    })
  }

  readonly #schedule = (): void => process.nextTick(this.#flush)

  readonly #flush = (): void => {
    this.#isTurnOpen = false
    if (this.#text === '') return
    const text = this.#text
    this.#text = ''
    this.#send(text)
  }

  #send(text: string): void {
    if (this.#sink.write(text) || this.#blocked) return
    this.#blocked = true
    this.#onBlocked(true)
    this.#sink.once('drain', () => {
      this.#blocked = false
      this.#onBlocked(false)
    })
  }
}

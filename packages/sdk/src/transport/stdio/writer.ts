import { McpError } from '../../errors.ts'
import { scheduler } from '../../util/scheduler.ts'

/** The part of a writable stream that the writer uses. */
export interface Sink {
  write(text: string, callback?: () => void): boolean
  once(event: 'drain', listener: () => void): unknown
  /** Bytes that are buffered in the stream. */
  readonly writableLength: number
}

/**
 * A line of this length waits for the end of the turn. Writing it takes long, and meanwhile everything that it was made
 * from would be held: an echo of 1 MB ran at 0.86 of a bare loop, and runs at 0.95.
 */
const longLine = 16_384

/** A microtask by way of a promise: Node's `queueMicrotask` makes an object for asynchronous hooks each time. */
const settled = Promise.resolve()

export interface WriterOptions {
  /** Unread bytes above which writing fails. */
  maxQueuedBytes: number
  /** Called with true when the reader is too slow, and with false when it has caught up. */
  onBlocked?: (blocked: boolean) => void
  /** Lines of one turn that are written together. Default: all of them. */
  linesPerWrite?: number
}

/**
 * Writes lines to a pipe. The first line of a turn of the event loop leaves at once, so that the other process can begin
 * with it; the others of that turn leave together, because every write costs as much as several messages.
 */
export class LineWriter {
  readonly #sink: Sink
  readonly #options: WriterOptions
  #text = ''
  #lines = 0
  /** Whether a line of this turn was written already. */
  #isTurnOpen = false
  #blocked = false

  constructor(sink: Sink, options: WriterOptions) {
    this.#sink = sink
    this.#options = options
  }

  write(text: string): void {
    const line = `${text}\n`
    const isLong = line.length >= longLine
    const queued = this.#text.length + this.#sink.writableLength
    if (queued + line.length - 1 > this.#options.maxQueuedBytes) {
      throw new McpError('overloaded', `The peer does not read: ${queued} characters are waiting already`)
    }
    if (this.#isTurnOpen) {
      // Joined to others, a long line would be copied once more.
      if (isLong && this.#text !== '') this.#sendText()
      this.#text += line
      if (++this.#lines === this.#options.linesPerWrite) this.#sendText()
      return
    }
    this.#isTurnOpen = true
    // Handlers that finish at once do so in microtasks; a tick scheduled from a microtask comes after all of them.
    void settled.then(this.#schedule)
    if (isLong) this.#text += line
    else this.#send(line)
  }

  /** Resolves when everything was passed to the operating system, or after the timeout. */
  flushed(timeoutMs: number): Promise<void> {
    this.#flush()
    if (this.#sink.writableLength === 0) return Promise.resolve()
    return new Promise((resolve) => {
      const timer = scheduler.setTimeout(resolve, timeoutMs)
      this.#sink.write('', () => {
        scheduler.clearTimeout(timer)
        resolve()
      })
    })
  }

  readonly #schedule = (): void => process.nextTick(this.#flush)

  readonly #flush = (): void => {
    this.#isTurnOpen = false
    if (this.#text !== '') this.#sendText()
  }

  #sendText(): void {
    const text = this.#text
    this.#text = ''
    this.#lines = 0
    this.#send(text)
  }

  #send(lines: string): void {
    // Looking for separators joins the pieces of a text in memory. Writing does so anyway, so the look is here, once for all lines.
    const text = hasSeparator(lines) ? lines.replace(separators, toEscape) : lines
    if (this.#sink.write(text) || this.#blocked) return
    this.#blocked = true
    this.#options.onBlocked?.(true)
    this.#sink.once('drain', () => {
      this.#blocked = false
      this.#options.onBlocked?.(false)
    })
  }
}

const separators = /[\u2028\u2029]/g

/** Some readers, such as `readline` of Node, end lines there too. JSON has both only in strings, where they can be escaped. */
function hasSeparator(text: string): boolean {
  // Nearly every text has one byte for each character, and then this is known without a look at it.
  return text.includes('\u2028') || text.includes('\u2029')
}

function toEscape(separator: string): string {
  return separator === '\u2028' ? '\\u2028' : '\\u2029'
}

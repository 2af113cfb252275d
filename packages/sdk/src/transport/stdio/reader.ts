import { Fault } from '../../jsonrpc/message.ts'
import { parseText } from '../../jsonrpc/parse.ts'
import type { LinkTransport } from '../../jsonrpc/transport.ts'
import { decodeUtf8 } from '../../util/bytes.ts'

const newline = 10
const carriageReturn = 13

export interface LineOptions {
  /** Longer lines are skipped and reported as a fault, so that a peer cannot fill the memory. */
  maxBytes: number
  /** Decodes bytes; null if they are not valid UTF-8. */
  decode(bytes: Uint8Array): string | null
  join(parts: Uint8Array[], length: number): Uint8Array
  onLine(line: string): void
  onFault(fault: Fault): void
}

/**
 * Splits a byte stream into lines. Bytes after the last newline are kept in a list, because joining them with every chunk would
 * take quadratic time for a long line.
 */
export class LineSplitter {
  readonly #options: LineOptions
  #held: Uint8Array[] = []
  #heldBytes = 0
  #skipping = false

  constructor(options: LineOptions) {
    this.#options = options
  }

  push(chunk: Uint8Array): void {
    const last = chunk.lastIndexOf(newline)
    if (last === -1) return this.#hold(chunk)
    let start = 0
    if (this.#heldBytes > 0 || this.#skipping) {
      const first = chunk.indexOf(newline)
      this.#finishHeld(chunk.subarray(0, first))
      start = first + 1
    }
    // A newline byte is never part of a longer UTF-8 sequence, so all complete lines can be decoded together.
    if (last > start) this.#lines(chunk.subarray(start, last))
    if (last + 1 < chunk.length) this.#hold(chunk.subarray(last + 1))
  }

  /** The text after the last newline; empty if it is not valid UTF-8. */
  get rest(): string {
    return this.#options.decode(this.#options.join(this.#held, this.#heldBytes)) ?? ''
  }

  #hold(bytes: Uint8Array): void {
    if (this.#skipping) return
    this.#held.push(bytes)
    this.#heldBytes += bytes.length
    // One extra byte may be the carriage return before the newline, which is not part of the message.
    if (this.#heldBytes > this.#options.maxBytes + 1) {
      this.#skipping = true
      const beginning = this.#held[0]!
      this.#release()
      this.#refuse(beginning)
    }
  }

  #finishHeld(rest: Uint8Array): void {
    this.#hold(rest)
    if (this.#skipping) {
      this.#skipping = false
      return
    }
    const line = this.#held.length === 1 ? this.#held[0]! : this.#options.join(this.#held, this.#heldBytes)
    this.#release()
    this.#lineOf(line)
  }

  #refuse(line: Uint8Array): void {
    const beginning = this.#options.decode(line.subarray(0, 400)) ?? ''
    this.#options.onFault(tooLong(beginning, this.#options.maxBytes))
  }

  #release(): void {
    this.#held = []
    this.#heldBytes = 0
  }

  #lines(bytes: Uint8Array): void {
    const text = this.#options.decode(bytes)
    if (text === null) return this.#linesApart(bytes)
    for (let start = 0; start <= text.length; ) {
      const found = text.indexOf('\n', start)
      const end = found === -1 ? text.length : found
      this.#line(start === 0 && end === text.length ? text : text.slice(start, end))
      start = end + 1
    }
  }

  /** Decodes the lines one by one, because one of them is not valid UTF-8. */
  #linesApart(bytes: Uint8Array): void {
    for (let start = 0; start <= bytes.length; ) {
      const found = bytes.indexOf(newline, start)
      const end = found === -1 ? bytes.length : found
      this.#lineOf(bytes.subarray(start, end))
      start = end + 1
    }
  }

  #lineOf(bytes: Uint8Array): void {
    const length = bytes[bytes.length - 1] === carriageReturn ? bytes.length - 1 : bytes.length
    if (length > this.#options.maxBytes) return this.#refuse(bytes)
    const line = this.#options.decode(bytes)
    if (line === null) this.#options.onFault(new Fault(-32700, 'The message is not valid UTF-8'))
    else if (length > 0) this.#options.onLine(line)
  }

  #line(line: string): void {
    if (line === '' || line === '\r') return
    const { maxBytes } = this.#options
    // A UTF-16 unit takes at most three bytes, so most lines need not be measured.
    if (line.length * 3 > maxBytes && lengthOf(line) > maxBytes) {
      this.#options.onFault(tooLong(line.slice(0, 400), maxBytes))
    } else this.#options.onLine(line)
  }
}

/** The length in bytes, without the carriage return at the end. */
function lengthOf(line: string): number {
  const { length } = new TextEncoder().encode(line)
  return line.endsWith('\r') ? length - 1 : length
}

/** Reads the id from the beginning of the message, so that the request it belongs to can fail at once. */
function tooLong(beginning: string, maxBytes: number): Fault {
  const id = /^\s*\{[^{[]*?"id"\s*:\s*(-?\d{1,15}|"[^"\\]{0,100}")/.exec(beginning)?.[1]
  const meant = /"(?:result|error)"\s*:/.test(beginning) ? 'response' : 'request'
  const message = `The message is longer than ${maxBytes} bytes`
  return new Fault(-32600, message, id === undefined ? undefined : JSON.parse(id), meant)
}

/** More than any real message needs. Longer messages are refused instead of buffered. */
export const defaultMaxMessageBytes = 16 * 1024 * 1024

/**
 * Reads bytes from a pipe and calls the handlers of a transport with messages.
 * @param onStray Receives lines that are not messages, and undefined for each message. If present, errors quote the beginning of
 * such a line.
 */
export function createReader(
  transport: Pick<LinkTransport, 'onmessage' | 'onfault'>,
  maxMessageBytes: number,
  onStray?: (line: string | undefined) => void,
): LineSplitter {
  return new LineSplitter({
    maxBytes: maxMessageBytes,
    decode: decodeUtf8,
    join: (parts, length) => Buffer.concat(parts, length),
    onLine: (line) => {
      const value = parseText(line)
      if (!(value instanceof Fault)) {
        onStray?.(isMessage(value) ? undefined : line)
        transport.onmessage?.(value)
      } else if (line.trim() !== '') {
        onStray?.(line)
        transport.onfault?.(onStray ? withQuote(value, line) : value)
      }
    },
    onFault: (fault) => transport.onfault?.(fault),
  })
}

/** Log lines of a program may be JSON too. */
function isMessage(value: unknown): boolean {
  return typeof value === 'object' && value !== null && (Array.isArray(value) || 'jsonrpc' in value)
}

function withQuote(fault: Fault, line: string): Fault {
  return new Fault(fault.code, `${fault.message}: ${JSON.stringify(line.slice(0, 80))}`, fault.id, fault.meant)
}

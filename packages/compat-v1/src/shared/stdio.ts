import { type JSONRPCMessage, JSONRPCMessageSchema } from '../types.ts'
import { isJSONRPCErrorResponse, isJSONRPCNotification, isJSONRPCRequest, isJSONRPCResultResponse } from './guards.ts'

/** How many bytes a `ReadBuffer` holds by default. */
export const STDIO_DEFAULT_MAX_BUFFER_SIZE: number = 10 * 1024 * 1024

/** Cuts a stream of bytes into messages, one per line. */
export class ReadBuffer {
  private readonly _tenonMaxBytes: number
  /** Chunks that were not read yet. They are joined when a line is complete, so that a long line is copied once. */
  private _tenonChunks: Buffer[] = []
  private _tenonBytes = 0
  /** How many of the chunks have no line break. */
  private _tenonSearched = 0

  /** @param options.maxBufferSize The most bytes to hold. Default: 10 MiB. */
  constructor(options?: { maxBufferSize?: number }) {
    this._tenonMaxBytes = options?.maxBufferSize ?? STDIO_DEFAULT_MAX_BUFFER_SIZE
  }

  /**
   * Adds bytes.
   *
   * @throws Error if the buffer would become too large. It is empty then.
   */
  append(chunk: Buffer): void {
    if (this._tenonBytes + chunk.length > this._tenonMaxBytes) {
      this.clear()
      throw new Error(`ReadBuffer exceeded maximum size of ${this._tenonMaxBytes} bytes`)
    }
    this._tenonChunks.push(chunk)
    this._tenonBytes += chunk.length
  }

  /** Takes the next message; null if there is no complete one. */
  readMessage(): JSONRPCMessage | null {
    const line = this._tenonTakeLine()
    return line === undefined ? null : deserializeMessage(line)
  }

  /** Drops everything that was not read. */
  clear(): void {
    this._tenonChunks = []
    this._tenonBytes = this._tenonSearched = 0
  }

  private _tenonTakeLine(): string | undefined {
    while (this._tenonSearched < this._tenonChunks.length && !this._tenonChunks[this._tenonSearched]!.includes(NEWLINE))
      this._tenonSearched++
    if (this._tenonSearched === this._tenonChunks.length) return undefined
    const head = this._tenonChunks.splice(0, this._tenonSearched + 1)
    const bytes = head.length === 1 ? head[0]! : Buffer.concat(head)
    const end = bytes.indexOf(NEWLINE)
    if (end + 1 < bytes.length) this._tenonChunks.unshift(bytes.subarray(end + 1))
    this._tenonBytes -= end + 1
    this._tenonSearched = 0
    return bytes.toString('utf8', 0, end).replace(/\r$/, '')
  }
}

const NEWLINE = 0x0a

/** Reads a message from its text. Throws if it is not one. */
export function deserializeMessage(line: string): JSONRPCMessage {
  const value: unknown = JSON.parse(line)
  const isMessage =
    isJSONRPCRequest(value) ||
    isJSONRPCResultResponse(value) ||
    isJSONRPCNotification(value) ||
    isJSONRPCErrorResponse(value)
  // The guards are fast. The schema says what is wrong.
  return isMessage ? value : JSONRPCMessageSchema.parse(value)
}

/** The text of a message, with the line break at its end. */
export function serializeMessage(message: JSONRPCMessage): string {
  return `${JSON.stringify(message)}\n`
}

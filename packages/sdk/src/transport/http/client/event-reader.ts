export interface EventReaderOptions {
  /** Called for each event with data. Events without data only set `lastEventId`, like the event that opens a stream. */
  onEvent(event: ServerSentEvent): void
  /** Called with the id of each event that has one, before `onEvent`. */
  onId?: ((id: string) => void) | undefined
  /** The maximum size of a line and of an event. */
  maxBytes: number
  /** The last event id of the stream that this one continues. */
  lastEventId?: string
}

export interface ServerSentEvent {
  /** Default `message`. */
  readonly type: string
  readonly data: string
  /** Empty if the event has no id. */
  readonly id: string
}

/** Longer ids, and those that do not fit into a header, could not be sent back and are ignored. */
const maxIdLength = 4_096

/**
 * Parses server-sent events (HTML, 9.2.6) from chunks that may end anywhere, also inside a character or between CR and LF.
 * `push` throws if the bytes are not UTF-8 or if a line or event is too long; after that, the reader is unusable.
 */
export class EventReader {
  /** The id of the last complete event; empty if there was none. */
  lastEventId = ''
  /** The reconnection delay that the stream asked for. */
  retryMs: number | undefined
  /** Number of comment lines. Servers send them to keep a stream alive. */
  comments = 0
  readonly #options: EventReaderOptions
  readonly #decoder = new TextDecoder('utf-8', { fatal: true })
  #line = ''
  #lastWasCr = false
  #data: string[] = []
  #dataLength = 0
  #type = ''
  #id = ''
  #ownId = ''

  constructor(options: EventReaderOptions) {
    this.#options = options
    this.lastEventId = options.lastEventId ?? ''
    this.#id = this.lastEventId
  }

  push(chunk: Uint8Array): void {
    this.#read(this.#decoder.decode(chunk, { stream: true }))
  }

  #read(text: string): void {
    let start = 0
    if (this.#lastWasCr && text !== '') {
      this.#lastWasCr = false
      if (text[0] === '\n') start = 1
    }
    let cr = text.indexOf('\r', start)
    let lf = text.indexOf('\n', start)
    while (cr !== -1 || lf !== -1) {
      const isCr = cr !== -1 && (lf === -1 || cr < lf)
      const end = isCr ? cr : lf
      this.#endLine(text.slice(start, end))
      start = end + 1
      if (isCr && start === text.length) this.#lastWasCr = true
      else if (isCr && lf === start) start++
      if (cr !== -1 && cr < start) cr = text.indexOf('\r', start)
      if (lf !== -1 && lf < start) lf = text.indexOf('\n', start)
    }
    if (start === text.length) return
    this.#line += text.slice(start)
    this.#bound(this.#line.length)
  }

  #endLine(rest: string): void {
    const line = this.#line === '' ? rest : this.#line + rest
    this.#line = ''
    this.#bound(line.length)
    if (line === '') this.#dispatch()
    else if (line[0] === ':') this.comments++
    else this.#field(line)
  }

  #field(line: string): void {
    const colon = line.indexOf(':')
    const name = colon === -1 ? line : line.slice(0, colon)
    const value = colon === -1 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1)
    if (name === 'data') this.#addData(value)
    else if (name === 'event') this.#type = value
    else if (name === 'id') this.#setId(value)
    else if (name === 'retry' && /^\d+$/.test(value)) this.retryMs = Number(value)
  }

  #addData(value: string): void {
    this.#dataLength += value.length + 1
    this.#bound(this.#dataLength)
    this.#data.push(value)
  }

  #setId(value: string): void {
    if (value.length > maxIdLength || !isHeaderText(value)) return
    this.#id = value
    this.#ownId = value
  }

  #dispatch(): void {
    const data = this.#data.length === 1 ? this.#data[0]! : this.#data.join('\n')
    const type = this.#type || 'message'
    const id = this.#ownId
    this.lastEventId = this.#id
    this.#data = []
    this.#dataLength = 0
    this.#type = ''
    this.#ownId = ''
    if (id !== '') this.#options.onId?.(id)
    if (data !== '') this.#options.onEvent({ type, data, id })
  }

  #bound(length: number): void {
    const { maxBytes } = this.#options
    if (length > maxBytes) throw new RangeError(`an event is longer than ${maxBytes} bytes (maxMessageBytes)`)
  }
}

function isHeaderText(value: string): boolean {
  for (let i = 0; i < value.length; i++) {
    const code = value.charCodeAt(i)
    if (code < 0x20 || code === 0x7f) return false
  }
  return true
}

/** An event of an SSE stream with the fields that were present. */
export interface SseEvent {
  event?: string
  id?: string
  data?: string
  retry?: number
}

/** Parses the bytes of an SSE stream into events; an incomplete event is kept for the next chunk. */
export class SseReader {
  /** The comment lines so far. */
  readonly comments: string[] = []
  readonly #decoder = new TextDecoder()
  #rest = ''

  /** Adds a chunk and returns the events that it completes. */
  push(chunk: Uint8Array | string): SseEvent[] {
    const text = typeof chunk === 'string' ? chunk : this.#decoder.decode(chunk, { stream: true })
    const blocks = (this.#rest + text).split(/\r\n\r\n|\n\n|\r\r/)
    this.#rest = blocks.pop() ?? ''
    return blocks.map((block) => this.#toEvent(block)).filter((event) => Object.keys(event).length > 0)
  }

  #toEvent(block: string): SseEvent {
    const event: SseEvent = {}
    for (const line of block.split(/\r\n|\n|\r/)) {
      const [, name = '', value = ''] = /^([^:]*)(?:: ?(.*))?$/.exec(line) ?? []
      if (line.startsWith(':')) this.comments.push(line)
      else if (name === 'data') event.data = event.data === undefined ? value : `${event.data}\n${value}`
      else if (name === 'retry') event.retry = Number(value)
      else if (name === 'id' || name === 'event') event[name] = value
    }
    return event
  }
}

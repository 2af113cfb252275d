import type { RpcMessage } from '../jsonrpc/message.ts'
import type { LinkTransport } from '../jsonrpc/transport.ts'

/** One message of a conversation, seen from the client. */
export interface Line {
  readonly from: 'client' | 'server'
  readonly message: RpcMessage | RpcMessage[]
}

/** What was said on a wire, in order. */
export class Transcript {
  readonly lines: Line[] = []
  readonly #onLine: ((line: Line) => void)[] = []

  add(from: Line['from'], message: unknown): void {
    const line = { from, message: message as RpcMessage }
    this.lines.push(line)
    for (const listener of this.#onLine) listener(line)
  }

  onLine(listener: (line: Line) => void): void {
    this.#onLine.push(listener)
  }

  /** Messages of one side, without the envelopes of batches. */
  from(side: Line['from']): RpcMessage[] {
    return this.lines.filter((line) => line.from === side).flatMap((line) => line.message)
  }

  /** A text to read aloud, or to keep in a file: `→` is the client, `←` the server. */
  toString(): string {
    return this.lines
      .map(({ from, message }) => `${from === 'client' ? '→' : '←'} ${JSON.stringify(message)}`)
      .join('\n')
  }
}

/** Notes down everything that passes a client's transport. Call it before connecting. */
export function record(transport: LinkTransport, transcript = new Transcript()): Transcript {
  const { send, sendText, sendRequest } = transport
  let isNoted = false
  transport.send = (message) => {
    transcript.add('client', message)
    // A transport may pass it on to its own sendText; it was said once.
    isNoted = true
    try {
      return send.call(transport, message)
    } finally {
      isNoted = false
    }
  }
  // A transport that wraps this one may call these directly.
  if (sendText) {
    transport.sendText = (text) => {
      if (!isNoted) transcript.add('client', JSON.parse(text))
      sendText.call(transport, text)
    }
  }
  if (sendRequest) {
    transport.sendRequest = (text, request) => {
      const { length } = transcript.lines
      const sent = sendRequest.call(transport, text, request)
      // Transports whose `send` was replaced send requests by it, too.
      if (transcript.lines.length === length) transcript.add('client', JSON.parse(text))
      return sent
    }
  }
  let handler: LinkTransport['onmessage']
  Object.defineProperty(transport, 'onmessage', {
    configurable: true,
    get: () => handler && noted,
    set: (next: LinkTransport['onmessage']) => {
      handler = next
    },
  })
  function noted(message: unknown): void {
    transcript.add('server', structuredClone(message))
    handler?.(message)
  }
  return transcript
}

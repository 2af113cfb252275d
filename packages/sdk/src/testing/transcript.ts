import type { RpcMessage } from '../jsonrpc/message.ts'
import type { LinkTransport } from '../jsonrpc/transport.ts'
import type { LoggingMessageParams } from '../protocol/logging.ts'
import type { ProgressParams } from '../protocol/progress.ts'
import { type AskedQuestion, findQuestions } from './questions.ts'

/** One message of a conversation, as the client sees it. */
export interface Line {
  readonly from: 'client' | 'server'
  readonly message: RpcMessage | RpcMessage[]
}

/** The messages on a wire, in order. */
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

  /** Returns the messages of one side, with batches flattened. */
  from(side: Line['from']): RpcMessage[] {
    return this.lines.filter((line) => line.from === side).flatMap((line) => line.message)
  }

  /** Returns the questions that the server asked, on any revision. */
  questions(): AskedQuestion[] {
    return findQuestions(this.from('server'))
  }

  /** Returns the log messages that the server sent. */
  logs(): LoggingMessageParams[] {
    return this.#notifications('notifications/message') as LoggingMessageParams[]
  }

  /** Returns the progress notifications that the server sent. */
  progress(): ProgressParams[] {
    return this.#notifications('notifications/progress') as ProgressParams[]
  }

  /** Formats the conversation for people and files: `→` is the client, `←` the server. */
  toString(): string {
    return this.lines
      .map(({ from, message }) => `${from === 'client' ? '→' : '←'} ${JSON.stringify(message)}`)
      .join('\n')
  }

  #notifications(method: string): unknown[] {
    return this.from('server').flatMap((message) =>
      'method' in message && message.method === method ? (message.params ?? {}) : [],
    )
  }
}

/** Records every message on the transport of a client. Call it before connecting. */
export function record(transport: LinkTransport, transcript = new Transcript()): Transcript {
  const { send, sendText, sendRequest } = transport
  let isNoted = false
  transport.send = (message) => {
    transcript.add('client', message)
    // A transport may call its own sendText. The message is recorded once.
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
      // A transport whose `send` was replaced also sends requests with it.
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

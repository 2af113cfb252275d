import { HttpError } from '../../errors.ts'
import { Fault } from '../../jsonrpc/message.ts'
import { parseText } from '../../jsonrpc/parse.ts'
import { maxTimerMs } from '../../util/backoff.ts'
import type { ReadHeader } from './client-call.ts'
import type { Conversation } from './client-conversation.ts'
import { Delivery, reasonOf, type Taker } from './client-delivery.ts'
import { isEventStream, unreadable } from './client-read.ts'
import { ResumableStream } from './client-stream.ts'

/** The stream that a server of a session may send its own messages on (2025-11-25 transports, listening for messages). */
export class ListenStream implements Taker {
  readonly #conversation: Conversation
  readonly #stream: ResumableStream
  #delivery: Delivery | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #wasOpen = false
  #gaveUp = false
  #isClosed = false

  constructor(conversation: Conversation) {
    this.#conversation = conversation
    this.#stream = new ResumableStream(conversation.destination.maxMessageBytes, ({ data }) => this.#take(data))
  }

  open(): void {
    if (this.#isClosed) return
    const headers = { ...this.#conversation.streamHeaders(), ...this.#stream.headers }
    const request = { method: 'GET', about: "The stream of the server's messages", headers } as const
    this.#delivery = new Delivery(this.#conversation.destination, request, this).start()
  }

  /** Tries again after it was given up: the server can be reached. */
  revive(): void {
    if (!this.#gaveUp) return
    this.#gaveUp = false
    this.open()
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
    this.#delivery?.abort()
  }

  accepted(status: number, header: ReadHeader): 'bytes' {
    if (!isEventStream(header)) throw new HttpError('The server answered a GET with no event stream', refusal(status))
    this.#wasOpen = true
    this.#stream.begin()
    return 'bytes'
  }

  bytes(chunk: Uint8Array): void {
    this.#stream.push(chunk)
  }

  ended(): void {
    this.#openAgain()
  }

  failed(error: HttpError): void {
    const { status } = error
    const isPassing = status === undefined || status >= 500 || status === 429
    if (isPassing || this.#wasOpen) {
      if (this.#wasOpen && this.#conversation.isSessionLost(error)) return this.#conversation.loseSession()
      return this.#openAgain(error)
    }
    // A server without such a stream says 405; many others that have none say 400 or 404, also to a session just begun.
    if (status === 401 || status === 403 || status < 400) this.#conversation.report(reasonOf(error))
  }

  #openAgain(error?: HttpError): void {
    const waitMs = this.#stream.nextWaitMs(this.#conversation.destination.backoff)
    if (waitMs !== undefined) {
      this.#timer = setTimeout(() => this.open(), Math.min(waitMs, maxTimerMs))
      return
    }
    this.#gaveUp = true
    const why = error ? `: ${error.message}` : ''
    this.#conversation.report(
      new HttpError(`The server ends the stream of its messages again and again; it is not asked for any more${why}`, {
        outcome: 'refused',
        status: error?.status,
        cause: error,
      }),
    )
  }

  #take(data: string): void {
    const value = parseText(data)
    if (value instanceof Fault) this.#conversation.report(unreadable(value))
    else this.#conversation.receive(value)
  }
}

function refusal(status: number) {
  return { outcome: 'refused', status } as const
}

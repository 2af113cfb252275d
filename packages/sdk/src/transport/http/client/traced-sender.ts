import type { HttpRequest, ResponseHandler, ResponseHead, Sender } from '../../../net/send.ts'
import type { Tracer } from '../../../protocol/trace.ts'
import { clock } from '../../../util/clock.ts'

/** Reports each HTTP exchange of another sender, and the messages that its requests carry. */
export class TracedSender implements Sender {
  readonly #sender: Sender
  readonly #tracer: Tracer

  constructor(sender: Sender, tracer: Tracer) {
    this.#sender = sender
    this.#tracer = tracer
  }

  get decompresses(): boolean {
    return this.#sender.decompresses
  }

  send(request: HttpRequest, handler: ResponseHandler): () => void {
    const exchange = new TracedExchange(request, handler, this.#tracer)
    try {
      const abort = this.#sender.send(request, exchange)
      return () => {
        exchange.onAbort()
        abort()
      }
    } catch (cause) {
      exchange.end('failed', cause)
      throw cause
    }
  }

  close(): void {
    this.#sender.close()
  }
}

class TracedExchange implements ResponseHandler {
  readonly #request: HttpRequest
  readonly #handler: ResponseHandler
  readonly #tracer: Tracer
  readonly #http: string
  readonly #startedAt = clock.monotonic()
  #isOver = false

  constructor(request: HttpRequest, handler: ResponseHandler, tracer: Tracer) {
    this.#request = request
    this.#handler = handler
    this.#tracer = tracer
    this.#http = tracer.nextHttp()
    const { method, url, headers, body } = request
    tracer.emit({ type: 'http-request', ...this.#common, method, url: url.href, headers: { ...headers } })
    if (body !== undefined) tracer.sent(body, this.#http)
  }

  onHead(head: ResponseHead): void {
    const { method, url } = this.#request
    this.#tracer.emit({
      type: 'http-response',
      ...this.#common,
      method,
      url: url.href,
      status: head.status,
      headers: Object.fromEntries(head.toHeaders()),
      durationMs: this.#durationMs,
    })
    this.#tracer.reading(this.#http, () => this.#handler.onHead(head))
  }

  onData(chunk: Uint8Array): void {
    this.#tracer.reading(this.#http, () => this.#handler.onData(chunk))
  }

  onEnd(): void {
    this.#tracer.reading(this.#http, () => this.#handler.onEnd())
    this.end('complete')
  }

  onError(cause: unknown): void {
    this.end('failed', cause)
    this.#tracer.reading(this.#http, () => this.#handler.onError(cause))
  }

  onAbort(): void {
    this.end('closed')
  }

  end(outcome: 'complete' | 'closed' | 'failed', cause?: unknown): void {
    if (this.#isOver) return
    this.#isOver = true
    const error = cause === undefined ? {} : { error: cause instanceof Error ? cause.message : String(cause) }
    this.#tracer.emit({ type: 'http-end', ...this.#common, outcome, durationMs: this.#durationMs, ...error })
  }

  get #common() {
    return { http: this.#http, purpose: 'mcp' } as const
  }

  get #durationMs(): number {
    return clock.monotonic() - this.#startedAt
  }
}

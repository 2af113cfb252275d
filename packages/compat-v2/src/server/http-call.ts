import { type BodyText, readRequestBody } from './request-body.ts'

/** An HTTP request as the handler reads it, so that a server of `node:http` need not create a `Request` for each. */
export interface HttpCall {
  /** In upper case. */
  readonly method: string
  /** The request as programs see it. */
  readonly request: globalThis.Request
  /** Whether the client is gone. */
  readonly isGone: boolean
  /** @param name In lower case. */
  header(name: string): string | undefined
  readBody(maxBytes: number): BodyText | Promise<BodyText>
  /** Calls a function when the client disconnects. There is one such function at a time. */
  watch(onGone: () => void): void
  unwatch(): void
}

/** A call of a web-standard handler. */
export class FetchCall implements HttpCall {
  readonly request: globalThis.Request
  private _onGone: (() => void) | undefined

  constructor(request: globalThis.Request) {
    this.request = request
  }

  get method(): string {
    return this.request.method.toUpperCase()
  }

  get isGone(): boolean {
    return this.request.signal?.aborted ?? false
  }

  header(name: string): string | undefined {
    return this.request.headers.get(name) ?? undefined
  }

  readBody(maxBytes: number): Promise<BodyText> {
    return readRequestBody(this.request, maxBytes)
  }

  watch(onGone: () => void): void {
    this._onGone = onGone
    this.request.signal?.addEventListener('abort', onGone, { once: true })
  }

  unwatch(): void {
    if (this._onGone) this.request.signal?.removeEventListener('abort', this._onGone)
    this._onGone = undefined
  }
}

/** A JSON response as text. */
export class JsonReply {
  readonly status: number
  readonly text: string

  constructor(status: number, text: string) {
    this.status = status
    this.text = text
  }
}

export type Reply = JsonReply | Response

export function toResponse(reply: Reply): Response {
  if (!(reply instanceof JsonReply)) return reply
  return new Response(reply.text, { status: reply.status, headers: { 'content-type': 'application/json' } })
}

/** Answers a call like `fetch`, without `Request` and `Response`. */
export type CallHandler<Options> = (call: HttpCall, options?: Options) => Promise<Reply>

const callHandlers = new WeakMap<object, CallHandler<never>>()

/** Names the function that does the same as this `fetch`. */
export function setCallHandler<Options>(fetch: object, handler: CallHandler<Options>): void {
  callHandlers.set(fetch, handler)
}

/** Undefined for functions of programs, which need a `Request`. */
export function callHandlerOf<Options>(fetch: object): CallHandler<Options> | undefined {
  return callHandlers.get(fetch) as CallHandler<Options> | undefined
}

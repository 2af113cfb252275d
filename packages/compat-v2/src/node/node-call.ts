import type { HttpCall } from '../server/http-call.ts'
import type { BodyText } from '../server/request-body.ts'

/** The members of `IncomingMessage` that a call reads. */
interface NodeRequest {
  method?: string
  headers: Record<string, string | string[] | undefined>
}

/** A request of `node:http`. Its `Request` and its `AbortSignal` are created when a program reads them. */
export class NodeCall implements HttpCall {
  readonly method: string
  isGone = false
  /** The body, once it was read. */
  text = ''
  private readonly _headers: NodeRequest['headers']
  private readonly _toRequest: (call: NodeCall) => globalThis.Request
  private _request: globalThis.Request | undefined
  private _controller: AbortController | undefined
  private _onGone: (() => void) | undefined

  /** @param toRequest Creates the `Request`. */
  constructor({ method = 'GET', headers }: NodeRequest, toRequest: (call: NodeCall) => globalThis.Request) {
    this.method = method.toUpperCase()
    this._headers = headers
    this._toRequest = toRequest
  }

  get request(): globalThis.Request {
    this._request ??= this._toRequest(this)
    return this._request
  }

  get signal(): AbortSignal {
    this._controller ??= new AbortController()
    if (this.isGone) this._controller.abort()
    return this._controller.signal
  }

  header(name: string): string | undefined {
    const value = this._headers[name]
    return Array.isArray(value) ? value.join(', ') : value
  }

  readBody(maxBytes: number): BodyText {
    return Buffer.byteLength(this.text) > maxBytes ? { tooLarge: true } : { tooLarge: false, text: this.text }
  }

  watch(onGone: () => void): void {
    this._onGone = onGone
  }

  unwatch(): void {
    this._onGone = undefined
  }

  /** The client disconnected before it had its response. */
  gone(): void {
    this.isGone = true
    this._controller?.abort()
    this._onGone?.()
  }
}

import type { ClientRequest, IncomingMessage } from 'node:http'
import type { ResponseHandler, ResponseHead } from '../send.ts'

export type NodeResponse = IncomingMessage

/** Sends the body, and passes the response to the handler. Returns a function that aborts the request. */
export function sendOver(request: ClientRequest, handler: ResponseHandler, body: string | undefined): () => void {
  let isOver = false
  const fail = (cause: unknown) => {
    if (isOver) return
    isOver = true
    handler.onError(cause)
  }
  request.on('response', (response: NodeResponse) => {
    if (isOver) return
    response.on('data', (chunk: Uint8Array) => void (isOver || handler.onData(chunk)))
    response.on('end', () => {
      if (isOver) return
      isOver = true
      handler.onEnd()
    })
    response.on('error', fail)
    handler.onHead(new NodeHead(request, response))
  })
  request.on('error', fail)
  // A response that switches protocols emits neither `response` nor `error`.
  request.on('close', () => fail(new Error('the connection was closed')))
  request.end(body)
  return () => {
    if (isOver) return
    isOver = true
    request.destroy()
  }
}

class NodeHead implements ResponseHead {
  readonly #request: ClientRequest
  readonly #response: NodeResponse

  constructor(request: ClientRequest, response: NodeResponse) {
    this.#request = request
    this.#response = response
  }

  get status(): number {
    return this.#response.statusCode ?? 0
  }

  get isReused(): boolean {
    return this.#request.reusedSocket
  }

  header(name: string): string | undefined {
    const value = this.#response.headers[name]
    return Array.isArray(value) ? value.join(', ') : value
  }

  toHeaders(): Headers {
    const { rawHeaders } = this.#response
    const headers = new Headers()
    for (let at = 0; at < rawHeaders.length; at += 2) headers.append(rawHeaders[at]!, rawHeaders[at + 1]!)
    return headers
  }
}

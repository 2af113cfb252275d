import type { Server as HttpServer, IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** `node:http` keeps the response under way on its connection. */
type HttpSocket = Socket & { _httpMessage?: ServerResponse | null }

/**
 * RFC 9110, 15.5.9: whoever has a request on its way may repeat it on another connection. Clients do so by themselves if the
 * connection had carried a request before.
 */
const idleFor = 'HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n'
const notServed = 'HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: close\r\ncontent-length: 0\r\n\r\n'

/**
 * The connections of a server that shuts down without losing requests. A connection that is closed while a request is on
 * its way leaves the client without a clue whether the request was carried out. So every response says that its connection
 * ends; a connection that no request comes on is ended with a response that says so, and what comes after it is not read.
 */
export class HttpConnections {
  readonly #open = new Set<HttpSocket>()
  #isEnding = false

  constructor(http: HttpServer) {
    http.on('connection', (socket) => {
      this.#open.add(socket)
      socket.on('close', () => this.#open.delete(socket))
    })
  }

  get size(): number {
    return this.#open.size
  }

  /** False for a request that came after the end of its connection: it must not be carried out. */
  accepts({ socket }: IncomingMessage, response: ServerResponse): boolean {
    if (this.#isEnding) response.shouldKeepAlive = false
    return !socket.writableEnded
  }

  /** From now on every response ends its connection. */
  endAfterResponses(): void {
    this.#isEnding = true
    for (const { _httpMessage: response } of this.#open) {
      if (response && !response.headersSent) response.shouldKeepAlive = false
    }
  }

  /** Ends the connections that had carried requests and carry none now. On the others the first one may be on its way. */
  endIdle(): void {
    for (const socket of this.#open) if (isIdle(socket) && socket.bytesWritten > 0) socket.end(idleFor)
  }

  /** Ends all connections that carry no request. */
  endUnused(): void {
    for (const socket of this.#open) if (isIdle(socket)) socket.end(socket.bytesWritten > 0 ? idleFor : notServed)
  }
}

function isIdle({ _httpMessage: response, writable }: HttpSocket): boolean {
  return !response && writable
}

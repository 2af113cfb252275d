import type { Server as HttpServer, IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { scheduler } from '../util/scheduler.ts'

/** Turns of the event loop that new connections may delay the end of listening. */
const maxAcceptTurns = 20

/** `node:http` stores the current response on its socket. */
type HttpSocket = Socket & { _httpMessage?: ServerResponse | null }

/**
 * RFC 9110, 15.5.9: a client with a request in transit may repeat it on another connection. Clients do so automatically if the
 * connection had carried a request before.
 */
const idleTimeout = 'HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n'
const unavailable =
  'HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: close\r\ncontent-length: 0\r\n\r\n'

/**
 * The connections of a server that shuts down without losing requests. If a connection is closed while a request is in transit,
 * the client cannot know whether the request was processed. So every response announces the end of its connection, and an idle
 * connection ends with a response that says so; anything that arrives after it is not read.
 */
export class HttpConnections {
  readonly #open = new Set<HttpSocket>()
  #isEnding = false
  #accepted = 0

  constructor(http: HttpServer) {
    http.on('connection', (socket) => {
      this.#accepted++
      this.#open.add(socket)
      socket.on('close', () => this.#open.delete(socket))
    })
  }

  /** Number of open connections. */
  get size(): number {
    return this.#open.size
  }

  /** Returns false for a request that arrived after the end of its connection. Do not process it. */
  accepts({ socket }: IncomingMessage, response: ServerResponse): boolean {
    if (this.#isEnding) response.shouldKeepAlive = false
    return !socket.writableEnded
  }

  /**
   * Waits until no connection is waiting to be accepted. The operating system resets those when the server stops listening, and
   * then their clients cannot know whether a request was processed.
   */
  async acceptPending(): Promise<void> {
    for (let turns = 0, before = -1; turns < maxAcceptTurns && before !== this.#accepted; turns++) {
      before = this.#accepted
      await new Promise((resolve) => scheduler.setTimeout(resolve, 0))
      await new Promise((resolve) => scheduler.setImmediate(resolve))
    }
  }

  /** Makes every response end its connection. */
  endAfterResponses(): void {
    this.#isEnding = true
    for (const { _httpMessage: response } of this.#open) {
      if (response && !response.headersSent) response.shouldKeepAlive = false
    }
  }

  /** Ends idle connections that have carried requests. On a new connection, the first request may still be in transit. */
  endIdle(): void {
    for (const socket of this.#open) if (isIdle(socket) && socket.bytesWritten > 0) socket.end(idleTimeout)
  }

  /** Ends all idle connections. */
  endUnused(): void {
    for (const socket of this.#open) if (isIdle(socket)) socket.end(socket.bytesWritten > 0 ? idleTimeout : unavailable)
  }
}

function isIdle({ _httpMessage: response, writable }: HttpSocket): boolean {
  return !response && writable
}

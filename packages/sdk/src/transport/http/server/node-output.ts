import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { OutputLimits } from './call.ts'
import type { UnsentOutput } from './unsent-output.ts'

/** The unread output of one connection: with pipelining, that of several responses. */
export class ConnectionOutput implements UnsentOutput {
  readonly #socket: Socket
  readonly #limits: OutputLimits
  readonly #responses = new Set<ServerResponse>()
  readonly #peer: string | undefined

  constructor(socket: Socket, limits: OutputLimits) {
    this.#socket = socket
    this.#peer = socket.remoteAddress
    this.#limits = limits
    onSocketClose(socket, () => this.#closed())
  }

  get unsentBytes(): number {
    let sum = 0
    for (const response of this.#responses) sum += response.writableLength
    return sum
  }

  get peer(): string | undefined {
    return this.#peer
  }

  /** Bytes that the operating system has not accepted. Node uses the same number for its socket timeouts. */
  get inFlight(): number {
    const { _handle } = this.#socket as { _handle?: { writeQueueSize?: number } | null }
    return _handle?.writeQueueSize ?? 0
  }

  destroy(): void {
    this.#socket.destroy()
  }

  /** Counts bytes that were written to a response and could not be sent at once. */
  add(response: ServerResponse, bytes: number): void {
    if (!this.#responses.has(response)) {
      this.#responses.add(response)
      response.on('finish', () => this.#sent(response))
    }
    this.#limits.unsentOutputs.add(this, bytes)
    // A single response may have any size, but the client decides how many of them it lets wait.
    if (this.#responses.size > 1 && this.unsentBytes > this.#limits.maxQueuedBytes) this.destroy()
  }

  #sent(response: ServerResponse): void {
    this.#responses.delete(response)
    if (this.#responses.size === 0) this.#limits.unsentOutputs.delete(this)
  }

  #closed(): void {
    for (const response of this.#responses) discard(response)
    this.#responses.clear()
    this.#limits.unsentOutputs.delete(this)
  }
}

/** Listeners for the end of each socket. One `close` listener on the socket serves all of them. */
const listenersOf = new WeakMap<Socket, Set<() => void>>()

/**
 * Calls `listener` when the socket closes. A pipelined response that waits for another one gets no `close` event of its own.
 * Returns a function that removes the listener.
 */
export function onSocketClose(socket: Socket, listener: () => void): () => void {
  const listeners = listenersOf.get(socket) ?? watch(socket)
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

function watch(socket: Socket): Set<() => void> {
  const listeners = new Set<() => void>()
  listenersOf.set(socket, listeners)
  socket.on('close', () => {
    for (const listener of [...listeners]) listener()
  })
  return listeners
}

/** Node keeps the output of a response that never got a socket for as long as any handler of its connection runs. */
function discard(response: ServerResponse): void {
  response.destroy()
  const output = response as { outputData?: unknown[]; outputSize?: number }
  output.outputData = []
  output.outputSize = 0
}

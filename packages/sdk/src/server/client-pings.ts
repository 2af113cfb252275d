import { Heartbeat, type PingOptions } from '../jsonrpc/heartbeat.ts'
import type { Link } from '../jsonrpc/link.ts'

/** Pings clients periodically and closes connections whose client no longer responds. */
export class ClientPings {
  readonly #options: PingOptions
  readonly #onError: (error: unknown) => void
  readonly #heartbeats = new Map<Link, Heartbeat>()

  constructor(options: PingOptions, onError: (error: unknown) => void) {
    this.#options = options
    this.#onError = onError
  }

  /** @param isPingable False before the handshake, and on revisions without `ping`. */
  start(link: Link, isPingable: () => boolean): void {
    const heartbeat = new Heartbeat(this.#options, {
      name: 'The client',
      ping: async (timeoutMs) =>
        isPingable() && link.request('ping', undefined, { timeoutMs, maxTotalTimeoutMs: timeoutMs }),
      onFailure: this.#onError,
      onDead: () => void link.close(0),
    })
    this.#heartbeats.set(link, heartbeat)
  }

  stop(link: Link): void {
    this.#heartbeats.get(link)?.stop()
    this.#heartbeats.delete(link)
  }
}

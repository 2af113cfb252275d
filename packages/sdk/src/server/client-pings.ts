import { defaultPing, Heartbeat, type PingOptions } from '../jsonrpc/heartbeat.ts'
import type { Link } from '../jsonrpc/link.ts'

/** Pings clients periodically, and ends connections whose client no longer responds. */
export class ClientPings {
  readonly #options: PingOptions | undefined
  readonly #onError: (error: unknown) => void
  readonly #heartbeats = new Map<Link, Heartbeat>()

  /** @param options Undefined: the default, which leaves clients alone that do not know pings. */
  constructor(options: PingOptions | undefined, onError: (error: unknown) => void) {
    this.#options = options
    this.#onError = onError
  }

  /**
   * @param isPingable False before the handshake, and on revisions without `ping`.
   * @param hangUp Ends the connections of the client.
   */
  start(link: Link, isPingable: () => boolean, hangUp: () => void): void {
    if (this.#heartbeats.has(link)) return
    const heartbeat = new Heartbeat(this.#options ?? defaultPing, {
      name: 'The client',
      isLenient: this.#options === undefined,
      ping: (timeoutMs) =>
        isPingable() ? link.request('ping', undefined, { timeoutMs, maxTotalTimeoutMs: timeoutMs }) : undefined,
      onFailure: this.#onError,
      onDead: () => {
        this.#heartbeats.delete(link)
        hangUp()
      },
    })
    this.#heartbeats.set(link, heartbeat)
  }

  stop(link: Link): void {
    this.#heartbeats.get(link)?.stop()
    this.#heartbeats.delete(link)
  }
}

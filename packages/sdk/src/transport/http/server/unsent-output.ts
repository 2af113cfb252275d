import { networkOf } from '../../../util/account.ts'
import { clock } from '../../../util/clock.ts'
import { scheduler, type Timer } from '../../../util/scheduler.ts'

export interface UnsentOutputLimits {
  /** How long a client that reads nothing keeps its connection while output waits for it. Default 30,000. */
  writeTimeoutMs?: number | undefined
  /**
   * Bytes that may wait for all clients together. Beyond that connections are cut: of the address that most bytes wait for, the
   * one that has waited longest. Default 256 MiB.
   */
  maxUnsentBytes?: number | undefined
}

/** Output that a client has not read yet. */
export interface UnsentOutput {
  readonly unsentBytes: number
  /** The address that it is sent to, where it is known. */
  readonly peer: string | undefined
  /** Changes while the client reads. 0: nothing waits for the client just now. */
  readonly inFlight: number
  /** Cuts the connection. */
  destroy(): void
}

interface Watched {
  /** Of the address; see `networkOf`. */
  readonly network: string | undefined
  inFlight: number
  since: number
}

/** How often clients that are behind are looked at. */
const lookEveryMs = 1_000

/** Below this much a client is not watched: most output that cannot be written at once is written a moment later. */
export const watchedFromBytes = 16_384

/** The clients of one engine that are behind, in the order in which they began to be. */
export class UnsentOutputs {
  readonly #watched = new Map<UnsentOutput, Watched>()
  readonly #writeTimeoutMs: number
  readonly #maxUnsentBytes: number
  /** An upper bound, made exact with every look. */
  #unsentBytes = 0
  #timer: Timer | undefined

  constructor({ writeTimeoutMs = 30_000, maxUnsentBytes = 256 * 1024 * 1024 }: UnsentOutputLimits) {
    this.#writeTimeoutMs = writeTimeoutMs
    this.#maxUnsentBytes = maxUnsentBytes
  }

  /** Bytes that wait now. */
  get unsentBytes(): number {
    let sum = 0
    for (const backlog of this.#watched.keys()) sum += backlog.unsentBytes
    return sum
  }

  /** A write could not be completed; `bytes` were added to what waits. */
  add(backlog: UnsentOutput, bytes: number): void {
    if (!this.#watched.has(backlog)) this.#watched.set(backlog, toWatched(backlog))
    this.#timer ??= this.#startTimer()
    this.#unsentBytes += bytes
    if (this.#unsentBytes > this.#maxUnsentBytes) this.#makeRoom()
  }

  delete(backlog: UnsentOutput): void {
    this.#watched.delete(backlog)
  }

  /** Cuts more than is needed, so that it need not be done again with the next write. */
  #makeRoom(): void {
    this.#unsentBytes = this.unsentBytes
    if (this.#unsentBytes <= this.#maxUnsentBytes) return
    while (this.#unsentBytes > this.#maxUnsentBytes * 0.75 && this.#watched.size > 0)
      this.#cutOneOf(this.#heaviestNetwork())
  }

  #cutOneOf(heaviest: string | undefined): void {
    for (const [backlog, { network }] of this.#watched) {
      if (network !== heaviest) continue
      this.#unsentBytes -= backlog.unsentBytes
      return this.#cut(backlog)
    }
  }

  /** One address that takes nothing must not cost others their connections. */
  #heaviestNetwork(): string | undefined {
    const bytes = new Map<string | undefined, number>()
    for (const [{ unsentBytes }, { network }] of this.#watched) {
      bytes.set(network, (bytes.get(network) ?? 0) + unsentBytes)
    }
    return [...bytes].reduce((most, each) => (each[1] > most[1] ? each : most))[0]
  }

  #cut(backlog: UnsentOutput): void {
    this.#watched.delete(backlog)
    backlog.destroy()
  }

  #look(): void {
    const now = clock.now()
    for (const [backlog, seen] of [...this.#watched]) {
      const { inFlight } = backlog
      if (backlog.unsentBytes === 0) this.#watched.delete(backlog)
      else if (inFlight === 0 || inFlight !== seen.inFlight) Object.assign(seen, { inFlight, since: now })
      else if (now - seen.since >= this.#writeTimeoutMs) this.#cut(backlog)
    }
    this.#unsentBytes = this.unsentBytes
    if (this.#watched.size > 0) return
    scheduler.clearInterval(this.#timer)
    this.#timer = undefined
  }

  #startTimer(): Timer {
    const timer = scheduler.setInterval(
      () => this.#look(),
      Math.max(5, Math.min(lookEveryMs, this.#writeTimeoutMs / 4)),
    )
    scheduler.unref(timer)
    return timer
  }
}

function toWatched({ peer, inFlight }: UnsentOutput): Watched {
  return { network: peer === undefined ? undefined : networkOf(peer), inFlight, since: clock.now() }
}

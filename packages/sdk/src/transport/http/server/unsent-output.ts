import { heaviestNetwork, networkOf } from '../../../util/account.ts'
import { clock } from '../../../util/clock.ts'
import { scheduler, type Timer } from '../../../util/scheduler.ts'

export interface UnsentOutputLimits {
  /** How long a client may read nothing while output waits, before it is disconnected. Default 30,000. */
  writeTimeoutMs?: number | undefined
  /**
   * Bytes that may wait for all clients together. Above that, connections are closed: those of the address with the most unread
   * bytes, longest waiting first. Default 256 MiB.
   */
  maxUnsentBytes?: number | undefined
}

/** Output that a client has not read yet. */
export interface UnsentOutput {
  readonly unsentBytes: number
  /** The address of the client, if known. */
  readonly peer: string | undefined
  /** Changes while the client reads. 0: nothing is waiting for the client at the moment. */
  readonly inFlight: number
  /** Closes the connection. */
  destroy(): void
}

interface Watched {
  /** The network of the address; see `networkOf`. */
  readonly network: string | undefined
  inFlight: number
  since: number
}

/** How often slow clients are checked. */
const checkEveryMs = 1_000

/** Smaller output is not watched: most of what cannot be written at once is written a moment later. */
export const watchedFromBytes = 16_384

/** The slow clients of one handler, in the order in which they fell behind. */
export class UnsentOutputs {
  readonly #watched = new Map<UnsentOutput, Watched>()
  readonly #writeTimeoutMs: number
  readonly #maxUnsentBytes: number
  /** An upper bound, corrected with every check. */
  #unsentBytes = 0
  #timer: Timer | undefined

  constructor({ writeTimeoutMs = 30_000, maxUnsentBytes = 256 * 1024 * 1024 }: UnsentOutputLimits) {
    this.#writeTimeoutMs = writeTimeoutMs
    this.#maxUnsentBytes = maxUnsentBytes
  }

  /** Bytes that wait now. */
  get unsentBytes(): number {
    let sum = 0
    for (const output of this.#watched.keys()) sum += output.unsentBytes
    return sum
  }

  /** Counts `bytes` that could not be written at once. */
  add(output: UnsentOutput, bytes: number): void {
    if (!this.#watched.has(output)) this.#watched.set(output, toWatched(output))
    this.#timer ??= this.#startTimer()
    this.#unsentBytes += bytes
    if (this.#unsentBytes > this.#maxUnsentBytes) this.#makeRoom()
  }

  delete(output: UnsentOutput): void {
    this.#watched.delete(output)
  }

  /** Closes more connections than needed, so that the next write does not have to do it again. */
  #makeRoom(): void {
    this.#unsentBytes = this.unsentBytes
    if (this.#unsentBytes <= this.#maxUnsentBytes) return
    while (this.#unsentBytes > this.#maxUnsentBytes * 0.75 && this.#watched.size > 0) {
      const sizes = [...this.#watched].map(([{ unsentBytes: bytes }, { network }]) => ({ network, bytes }))
      this.#closeOneOf(heaviestNetwork(sizes))
    }
  }

  #closeOneOf(heaviest: string | undefined): void {
    for (const [output, { network }] of this.#watched) {
      if (network !== heaviest) continue
      this.#unsentBytes -= output.unsentBytes
      return this.#close(output)
    }
  }

  #close(output: UnsentOutput): void {
    this.#watched.delete(output)
    output.destroy()
  }

  #check(): void {
    const now = clock.now()
    for (const [output, seen] of [...this.#watched]) {
      const { inFlight } = output
      if (output.unsentBytes === 0) this.#watched.delete(output)
      else if (inFlight === 0 || inFlight !== seen.inFlight) Object.assign(seen, { inFlight, since: now })
      else if (now - seen.since >= this.#writeTimeoutMs) this.#close(output)
    }
    this.#unsentBytes = this.unsentBytes
    if (this.#watched.size > 0) return
    scheduler.clearInterval(this.#timer)
    this.#timer = undefined
  }

  #startTimer(): Timer {
    const timer = scheduler.setInterval(
      () => this.#check(),
      Math.max(5, Math.min(checkEveryMs, this.#writeTimeoutMs / 4)),
    )
    scheduler.unref(timer)
    return timer
  }
}

function toWatched({ peer, inFlight }: UnsentOutput): Watched {
  return { network: peer === undefined ? undefined : networkOf(peer), inFlight, since: clock.now() }
}

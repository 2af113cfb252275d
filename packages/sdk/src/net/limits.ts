import { ByteCollector } from '../util/bytes.ts'
import { scheduler, type Timer } from '../util/scheduler.ts'

/** The body of a response up to a maximum size. */
export class BoundedBody {
  readonly #maxBytes: number
  readonly #bytes = new ByteCollector()

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Adds a chunk. False if the body is now larger than the maximum. */
  push(chunk: Uint8Array): boolean {
    this.#bytes.push(chunk)
    return this.#bytes.length <= this.#maxBytes
  }

  take(): Uint8Array<ArrayBuffer> {
    // Network clients never deliver shared memory.
    return this.#bytes.take() as Uint8Array<ArrayBuffer>
  }
}

/** A signal that aborts when the time is up, or when the caller's own signal aborts. Call `clear` when the work is done. */
export class Deadline {
  readonly #controller = new AbortController()
  readonly #timer: Timer
  readonly #outer: AbortSignal | undefined
  readonly #onAbort = () => this.#controller.abort(this.#outer?.reason)

  /** @param onTimeout Returns the reason to abort with. */
  constructor(timeoutMs: number, outer: AbortSignal | undefined, onTimeout: () => Error) {
    this.#outer = outer
    this.#timer = scheduler.setTimeout(() => this.#controller.abort(onTimeout()), timeoutMs)
    if (outer?.aborted) this.#onAbort()
    else outer?.addEventListener('abort', this.#onAbort)
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  clear(): void {
    scheduler.clearTimeout(this.#timer)
    this.#outer?.removeEventListener('abort', this.#onAbort)
  }
}

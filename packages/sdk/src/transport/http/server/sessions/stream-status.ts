import { scheduler } from '../../../../util/scheduler.ts'
import type { StreamName } from './cluster-bus.ts'

/** How long another process has to answer, and how often it is asked. */
const answerMs = 1_000
const maxAttempts = 3

/** Asks other processes whether they still send on a stream that they opened. */
export class StreamStatus {
  readonly #ask: (stream: StreamName) => void
  /** The questions that wait for an answer, by the id of the stream. */
  readonly #waiting = new Map<string, Set<(isOpen: boolean) => void>>()

  /** @param ask Sends the question to every process. */
  constructor(ask: (stream: StreamName) => void) {
    this.#ask = ask
  }

  /** Resolves with false if the process says so, or if it does not answer. */
  async isOpen(name: StreamName): Promise<boolean> {
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      const isOpen = await this.#answerFor(name)
      if (isOpen !== undefined) return isOpen
    }
    return false
  }

  /** An answer arrived. */
  answered(stream: string, isOpen: boolean): void {
    for (const finish of this.#waiting.get(stream) ?? []) finish(isOpen)
  }

  #answerFor(name: StreamName): Promise<boolean | undefined> {
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(name.stream) ?? new Set()
      this.#waiting.set(name.stream, waiting)
      const finish = (isOpen: boolean | undefined) => {
        scheduler.clearTimeout(timer)
        waiting.delete(finish)
        if (waiting.size === 0) this.#waiting.delete(name.stream)
        resolve(isOpen)
      }
      const timer = scheduler.setTimeout(() => finish(undefined), answerMs)
      waiting.add(finish)
      this.#ask(name)
    })
  }
}

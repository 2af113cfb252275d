import type { TaskRuntime } from './task-runtime.ts'

/** Starts the tasks of a server with its first connection, and stops them when the last holder releases it. */
export class ServerTasks {
  readonly #onError: (error: unknown) => void
  #runtime: TaskRuntime | undefined
  #holders = 0

  constructor(onError: (error: unknown) => void) {
    this.#onError = onError
  }

  set runtime(runtime: TaskRuntime) {
    this.#runtime = runtime
  }

  start(): void {
    this.#runtime?.start().catch(this.#onError)
  }

  async stop(): Promise<void> {
    await this.#runtime?.stop()
  }

  /** Lets tasks run until the returned function is called. */
  hold(): () => Promise<void> {
    this.#holders++
    this.start()
    let isHeld = true
    return async () => {
      if (isHeld && --this.#holders === 0) await this.stop()
      isHeld = false
    }
  }
}

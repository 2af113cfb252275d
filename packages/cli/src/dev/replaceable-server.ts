import type { CloseDetail } from 'tenon'
import { type Program, ServerProcess } from './server-process.ts'

/** What happens to the processes of a `ReplaceableServer`. */
export interface ProcessEvents {
  message(server: ServerProcess, message: unknown): void
  /** A line on stdout is not a message. */
  stray(problem: string): void
  stderr(text: string): void
  /** A process is going to be started, and reads the files as they are from now on. */
  starting(): void
  /**
   * A process was started. The next replacement waits until the promise settles, so it has to settle early if the process is not
   * wanted any more.
   */
  started(server: ServerProcess, notWanted: Promise<undefined>): Promise<void>
  /** The program could not be started. */
  startFailed(server: ServerProcess, error: unknown): void
  /** A process is going to be stopped. It may still answer. */
  stopping(server: ServerProcess): void
  stopped(server: ServerProcess): void
  /** A process has ended without being stopped. */
  exited(server: ServerProcess, exit: CloseDetail): void
}

/** A server that runs in one process after the other. The next one is started when the one before is gone. */
export class ReplaceableServer {
  readonly #program: Program
  readonly #events: ProcessEvents
  #current: ServerProcess | undefined
  #stopping: ServerProcess | undefined
  /** Counts the replacements that were wanted. One that is not the last ends early. */
  #wanted = 0
  #replacing: Promise<void> | undefined
  #interrupt: () => void = () => {}
  #isClosed = false

  constructor(program: Program, events: ProcessEvents) {
    this.#program = program
    this.#events = events
  }

  /** The process that is being started, or that runs. */
  get current(): ServerProcess | undefined {
    return this.#current
  }

  /** The process that is being stopped. */
  get stopping(): ServerProcess | undefined {
    return this.#stopping
  }

  /** Stops the process, if there is one, and starts another. Called during a replacement, it begins again. */
  replace(): void {
    this.#wanted++
    this.#interrupt()
    this.#replacing ??= this.#replaceUntilLast()
  }

  /** Stops the process, and waits until it is gone. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#interrupt()
    await this.#replacing
    await this.#current?.stop()
  }

  async #replaceUntilLast(): Promise<void> {
    for (let wanted = 0; wanted !== this.#wanted && !this.#isClosed; ) {
      wanted = this.#wanted
      await this.#stop()
      if (wanted === this.#wanted && !this.#isClosed) await this.#start()
    }
    this.#replacing = undefined
  }

  async #stop(): Promise<void> {
    const server = this.#current
    if (!server) return
    this.#stopping = server
    this.#current = undefined
    this.#events.stopping(server)
    await server.stop()
    this.#stopping = undefined
    this.#events.stopped(server)
  }

  async #start(): Promise<void> {
    const { message, stray, stderr, started, startFailed } = this.#events
    const server: ServerProcess = new ServerProcess(this.#program, {
      message: (received) => message(server, received),
      stray,
      stderr,
      exit: (exit) => this.#exited(server, exit),
    })
    const notWanted = new Promise<undefined>((resolve) => {
      this.#interrupt = () => resolve(undefined)
    })
    this.#current = server
    this.#events.starting()
    try {
      await server.start()
    } catch (error) {
      this.#current = undefined
      return startFailed(server, error)
    }
    await started(server, notWanted)
  }

  #exited(server: ServerProcess, exit: CloseDetail): void {
    if (server !== this.#current || this.#isClosed) return
    this.#current = undefined
    this.#events.exited(server, exit)
  }
}

import type { Output } from '../output.ts'
import { DevSession, type DevSessionOptions } from './dev-session.ts'
import { RequestLog } from './request-log.ts'
import type { Program } from './server-process.ts'
import { ChangeWatcher } from './watcher.ts'

/** Options of `DevServer`. */
export interface DevServerOptions {
  readonly program: Program
  /** The file of the server, if it is not a command. */
  readonly file?: string | undefined
  /** Further files and folders to watch. */
  readonly watch: readonly string[]
  readonly output: Output
}

/** Watches the code of a server, and restarts the processes of all its clients when it changes. */
export class DevServer {
  readonly log: RequestLog
  readonly #options: DevServerOptions
  readonly #watcher: ChangeWatcher
  readonly #sessions = new Set<DevSession>()

  constructor(options: DevServerOptions) {
    this.#options = options
    this.log = new RequestLog(options.output)
    this.#watcher = new ChangeWatcher({
      file: options.file,
      paths: options.watch,
      onStale: () => {
        for (const session of this.#sessions) session.hold()
      },
      onChange: (changed) => {
        for (const session of this.#sessions) session.restart(changed)
      },
      onError: (error) => this.log.warn(`Cannot watch: ${error instanceof Error ? error.message : error}`),
    })
  }

  /** Starts a process for a client. */
  open(send: DevSessionOptions['send']): DevSession {
    const session = new DevSession({
      program: this.#options.program,
      log: this.log,
      send,
      check: () => this.#watcher.check(),
      // The author's own program: its output is shown as if it had been started without this one.
      stderr: (text) => void process.stderr.write(text),
    })
    this.#sessions.add(session)
    session.start()
    return session
  }

  /** Ends the process of a client. */
  async end(session: DevSession): Promise<void> {
    await session.close()
    this.#sessions.delete(session)
  }

  /** Ends all processes and stops watching. */
  async close(): Promise<void> {
    await Promise.all([...this.#sessions].map((session) => session.close()))
    await this.#watcher.close()
  }
}

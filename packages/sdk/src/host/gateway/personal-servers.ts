import { UrlElicitationRequiredError } from '../../errors.ts'
import type { Context } from '../../server/context.ts'
import type { Host } from '../host.ts'
import type { CallerTable } from './caller-table.ts'

export interface PersonalServersOptions {
  readonly host: Host
  readonly callers: CallerTable
  /** The servers that callers use with tokens of their own. */
  readonly ids: readonly string[]
  onError(error: unknown): void
}

/** Servers that each caller uses with a token of its own. If the host has none for them, a caller has to list their tools. */
export class PersonalServers {
  readonly #options: PersonalServersOptions

  constructor(options: PersonalServersOptions) {
    this.#options = options
  }

  /** Reads the definitions of servers that the host could not read. */
  async prepare(ctx: Context): Promise<void> {
    const { host, callers, ids, onError } = this.#options
    if (ids.length === 0) return
    await host.ready()
    const unknown = ids.filter((id) => host.lacksDefinitions(id))
    if (unknown.length === 0) return
    const { session, release } = callers.acquire(ctx)
    try {
      await Promise.all(
        unknown.map((id) => session.host.prepareServer(id).catch((error) => this.#failed(error, onError))),
      )
    } finally {
      release()
    }
  }

  /** A user who has to log in first is told so by a call, not by a list. */
  #failed(error: unknown, onError: (error: unknown) => void): void {
    if (!(error instanceof UrlElicitationRequiredError)) onError(error)
  }
}

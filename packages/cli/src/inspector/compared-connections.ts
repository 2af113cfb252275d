import type { RevisionId } from 'tenon'
import type { OpenConnection } from './inspected-server.ts'

/** Connections of other revisions to the same server. Each is opened when it is used first. */
export class ComparedConnections {
  readonly #open: (revision: RevisionId) => Promise<OpenConnection>
  readonly #connections = new Map<RevisionId, Promise<OpenConnection>>()

  /** @param open Opens a connection. */
  constructor(open: (revision: RevisionId) => Promise<OpenConnection>) {
    this.#open = open
  }

  /** Returns the connection of a revision. */
  get(revision: RevisionId): Promise<OpenConnection> {
    const known = this.#connections.get(revision)
    if (known) return known
    const opening = this.#open(revision)
    const forget = () => {
      if (this.#connections.get(revision) === opening) this.#connections.delete(revision)
    }
    this.#connections.set(revision, opening)
    // Another attempt may succeed.
    opening.then(({ client }) => client.on('state', ({ state }) => state === 'closed' && forget()), forget)
    return opening
  }

  /** Calls a function with every open connection. */
  async each(call: (connection: OpenConnection) => unknown): Promise<void> {
    for (const opening of [...this.#connections.values()]) {
      const connection = await opening.catch(() => undefined)
      if (connection) await call(connection)
    }
  }

  /** Closes all connections, also those that are being opened. */
  async close(): Promise<void> {
    const closing = this.each(({ client }) => client.close())
    this.#connections.clear()
    await closing
  }
}

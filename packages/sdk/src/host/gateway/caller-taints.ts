import type { Call } from '../../era/call.ts'
import { type Taint, UnknownTaint } from '../taint.ts'
import { anonymous, identityOf } from './identity.ts'

export interface CallerTaintsOptions {
  /** The ids of all servers. */
  ids(): readonly string[]
  /** Whether other nodes may serve the same callers: what callers read there is not known here. */
  readonly isOneOfSeveral: boolean
}

/** Far more than callers with connections, because a caller must not be forgotten when its connections are closed. */
const maxCallers = 10_000

/**
 * What callers have read, by user or session. A user who comes back with another program, or after a while, has still read it.
 * Callers that cannot be recognized, or may have been forgotten, count as having read everything.
 */
export class CallerTaints {
  readonly #unknown: Taint
  readonly #isOneOfSeveral: boolean
  /** Callers who have read something, least recently used first. */
  readonly #read = new Map<string, Set<string>>()
  #hasForgotten = false

  constructor({ ids, isOneOfSeveral }: CallerTaintsOptions) {
    this.#unknown = new UnknownTaint(ids)
    this.#isOneOfSeveral = isOneOfSeveral
  }

  of(call: Pick<Call, 'link' | 'stream'>): Taint {
    const caller = callerOf(call)
    if (this.#isOneOfSeveral || caller === anonymous) return this.#unknown
    return {
      add: (server) => this.#add(caller, server),
      for: (server) => this.#for(caller, server),
    }
  }

  /** A session or connection has ended. Nobody can come back to it. */
  left(link: Call['link']): void {
    this.#read.delete(identityOf({ stream: undefined, link }))
  }

  #add(caller: string, server: string): void {
    const servers = this.#read.get(caller) ?? new Set()
    servers.add(server)
    this.#read.delete(caller)
    this.#read.set(caller, servers)
    if (this.#read.size <= maxCallers) return
    const [oldest] = this.#read.keys()
    this.#read.delete(oldest!)
    this.#hasForgotten = true
  }

  #for(caller: string, server: string): readonly string[] {
    const servers = this.#read.get(caller)
    if (!servers && this.#hasForgotten) return this.#unknown.for(server)
    return servers ? [...servers].filter((id) => id !== server) : []
  }
}

/** The user, whatever session the request belongs to; without one, the session or connection. */
function callerOf(call: Pick<Call, 'link' | 'stream'>): string {
  const principal = call.stream?.request?.principal
  return principal === undefined ? identityOf(call) : `user ${principal}`
}

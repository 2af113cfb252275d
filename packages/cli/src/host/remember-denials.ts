import type { Approve } from 'tenon/host'

/** An approval that does not ask the same question again after it was denied. */
export interface RememberedDenials {
  readonly approve: Approve
  /** Asks again about the connection and the definitions of a server. */
  forget(server: string): void
}

/**
 * Remembers denied connections and definitions until the program ends. A host tries failed servers again whenever tools are
 * listed, and the user should not have to deny the same server each time.
 */
export function rememberDenials(ask: Approve): RememberedDenials {
  const denied = new Map<string, string>()
  return {
    approve: async (request) => {
      const { action, digest } = request
      const isStanding = action.kind === 'connect' || action.kind === 'definitions'
      if (isStanding && denied.has(digest)) return 'deny'
      const answer = await ask(request)
      const decision = typeof answer === 'string' ? answer : answer.decision
      if (isStanding && decision === 'deny') denied.set(digest, action.server.id)
      return answer
    },
    forget: (server) => {
      for (const [digest, id] of denied) if (id === server) denied.delete(digest)
    },
  }
}

import type { Root } from '../protocol/roots.ts'
import type { ActionServer } from './action.ts'
import type { AuditLog } from './audit/audit.ts'
import type { Consent } from './consent.ts'
import { checkRootAccess, type ServerRoots } from './roots.ts'

/** Gives servers the roots that the user allows. */
export class RootProvider {
  readonly #roots: ServerRoots
  readonly #consent: Consent
  readonly #audit: AuditLog | undefined

  constructor(roots: ServerRoots, consent: Consent, audit: AuditLog | undefined) {
    this.#roots = roots
    this.#consent = consent
    this.#audit = audit
  }

  /** The accessible roots of a server, if the user agrees to show them; otherwise none. */
  async for(server: ActionServer): Promise<Root[]> {
    const access = await checkRootAccess(this.#roots.rootsFor(server.id))
    const roots = access.filter(({ isAccessible }) => isAccessible).map(({ root }) => root)
    if (roots.length === 0) return []
    const { allowed } = await this.#consent.decide({ kind: 'roots', server, roots })
    this.#audit?.append({ event: 'roots', server: server.id, details: { allowed, roots: roots.map(({ uri }) => uri) } })
    return allowed ? roots : []
  }
}

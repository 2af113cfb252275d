import type { Root } from '../protocol/roots.ts'
import type { ActionServer } from './action.ts'
import type { AuditLog } from './audit/audit.ts'
import type { Consent } from './consent.ts'
import { checkRootAccess, type ServerRoots } from './roots.ts'

/** Gives servers the roots that the user allows. */
export class RootProvider {
  readonly #rootsFor: ServerRoots['rootsFor']
  readonly #consent: Consent
  readonly #audit: AuditLog | undefined

  constructor(rootsFor: ServerRoots['rootsFor'], consent: Consent, audit: AuditLog | undefined) {
    this.#rootsFor = rootsFor
    this.#consent = consent
    this.#audit = audit
  }

  /** The accessible roots of a server, if the user agrees to show them; otherwise none. */
  async for(server: ActionServer): Promise<Root[]> {
    const given = this.#rootsFor(server.id)
    const access = await checkRootAccess(given)
    const roots = access.filter(({ isAccessible }) => isAccessible).map(({ root }) => root)
    if (roots.length === 0) return []
    const { allowed } = await this.#consent.decide({ kind: 'roots', server, roots })
    // The host may have got other roots while the user was asked. The answer was about the old ones.
    if (!isSame(given, this.#rootsFor(server.id))) return this.for(server)
    this.#audit?.append({ event: 'roots', server: server.id, details: { allowed, roots: roots.map(({ uri }) => uri) } })
    return allowed ? roots : []
  }
}

function isSame(a: readonly Root[], b: readonly Root[]): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}

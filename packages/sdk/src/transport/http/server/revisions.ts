import type { RevisionFacts } from '../../../protocol/endpoint.ts'
import { revisionWithoutHeader } from '../../../protocol/revisions/index.ts'

/** The protocol revisions that a server serves, as HTTP looks them up. */
export class Revisions {
  readonly #byId: ReadonlyMap<string, RevisionFacts>
  readonly #newestHandshake: RevisionFacts | undefined

  constructor(newestFirst: readonly RevisionFacts[]) {
    this.#byId = new Map(newestFirst.map((revision) => [revision.id, revision]))
    this.#newestHandshake = newestFirst.find(({ era }) => era === 'handshake')
  }

  /** Newest first. */
  get ids(): string[] {
    return [...this.#byId.keys()]
  }

  get hasHandshake(): boolean {
    return this.#newestHandshake !== undefined
  }

  /** Undefined for a version that is not served. */
  eraOf(version: string): RevisionFacts['era'] | undefined {
    return this.#byId.get(version)?.era
  }

  /** Whether an error about an unreadable message goes without `id`; false for a version that is not served. */
  omitsUnknownId(version: string | undefined): boolean {
    return version !== undefined && this.#byId.get(version)?.omitsUnknownId === true
  }

  /** The revision that a request of the handshake era outside of any session is treated as. Call it only if `hasHandshake`. */
  assumedHandshake(version: string = revisionWithoutHeader): RevisionFacts {
    const found = this.#byId.get(version)
    return found?.era === 'handshake' ? found : this.#newestHandshake!
  }
}

import type { RevisionFacts } from '../../../jsonrpc/endpoint.ts'

/** The revisions on offer, as the engine asks for them. */
export class Revisions {
  readonly #byId: ReadonlyMap<string, RevisionFacts>
  readonly #newestHandshake: RevisionFacts | undefined

  /** @param newestFirst All that are on offer. */
  constructor(newestFirst: readonly RevisionFacts[]) {
    this.#byId = new Map(newestFirst.map((revision) => [revision.id, revision]))
    this.#newestHandshake = newestFirst.find(({ era }) => era === 'handshake')
  }

  get hasHandshake(): boolean {
    return this.#newestHandshake !== undefined
  }

  /** Undefined for a version that is not served. */
  eraOf(version: string): RevisionFacts['era'] | undefined {
    return this.#byId.get(version)?.era
  }

  /** The one of this id, or the newest with a handshake; there is one. */
  handshake(id: string): RevisionFacts {
    const found = this.#byId.get(id)
    return found?.era === 'handshake' ? found : this.#newestHandshake!
  }
}

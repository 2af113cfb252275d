import type { InspectorEvent, RootsSet } from '../../../src/inspector/protocol.ts'
import { Changes } from './changes.ts'
import type { ViewModel } from './view-model.ts'

const none: RootsSet['roots'] = []

/** The roots that each server sees. */
export class Roots implements ViewModel {
  readonly changes = new Changes()
  readonly #byServer = new Map<string, RootsSet['roots']>()

  apply(event: InspectorEvent): void {
    if (event.kind !== 'roots') return
    this.#byServer.set(event.server, event.roots)
    this.changes.mark()
  }

  of(server: string): RootsSet['roots'] {
    return this.#byServer.get(server) ?? none
  }
}

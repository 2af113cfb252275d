import type { InspectorEvent } from '../../../src/inspector/protocol.ts'
import { Changes } from './changes.ts'
import type { EventOf, ViewModel } from './view-model.ts'

const maxSteps = 500

/** The steps of discovery and login of each server, in order. */
export class AuthSteps implements ViewModel {
  readonly changes = new Changes()
  readonly #steps = new Map<string, EventOf<'auth'>[]>()

  apply(event: InspectorEvent): void {
    if (event.kind !== 'auth') return
    this.#steps.set(event.server, [...this.of(event.server), event].slice(-maxSteps))
    this.changes.mark()
  }

  of(server: string): readonly EventOf<'auth'>[] {
    return this.#steps.get(server) ?? []
  }
}

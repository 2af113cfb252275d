import type { InspectorEvent } from '../../../src/inspector/protocol.ts'
import type { Changes } from './changes.ts'

/** A view that is derived from the log, one event at a time. */
export interface ViewModel {
  readonly changes: Changes
  apply(event: InspectorEvent): void
}

/** An event of one kind. */
export type EventOf<Kind extends InspectorEvent['kind']> = Extract<InspectorEvent, { kind: Kind }>

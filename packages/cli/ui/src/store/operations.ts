import type { InspectorEvent, OperationEnded, OperationStarted } from '../../../src/inspector/protocol.ts'
import { Changes } from './changes.ts'
import type { EventOf, ViewModel } from './view-model.ts'

/** A request that the user started, and what came of it. */
export interface OperationView extends Omit<OperationStarted, 'kind'> {
  readonly startedAt: number
  readonly progress?: EventOf<'progress'> | undefined
  readonly ended?: (OperationEnded & { readonly seq: number; readonly at: number }) | undefined
  /** The messages that belong to it, in order. The newest are left out if there are very many. */
  readonly messages: readonly EventOf<'message'>[]
}

type Draft = { -readonly [Key in keyof OperationView]: OperationView[Key] } & { messages: EventOf<'message'>[] }

const maxMessages = 2_000

/** What the user started, by id and in order. */
export class Operations implements ViewModel {
  readonly changes = new Changes()
  readonly #byId = new Map<string, Draft>()

  apply(event: InspectorEvent): void {
    if (event.kind === 'operation') this.#start(event)
    else if (event.kind === 'progress') this.#replace(event.operation, { progress: event })
    else if (event.kind === 'operation-ended') this.#replace(event.operation, { ended: event })
    else if (event.kind === 'message') this.#addMessage(event)
  }

  get(operation: string | undefined): OperationView | undefined {
    return operation === undefined ? undefined : this.#byId.get(operation)
  }

  /** Operations of a server, newest first. */
  of(server: string, isWanted: (operation: OperationView) => boolean = () => true): OperationView[] {
    const found: OperationView[] = []
    for (const operation of this.#byId.values()) {
      if (operation.server === server && isWanted(operation)) found.push(operation)
    }
    return found.reverse()
  }

  /** The operations that are compared with each other. */
  compared(comparison: string): OperationView[] {
    return [...this.#byId.values()].filter((operation) => operation.comparison === comparison)
  }

  #start(event: EventOf<'operation'>): void {
    const { server, operation, method, params, revision, comparison, at } = event
    this.#byId.set(operation, { server, operation, method, params, revision, comparison, startedAt: at, messages: [] })
    this.changes.mark()
  }

  /** Replaces the object, so that components can tell by identity that it changed. */
  #replace(operation: string, changed: Partial<Draft>): void {
    const before = this.#byId.get(operation)
    if (before === undefined) return
    this.#byId.set(operation, { ...before, ...changed })
    this.changes.mark()
  }

  #addMessage(event: EventOf<'message'>): void {
    const found = this.#byId.get(event.operation ?? this.#comparing(event) ?? '')
    if (found === undefined || found.messages.length >= maxMessages) return
    found.messages.push(event)
    this.changes.mark()
  }

  /** The handshake of a connection that was opened for a comparison belongs to that comparison. */
  #comparing({ server, comparedRevision }: EventOf<'message'>): string | undefined {
    if (comparedRevision === undefined) return undefined
    for (const operation of this.#byId.values()) {
      const isIt =
        operation.server === server && operation.revision === comparedRevision && operation.ended === undefined
      if (isIt) return operation.operation
    }
    return undefined
  }
}

import { scheduler, type Timer } from '../util/scheduler.ts'
export type ListName = 'tools' | 'prompts' | 'resources'

/** A change that clients can be notified of: of a list, or of the contents of a resource. */
export type Change = { list: ListName } | Update

/** An update of a resource. Subscribers of `partOf`, the resource that contains it, are notified too. */
export interface Update {
  readonly updated: string
  readonly partOf?: string | undefined
  /** Only these subscribers are notified. Undefined: all of them. */
  readonly audience?: ReadonlySet<string> | undefined
}

/**
 * Emits changes to listeners. List changes are coalesced, because registrations come in bursts; updates of resources are
 * emitted at once.
 */
export class Changes {
  readonly #listeners = new Set<(change: Change) => void>()
  readonly #delayMs: number
  readonly #changedLists = new Set<ListName>()
  #timer: Timer | undefined

  constructor(delayMs: number) {
    this.#delayMs = delayMs
  }

  on(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  listChanged(list: ListName): void {
    if (this.#listeners.size === 0) return
    this.#changedLists.add(list)
    this.#timer ??= scheduler.setTimeout(() => this.#flush(), this.#delayMs)
  }

  updated(uri: string, partOf?: string): void {
    this.emit({ updated: uri, ...(partOf !== undefined && { partOf }) })
  }

  #flush(): void {
    this.#timer = undefined
    const lists = [...this.#changedLists]
    this.#changedLists.clear()
    for (const list of lists) this.emit({ list })
  }

  /** Calls every listener. */
  emit(change: Change): void {
    for (const listener of this.#listeners) listener(change)
  }
}

/** The updated resource may be part of the subscribed one (2025-11-25 schema, `ResourceUpdatedNotificationParams`). */
export function isSubscribed(
  subscriptions: { has(uri: string): boolean; readonly audience?: string | undefined },
  { updated, partOf, audience }: Update,
): boolean {
  if (audience && (subscriptions.audience === undefined || !audience.has(subscriptions.audience))) return false
  return subscriptions.has(updated) || (partOf !== undefined && subscriptions.has(partOf))
}

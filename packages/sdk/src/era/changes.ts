export type ListName = 'tools' | 'prompts' | 'resources'

/** Something a client may want to hear of: a list is no longer what it was, or a resource has new contents. */
export type Change = { list: ListName } | Update

/** `partOf` is a resource that `updated` belongs to, whose subscribers hear of it too. */
export interface Update {
  readonly updated: string
  readonly partOf?: string | undefined
}

/**
 * Tells everyone who listens what changed. Changes of lists wait a moment and go out once, because registrations come
 * in bursts; updates of resources go out at once.
 */
export class Changes {
  readonly #listeners = new Set<(change: Change) => void>()
  readonly #delayMs: number
  readonly #waiting = new Set<ListName>()
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(delayMs: number) {
    this.#delayMs = delayMs
  }

  on(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  listChanged(list: ListName): void {
    if (this.#listeners.size === 0) return
    this.#waiting.add(list)
    this.#timer ??= setTimeout(() => this.#flush(), this.#delayMs)
  }

  updated(uri: string, partOf?: string): void {
    this.tell({ updated: uri, ...(partOf !== undefined && { partOf }) })
  }

  #flush(): void {
    this.#timer = undefined
    const lists = [...this.#waiting]
    this.#waiting.clear()
    for (const list of lists) this.tell({ list })
  }

  /** Tells everyone at once. */
  tell(change: Change): void {
    for (const listener of this.#listeners) listener(change)
  }
}

/** An update may be of a part of what was subscribed to (2025-11-25 schema, `ResourceUpdatedNotificationParams`). */
export function isSubscribed(subscriptions: { has(uri: string): boolean }, { updated, partOf }: Update): boolean {
  return subscriptions.has(updated) || (partOf !== undefined && subscriptions.has(partOf))
}

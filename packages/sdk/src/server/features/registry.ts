/** The handle that registration returns. Connected clients are notified of every change. */
export interface Registered {
  readonly name: string
  readonly enabled: boolean
  /** Offers the item again. */
  enable(): void
  /** Hides the item and rejects its use until `enable()`. */
  disable(): void
  /** Removes the item for good. */
  remove(): void
}

/** A handle with `update()`. */
export interface Updatable<Changes> extends Registered {
  /** Changes the given parts of the item. */
  update(changes: Changes): void
}

interface Item {
  /** Unique in the registry: the name of a tool, the URI of a resource. */
  readonly key: string
  readonly name: string
  readonly enabled: boolean
}

/** The registered items of one kind, in order of registration. Items are replaced, never mutated. */
export class Registry<E extends Item> {
  readonly #kind: string
  readonly #changed: () => void
  readonly #items = new Map<string, E>()
  #used = false

  constructor(kind: string, changed: () => void) {
    this.#kind = kind
    this.#changed = changed
  }

  /** True once an item was registered. It stays true, because a capability must not disappear with the last item. */
  get used(): boolean {
    return this.#used
  }

  get(key: string): E | undefined {
    return this.#items.get(key)
  }

  all(): E[] {
    return [...this.#items.values()]
  }

  enabled(): E[] {
    return this.all().filter((item) => item.enabled)
  }

  /** @param rebuild Returns a new item with the changes applied. */
  register<Changes>(item: E, rebuild: (item: E, changes: Changes) => E): Updatable<Changes> {
    let current = item
    this.#add(current)
    const replace = (next: E) => {
      if (this.#items.get(current.key) !== current) {
        throw new TypeError(`The ${this.#kind} "${current.key}" was removed. Register it again.`)
      }
      if (next.key !== current.key) {
        this.#rejectDuplicate(next.key)
        this.#items.delete(current.key)
      }
      current = next
      this.#items.set(next.key, next)
      this.#changed()
    }
    return {
      get name() {
        return current.name
      },
      get enabled() {
        return current.enabled
      },
      enable: () => replace({ ...current, enabled: true }),
      disable: () => replace({ ...current, enabled: false }),
      update: (changes) => replace(rebuild(current, changes)),
      remove: () => {
        if (this.#items.get(current.key) !== current) return
        this.#items.delete(current.key)
        this.#changed()
      },
    }
  }

  #add(item: E): void {
    this.#rejectDuplicate(item.key)
    this.#items.set(item.key, item)
    this.#used = true
    this.#changed()
  }

  #rejectDuplicate(key: string): void {
    if (!this.#items.has(key)) return
    throw new TypeError(
      `The ${this.#kind} "${key}" is already registered. Use update() of its handle, or choose another name.`,
    )
  }
}

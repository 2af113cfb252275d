/** The handle that registration returns. Every change is told to connected clients. */
export interface Registered {
  readonly name: string
  readonly enabled: boolean
  enable(): void
  disable(): void
  remove(): void
}

/** A handle whose item can be changed in any part. */
export interface Updatable<Changes> extends Registered {
  update(changes: Changes): void
}

interface Item {
  /** Names it among its kind: the name of a tool, the URI of a resource. */
  readonly key: string
  readonly name: string
  readonly enabled: boolean
}

/** What is registered of one kind, in order of registration. Items are replaced whole, never changed in place. */
export class Registry<E extends Item> {
  readonly #kind: string
  readonly #changed: () => void
  readonly #items = new Map<string, E>()
  #used = false

  constructor(kind: string, changed: () => void) {
    this.#kind = kind
    this.#changed = changed
  }

  /** Whether anything was ever registered: a capability once declared stays, also when the last item goes. */
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

  /** @param rebuild Makes the item anew with changes. */
  register<Changes>(item: E, rebuild: (item: E, changes: Changes) => E): Updatable<Changes> {
    let current = item
    this.#put(current)
    const replace = (next: E) => {
      if (this.#items.get(current.key) !== current) {
        throw new TypeError(`The ${this.#kind} ${current.key} was removed; register it again`)
      }
      if (next.key !== current.key) {
        this.#refuseDuplicate(next.key)
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

  #put(item: E): void {
    this.#refuseDuplicate(item.key)
    this.#items.set(item.key, item)
    this.#used = true
    this.#changed()
  }

  #refuseDuplicate(key: string): void {
    if (!this.#items.has(key)) return
    throw new TypeError(
      `The ${this.#kind} ${key} is registered already; change it by its handle's update(), or choose another name`,
    )
  }
}

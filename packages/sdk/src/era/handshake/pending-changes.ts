import { isObject } from '../../util/objects.ts'

const logLevel = 'level'

/** The parts of a session that messages are changing now. A state that another process stored must not overwrite them. */
export class PendingChanges {
  /** How many messages change each part. */
  readonly #parts = new Map<string, number>()

  get size(): number {
    return this.#parts.size
  }

  get hasLogLevel(): boolean {
    return this.#parts.has(logLevel)
  }

  hasUri(uri: string): boolean {
    return this.#parts.has(toPart(uri))
  }

  /**
   * Begins the changes of a message or a batch.
   * @returns A function that ends them.
   */
  begin(message: unknown): () => void {
    const parts = (Array.isArray(message) ? message : [message]).flatMap(partsOf)
    for (const part of parts) this.#count(part, 1)
    return () => {
      for (const part of parts.splice(0)) this.#count(part, -1)
    }
  }

  #count(part: string, by: 1 | -1): void {
    const count = (this.#parts.get(part) ?? 0) + by
    if (count > 0) this.#parts.set(part, count)
    else this.#parts.delete(part)
  }
}

function partsOf(message: unknown): string[] {
  if (!isObject(message)) return []
  const { method, params } = message
  if (method === 'logging/setLevel') return [logLevel]
  const isSubscription = method === 'resources/subscribe' || method === 'resources/unsubscribe'
  return isSubscription && isObject(params) && typeof params.uri === 'string' ? [toPart(params.uri)] : []
}

function toPart(uri: string): string {
  return `uri ${uri}`
}

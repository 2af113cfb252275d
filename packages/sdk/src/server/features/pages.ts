import { ProtocolError, RpcCode } from '../../errors.ts'
import { isObject } from '../../util/objects.ts'
import type { Sealer } from '../../util/seal.ts'

/** Far longer than a cursor of ours; what is longer is not even looked at. */
const maxCursorLength = 20_000

export interface Page<T> {
  items: T[]
  nextCursor?: string
}

/**
 * Cuts lists into pages. A cursor is sealed, so that a made-up one is told from a real one, and names the item it
 * follows, so that it stays right when items before it come or go.
 */
export class Pages {
  readonly #sealer: Sealer
  readonly #size: number

  constructor(sealer: Sealer, size: number) {
    this.#sealer = sealer
    this.#size = size
  }

  /** @param keyOf Names an item among the others of its list. */
  cut<T>(list: string, items: T[], keyOf: (item: T) => string, cursor: string | undefined): Page<T> | Promise<Page<T>> {
    if (cursor === undefined && items.length <= this.#size) return { items }
    return this.#cutAt(list, items, keyOf, cursor)
  }

  async #cutAt<T>(list: string, items: T[], keyOf: (item: T) => string, cursor: string | undefined): Promise<Page<T>> {
    const start = cursor === undefined ? 0 : await this.#positionAfter(list, items, keyOf, cursor)
    const end = start + this.#size
    const page = items.slice(start, end)
    if (end >= items.length) return { items: page }
    return { items: page, nextCursor: await this.#sealer.seal([keyOf(page.at(-1)!), end], `cursor ${list}`) }
  }

  async #positionAfter<T>(list: string, items: T[], keyOf: (item: T) => string, cursor: string): Promise<number> {
    const opened = cursor.length > maxCursorLength ? undefined : await this.#sealer.open(cursor, `cursor ${list}`)
    if (!Array.isArray(opened)) throw new ProtocolError(RpcCode.InvalidParams, 'params.cursor is not one of ours')
    const [key, position] = opened as [string, number]
    const index = items.findIndex((item) => keyOf(item) === key)
    // The item itself is gone: what came after it moved up by one.
    return index === -1 ? Math.max(position - 1, 0) : index + 1
  }
}

/** A list with members that were taken from outside must be an object without surprises. */
export function isResultWith(value: unknown, member: string): value is Record<string, unknown> {
  return isObject(value) && Array.isArray(value[member])
}

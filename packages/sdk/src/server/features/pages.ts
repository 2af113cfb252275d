import { ErrorCode, ProtocolError } from '../../errors.ts'
import type { Params, ResultObject } from '../../jsonrpc/message.ts'
import type { Outcome } from '../../replay/conversation.ts'
import type { Sealer } from '../../util/sealer.ts'

/** Far longer than any valid cursor. Longer ones are rejected without decryption. */
const maxCursorLength = 20_000

/**
 * Splits lists into pages. A cursor is encrypted, so that forged ones are detected, and names the item before the page, so
 * that it stays valid when items are added or removed.
 */
export class Pages {
  readonly #sealer: Sealer
  readonly #size: number

  constructor(sealer: Sealer, size: number) {
    this.#sealer = sealer
    this.#size = size
  }

  /**
   * Returns the page that the params ask for.
   * @param member The name of the list in the result.
   * @param keyOf Returns the unique key of an item.
   */
  list<T>(member: string, items: T[], keyOf: (item: T) => string, { cursor }: Params): Outcome {
    if (cursor === undefined && items.length <= this.#size) return { [member]: items }
    return this.#slice(member, items, keyOf, cursor as string | undefined)
  }

  async #slice<T>(
    member: string,
    items: T[],
    keyOf: (item: T) => string,
    cursor: string | undefined,
  ): Promise<ResultObject> {
    const start = cursor === undefined ? 0 : await this.#positionAfter(member, items, keyOf, cursor)
    const end = start + this.#size
    const page = items.slice(start, end)
    if (end >= items.length) return { [member]: page }
    return { [member]: page, nextCursor: await this.#sealer.seal([keyOf(page.at(-1)!), end], `cursor ${member}`) }
  }

  async #positionAfter<T>(list: string, items: T[], keyOf: (item: T) => string, cursor: string): Promise<number> {
    const opened = cursor.length > maxCursorLength ? undefined : await this.#sealer.open(cursor, `cursor ${list}`)
    if (!Array.isArray(opened))
      throw new ProtocolError(ErrorCode.InvalidParams, 'Invalid cursor: use the "nextCursor" of a previous response')
    const [key, position] = opened as [string, number]
    const index = items.findIndex((item) => keyOf(item) === key)
    // The item was removed, so the items after it moved up by one.
    return index === -1 ? Math.max(position - 1, 0) : index + 1
  }
}

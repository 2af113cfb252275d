import { ProtocolError, RpcCode } from '../../errors.ts'
import type { Params, ResultObject } from '../../jsonrpc/message.ts'
import type { Outcome } from '../../replay/conversation.ts'
import type { Sealer } from '../../util/sealer.ts'

/** Far longer than a cursor of ours; what is longer is not even looked at. */
const maxCursorLength = 20_000

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

  /**
   * The page that the params ask for.
   * @param member What the result calls the list.
   * @param keyOf Names an item among the others of its list.
   */
  list<T>(member: string, items: T[], keyOf: (item: T) => string, { cursor }: Params): Outcome {
    if (cursor === undefined && items.length <= this.#size) return { [member]: items }
    return this.#cut(member, items, keyOf, cursor as string | undefined)
  }

  async #cut<T>(
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
    if (!Array.isArray(opened)) throw new ProtocolError(RpcCode.InvalidParams, 'params.cursor is not one of ours')
    const [key, position] = opened as [string, number]
    const index = items.findIndex((item) => keyOf(item) === key)
    // The item itself is gone: what came after it moved up by one.
    return index === -1 ? Math.max(position - 1, 0) : index + 1
  }
}

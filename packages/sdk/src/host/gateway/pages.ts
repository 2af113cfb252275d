import { ErrorCode, ProtocolError } from '../../errors.ts'
import type { Sealer } from '../../util/sealer.ts'

const pageSize = 500

/** Pages of a merged list. The cursor holds the last name, so that a list that changes meanwhile skips or repeats little. */
export class Pages {
  readonly #sealer: Sealer
  readonly #purpose: string

  constructor(sealer: Sealer, list: string) {
    this.#sealer = sealer
    this.#purpose = `gateway ${list}`
  }

  async of<T, R>(
    items: readonly T[],
    keyOf: (item: T) => string,
    cursor: string | undefined,
    toPage: (items: T[]) => R,
  ): Promise<R & { nextCursor?: string }> {
    const start = cursor === undefined ? 0 : await this.#startOf(items, keyOf, cursor)
    const page = items.slice(start, start + pageSize)
    const last = page.at(-1)
    const hasMore = start + pageSize < items.length && last !== undefined
    return {
      ...toPage(page),
      ...(hasMore && { nextCursor: await this.#sealer.seal([start + pageSize, keyOf(last)], this.#purpose) }),
    }
  }

  async #startOf<T>(items: readonly T[], keyOf: (item: T) => string, cursor: string): Promise<number> {
    const opened = await this.#sealer.open(cursor, this.#purpose)
    if (!Array.isArray(opened)) throw new ProtocolError(ErrorCode.InvalidParams, 'Invalid cursor')
    const [index, key] = opened as [number, string]
    const found = items.findIndex((item) => keyOf(item) === key)
    return found === -1 ? index : found + 1
  }
}

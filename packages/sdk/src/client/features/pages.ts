import { ErrorCode, McpError, PeerError } from '../../errors.ts'
import type { RequestOptions } from '../../jsonrpc/pending.ts'
import { isObject } from '../../util/objects.ts'
import type { Connection } from '../connection.ts'
import { ListCall } from '../list-call.ts'
import { invalidResult, type ResultOf } from '../requester.ts'
import type { CachedRequests } from '../response-cache.ts'

type ListMethod = 'tools/list' | 'prompts/list' | 'resources/list' | 'resources/templates/list' | 'tasks/list'

/** How one list is read. */
export interface ListSource<M extends ListMethod, Item> {
  readonly method: M
  /** Rejects if the server does not offer the list; undefined if it does. */
  require(): Promise<void> | undefined
  /** The items of a page, as the server sent them. */
  items(page: ResultOf<M>): Item[]
  /** The page with usable items only. */
  withItems(page: ResultOf<M>, items: Item[]): ResultOf<M>
  /** The usable items. */
  filter(items: Item[]): Item[]
  /** The member of the result that holds the items, for error messages. */
  readonly member: string
}

export interface PagesOptions {
  readonly connection: Connection
  readonly requests: CachedRequests
  warn(message: string): void
}

/** Reads lists page by page. */
export class Pages {
  readonly #options: PagesOptions

  constructor(options: PagesOptions) {
    this.#options = options
  }

  list<M extends ListMethod, Item>(
    source: ListSource<M, Item>,
    params: { cursor?: string } | undefined,
    options: RequestOptions | undefined,
  ): ListCall<ResultOf<M>, Item> {
    const { connection, requests } = this.#options
    let generation: number | undefined
    const fetch = async (cursor: string | undefined): Promise<ResultOf<M>> => {
      const missing = source.require()
      if (missing) await missing
      // A cursor is valid only in the session that it came from (2025-11-25 pagination).
      if (generation !== undefined && generation !== connection.generation) {
        throw new McpError(
          'closed',
          'The client reconnected while a list was read. Read the list again from the start.',
        )
      }
      const page = await requests
        .page(source.method, cursor, options)
        .catch((error) => emptyPage(error, source, cursor))
      generation = connection.generation
      const items: unknown = source.items(page)
      if (!Array.isArray(items)) throw invalidResult(source.method, `it has no ${source.member}`)
      return source.withItems(page, source.filter(items))
    }
    return new ListCall(fetch, (page) => source.items(page), params?.cursor)
  }

  /** The items that have their identifying field. One malformed item must not hide the others. */
  withField<Item extends object>(items: Item[], field: keyof Item & string): Item[] {
    return items.filter((item) => {
      const isUsable = isObject(item) && typeof item[field] === 'string'
      if (!isUsable) this.#options.warn(`The server sent a list item without ${field}, which is ignored`)
      return isUsable
    })
  }
}

/** Many servers have a capability and lack one of its lists, most often `resources/templates/list`: they have nothing in it. */
function emptyPage<M extends ListMethod, Item>(
  error: unknown,
  { method, withItems }: ListSource<M, Item>,
  cursor: string | undefined,
): ResultOf<M> {
  const isMissing = error instanceof PeerError && error.rpcCode === ErrorCode.MethodNotFound
  if (!isMissing || cursor !== undefined || method === 'tasks/list') throw error
  return withItems({} as ResultOf<M>, [])
}

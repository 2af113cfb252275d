import { McpError } from '../errors.ts'

/** More pages than any list has; a server that never ends is stopped here. */
const maxPages = 10_000

/** One page of a list, as it came. */
export interface ListPage {
  nextCursor?: string
}

/**
 * A list that was asked for. Await it for one page; iterate it for every item of every page; `all()` gives an array.
 *
 * @example
 * for await (const tool of client.listTools()) console.log(tool.name)
 */
export class ListCall<Page extends ListPage, Item> implements PromiseLike<Page>, AsyncIterable<Item> {
  readonly #fetch: (cursor: string | undefined) => Promise<Page>
  readonly #items: (page: Page) => Item[]
  readonly #cursor: string | undefined
  #first: Promise<Page> | undefined

  constructor(
    fetch: (cursor: string | undefined) => Promise<Page>,
    items: (page: Page) => Item[],
    cursor: string | undefined,
  ) {
    this.#fetch = fetch
    this.#items = items
    this.#cursor = cursor
  }

  // biome-ignore lint/suspicious/noThenProperty: being awaited is what this class is for
  then<A = Page, B = never>(
    resolved?: ((page: Page) => A | PromiseLike<A>) | null,
    rejected?: ((error: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.#firstPage().then(resolved, rejected)
  }

  catch<B = never>(rejected: (error: unknown) => B | PromiseLike<B>): Promise<Page | B> {
    return this.#firstPage().catch(rejected)
  }

  finally(settled: () => void): Promise<Page> {
    return this.#firstPage().finally(settled)
  }

  async *[Symbol.asyncIterator](): AsyncIterator<Item> {
    for await (const page of this.pages()) yield* this.#items(page)
  }

  /** Every page. An empty string is a cursor like any other; only its absence ends the list. */
  async *pages(): AsyncGenerator<Page> {
    const seen = new Set<string>()
    let page = await this.#firstPage()
    yield page
    while (page.nextCursor !== undefined && page.nextCursor !== null) {
      if (typeof page.nextCursor !== 'string') throw new McpError('invalid-response', 'nextCursor must be a string')
      if (seen.has(page.nextCursor) || seen.size >= maxPages) {
        throw new McpError('invalid-response', 'The list does not end: the server sends the same cursor again')
      }
      seen.add(page.nextCursor)
      page = await this.#fetch(page.nextCursor)
      yield page
    }
  }

  async all(): Promise<Item[]> {
    const items: Item[] = []
    for await (const item of this) items.push(item)
    return items
  }

  #firstPage(): Promise<Page> {
    this.#first ??= this.#fetch(this.#cursor)
    return this.#first
  }
}

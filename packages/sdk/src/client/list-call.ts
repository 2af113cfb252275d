import { McpError } from '../errors.ts'

/** Stops a server whose list never ends. */
const maxPages = 10_000

/** One page of a list. */
export interface ListPage {
  nextCursor?: string
}

/**
 * The result of a `list...` method. Await it for one page, iterate over it for the items of all pages, or call `all()` for an
 * array.
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

  /** Resolves with the first page. */
  // biome-ignore lint/suspicious/noThenProperty: awaiting a list is its API
  then<A = Page, B = never>(
    resolved?: ((page: Page) => A | PromiseLike<A>) | null,
    rejected?: ((error: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.#firstPage().then(resolved, rejected)
  }

  /** Handles the failure of the first page. */
  catch<B = never>(rejected: (error: unknown) => B | PromiseLike<B>): Promise<Page | B> {
    return this.#firstPage().catch(rejected)
  }

  /** Runs a callback when the first page has arrived or failed. */
  finally(settled: () => void): Promise<Page> {
    return this.#firstPage().finally(settled)
  }

  /** Yields the items of all pages. */
  async *[Symbol.asyncIterator](): AsyncIterator<Item> {
    for await (const page of this.pages()) yield* this.#items(page)
  }

  /** Yields every page. The list ends with the page that has no cursor; an empty string is a valid cursor. */
  async *pages(): AsyncGenerator<Page> {
    const seen = new Set<string>()
    let page = await this.#firstPage()
    yield page
    while (page.nextCursor !== undefined && page.nextCursor !== null) {
      if (typeof page.nextCursor !== 'string') throw new McpError('invalid-response', 'nextCursor must be a string')
      if (seen.has(page.nextCursor) || seen.size >= maxPages) {
        throw new McpError('invalid-response', 'The list does not end: the server sent the same cursor again')
      }
      seen.add(page.nextCursor)
      page = await this.#fetch(page.nextCursor)
      yield page
    }
  }

  /** Returns the items of all pages. */
  async all(): Promise<Item[]> {
    const items: Item[] = []
    // Page by page, because each step of an iterator creates several promises.
    for await (const page of this.pages()) for (const item of this.#items(page)) items.push(item)
    return items
  }

  #firstPage(): Promise<Page> {
    this.#first ??= this.#fetch(this.#cursor)
    return this.#first
  }
}

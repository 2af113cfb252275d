import type { Resource } from '../protocol/resources.ts'
import { clock } from '../util/clock.ts'
import { pause } from '../util/scheduler.ts'
import type { ServerConnection } from './server-connection.ts'

/** How long the pages of one list may take together. */
const maxReadMs = 60_000

/** How much of a list is remembered. */
const maxRemembered = 10_000

export interface ResourceListOptions {
  /** How long to wait for the list. */
  readonly waitMs: number
  /** The maximum size of what is remembered, as JSON. */
  readonly maxBytes: number
  /** A list that nobody waited for any more has arrived, and is different from the one before. */
  onLate(): void
}

/** The resources of one server: read when they are needed, and remembered for when the server does not answer. */
export class ResourceList {
  readonly #connection: ServerConnection
  readonly #options: ResourceListOptions
  #known: readonly Resource[] = []
  #reading: Promise<readonly Resource[] | undefined> | undefined
  /** The last answer did not come in time. Nobody waits until there is one, so that the server does not delay every request. */
  #isLate = false

  constructor(connection: ServerConnection, options: ResourceListOptions) {
    this.#connection = connection
    this.#options = options
  }

  /** What the server listed last. */
  get known(): readonly Resource[] {
    return this.#known
  }

  /** Reads the list. Undefined if the server fails, or does not answer in time: then the list arrives later. */
  async read(): Promise<readonly Resource[] | undefined> {
    if (this.#isLate) {
      void this.#readOnce()
      return undefined
    }
    const stop = new AbortController()
    const tooLate = pause(this.#options.waitMs, { signal: stop.signal }).then(() => {
      this.#isLate ||= !stop.signal.aborted
      return undefined
    })
    try {
      return await Promise.race([this.#readAfresh(), tooLate])
    } finally {
      stop.abort()
    }
  }

  /** A list that is being read may miss a change that the caller knows about. */
  async #readAfresh(): Promise<readonly Resource[] | undefined> {
    await this.#reading
    return this.#readOnce()
  }

  #readOnce(): Promise<readonly Resource[] | undefined> {
    this.#reading ??= this.#read()
      .catch(() => undefined)
      .finally(() => {
        this.#reading = undefined
      })
    return this.#reading
  }

  async #read(): Promise<readonly Resource[]> {
    const deadline = clock.monotonic() + maxReadMs
    const resources: Resource[] = []
    await this.#connection.use(async (client) => {
      for await (const page of client.listResources().pages()) {
        for (const resource of page.resources) resources.push(resource)
        if (page.nextCursor !== undefined && clock.monotonic() > deadline) throw new Error('The list takes too long')
      }
    })
    this.#remember(resources)
    return resources
  }

  #remember(resources: readonly Resource[]): void {
    const before = this.#known
    this.#known = beginningOf(resources, this.#options.maxBytes)
    const wasLate = this.#isLate
    this.#isLate = false
    if (wasLate && !isSame(before, this.#known)) this.#options.onLate()
  }
}

function beginningOf(resources: readonly Resource[], maxBytes: number): readonly Resource[] {
  let left = maxBytes
  const beginning: Resource[] = []
  for (const resource of resources.slice(0, maxRemembered)) {
    left -= JSON.stringify(resource).length
    if (left < 0) break
    beginning.push(resource)
  }
  return beginning
}

function isSame(a: readonly Resource[], b: readonly Resource[]): boolean {
  return a.length === b.length && a.every(({ uri }, index) => uri === b[index]?.uri)
}

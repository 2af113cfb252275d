import type { Tool } from 'tenon'
import type { Client } from 'tenon/client'
import type { EventLog } from './event-log.ts'
import { offeredLists, readList } from './lists.ts'
import { inOperation } from './operation-context.ts'
import type { ListName } from './protocol.ts'

/** A list is read again at most this often, however many changes the server announces. */
const minIntervalMs = 1_000

/** Keeps the lists of one server up to date in the log. */
export class ListReader {
  readonly #server: string
  readonly #log: EventLog
  /** Lists that are being read, or that wait for the next time. */
  readonly #waiting = new Map<ListName, NodeJS.Timeout | undefined>()
  readonly #again = new Set<ListName>()
  #toolsWithOutput: ReadonlySet<string> = new Set()
  #client: Client | undefined

  constructor(server: string, log: EventLog) {
    this.#server = server
    this.#log = log
  }

  /** Whether the tool has an output schema, as far as the list that was read says. */
  hasOutputSchema(tool: string): boolean {
    return this.#toolsWithOutput.has(tool)
  }

  /** Reads all lists of a connection. */
  start(client: Client): void {
    this.stop()
    this.#client = client
    for (const list of offeredLists(client)) this.refresh(list)
  }

  /** Stops reading. */
  stop(): void {
    this.#client = undefined
    for (const timer of this.#waiting.values()) clearTimeout(timer)
    this.#waiting.clear()
    this.#again.clear()
  }

  /** Reads a list again, unless that is happening. Failures are in the log. */
  refresh(list: ListName): void {
    const client = this.#client
    if (!client) return
    if (this.#waiting.has(list)) return void this.#again.add(list)
    this.#waiting.set(list, undefined)
    // The change may have been announced during an operation, which the requests do not belong to.
    void inOperation(undefined, () => this.read(client, list))
      .catch(() => {})
      .then(() => this.#rest(client, list))
  }

  /** Reads a list, and returns the number of items. */
  async read(client: Client, list: ListName): Promise<number> {
    const items = await readList(client, this.#server, list, this.#log)
    if (list === 'tools') this.#toolsWithOutput = namesWithOutput(items as unknown as readonly Tool[])
    return items.length
  }

  #rest(client: Client, list: ListName): void {
    if (this.#client !== client) return
    const timer = setTimeout(() => {
      this.#waiting.delete(list)
      if (this.#again.delete(list)) this.refresh(list)
    }, minIntervalMs)
    this.#waiting.set(list, timer.unref())
  }
}

function namesWithOutput(tools: readonly Tool[]): ReadonlySet<string> {
  return new Set(tools.filter(({ outputSchema }) => outputSchema !== undefined).map(({ name }) => name))
}

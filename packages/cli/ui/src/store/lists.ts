import type { InspectorEvent, ListName, ShownError } from '../../../src/inspector/protocol.ts'
import { Changes } from './changes.ts'
import type { ViewModel } from './view-model.ts'

/** An item of a list as the server sent it. */
export type Item = Readonly<Record<string, unknown>>

/** A list of a server. `items` grows while the list is read. */
export interface ServerList {
  readonly items: readonly Item[]
  readonly total: number
  /** Why it could not be read, or not to its end. */
  readonly error?: ShownError | undefined
}

const empty: ServerList = { items: [], total: 0 }

/** The tools, resources, templates and prompts of each server. */
export class Lists implements ViewModel {
  readonly changes = new Changes()
  readonly #lists = new Map<string, ServerList>()

  apply(event: InspectorEvent): void {
    if (event.kind !== 'list') return
    const key = keyOf(event.server, event.list)
    const before = event.offset === 0 ? [] : this.get(event.server, event.list).items.slice(0, event.offset)
    this.#lists.set(key, { items: before.concat(event.items), total: event.total, error: event.error })
    this.changes.mark()
  }

  get(server: string, list: ListName): ServerList {
    return this.#lists.get(keyOf(server, list)) ?? empty
  }

  find(server: string, list: ListName, isIt: (item: Item) => boolean): Item | undefined {
    return this.get(server, list).items.find(isIt)
  }
}

function keyOf(server: string, list: ListName): string {
  return `${list} ${server}`
}

import type { InspectorEvent, ServerAdded, ServerState } from '../../../src/inspector/protocol.ts'
import { Changes } from './changes.ts'
import type { EventOf, ViewModel } from './view-model.ts'

/** A server as the list of servers shows it. */
export interface ServerView extends Omit<ServerAdded, 'kind' | 'revision'> {
  /** Unique on the page: the name of the config file, else the title of the server, else its address. */
  readonly name: string
  /** The revision that was chosen by hand. */
  readonly chosenRevision: ServerAdded['revision']
  readonly state: ServerState['state']
  readonly error?: ServerState['error']
  readonly revision?: ServerState['revision']
  readonly info?: ServerState['info']
  readonly capabilities?: ServerState['capabilities']
  readonly instructions?: string | undefined
  readonly sessionId?: string | undefined
}

/** Enough of what a program wrote to stderr to see why it failed. */
const maxStderrChars = 20_000

/** The servers of the page, in the order in which they were added. */
export class Servers implements ViewModel {
  readonly changes = new Changes()
  readonly #byId = new Map<string, ServerView>()
  readonly #stderr = new Map<string, string>()

  apply(event: InspectorEvent): void {
    if (event.kind === 'server-added') this.#add(event)
    else if (event.kind === 'server-state') this.#change(event)
    else if (event.kind === 'server-removed') this.#byId.delete(event.server)
    else if (event.kind === 'stderr') this.#append(event)
    else return
    this.changes.mark()
  }

  all(): ServerView[] {
    return [...this.#byId.values()]
  }

  get(server: string | undefined): ServerView | undefined {
    return server === undefined ? undefined : this.#byId.get(server)
  }

  /** The end of what the program wrote to stderr. */
  stderr(server: string): string {
    return this.#stderr.get(server) ?? ''
  }

  #add({ server, name, isNamed, address, transport, revision }: EventOf<'server-added'>): void {
    const own = { server, isNamed, address, transport, chosenRevision: revision }
    this.#byId.set(server, { ...own, name: this.#freeName(name, server), state: 'connecting' })
  }

  /** Servers with the same name are numbered: the user must know which one asks. */
  #freeName(given: string, server: string): string {
    const taken = new Set(this.all().flatMap((other) => (other.server === server ? [] : [other.name])))
    let name = given
    for (let number = 2; taken.has(name); number++) name = `${given} ${number}`
    return name
  }

  #change({ seq: _seq, at: _at, kind: _kind, ...state }: EventOf<'server-state'>): void {
    const before = this.#byId.get(state.server)
    if (before === undefined) return
    const { isNamed, address, transport, chosenRevision } = before
    const known = state.state === 'ready' ? {} : before
    const title = isNamed ? undefined : state.info?.title || state.info?.name
    const name = title === undefined ? before.name : this.#freeName(title, state.server)
    const own = { name, isNamed, address, transport, chosenRevision }
    this.#byId.set(state.server, { ...known, ...own, error: undefined, ...state })
  }

  #append({ server, text }: EventOf<'stderr'>): void {
    this.#stderr.set(server, (this.stderr(server) + text).slice(-maxStderrChars))
  }
}

/**
 * The servers whose data a conversation may contain. Text can be rewritten in so many ways that recognizing it proves nothing,
 * so rules that forbid a flow of data go by this: what was read stays read, until the conversation ends.
 */
export interface Taint {
  /** Records that a server is about to send something into the conversation. */
  add(server: string): void
  /** The servers whose data may be in what goes to a server, without that server itself. */
  for(server: string): readonly string[]
}

/** The taint of one conversation. */
export class ConversationTaint implements Taint {
  readonly #servers = new Set<string>()

  add(server: string): void {
    this.#servers.add(server)
  }

  for(server: string): readonly string[] {
    return this.#servers.size === 0 ? none : [...this.#servers].filter((id) => id !== server)
  }
}

const none: readonly string[] = []

/** The taint of a conversation that is not known: it may have data of every server. */
export class UnknownTaint implements Taint {
  readonly #ids: () => readonly string[]

  /** @param ids Returns the ids of all servers. */
  constructor(ids: () => readonly string[]) {
    this.#ids = ids
  }

  add(): void {}

  for(server: string): readonly string[] {
    return this.#ids().filter((id) => id !== server)
  }
}

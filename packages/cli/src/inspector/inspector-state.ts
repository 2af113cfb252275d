import { randomUUID } from 'node:crypto'
import { MemoryTokenStore, type TokenStore } from 'tenon/auth/client'
import { splitWords } from '../arguments/split-words.ts'
import { resolveTarget, type Target } from '../target.ts'
import { EventLog, type EventLogOptions } from './event-log.ts'
import { InspectedServer, type TargetOptions } from './inspected-server.ts'
import { Operations } from './operations.ts'
import type { ConnectRequest } from './protocol.ts'
import { Questions } from './questions.ts'

/** Options of an `InspectorState`. */
export interface InspectorStateOptions {
  /** Limits of the event log. */
  readonly log?: EventLogOptions | undefined
  /** How long servers may take to answer, in milliseconds. Default 60,000 to connect, and 300,000 for a request. */
  readonly timeoutMs?: number | undefined
  /** A config file whose servers the page offers, in addition to those of files that are found. */
  readonly config?: string | undefined
  /** Where tokens of logins are stored. Default: in memory, until the process exits. */
  readonly tokens?: TokenStore | undefined
}

/** Everything that the pages of one inspector share. */
export class InspectorState {
  readonly log: EventLog
  readonly questions: Questions
  readonly operations: Operations
  readonly tokens: TokenStore
  readonly config: string | undefined
  readonly servers = new Map<string, InspectedServer>()
  readonly #timeoutMs: number | undefined

  constructor({ log, timeoutMs, config, tokens = new MemoryTokenStore() }: InspectorStateOptions = {}) {
    this.log = new EventLog(log)
    this.questions = new Questions(this.log)
    this.operations = new Operations(this.log)
    this.tokens = tokens
    this.config = config
    this.#timeoutMs = timeoutMs
  }

  /**
   * Adds a server and begins to connect. The log says how that ends.
   * @returns The id of the server.
   * @throws CliError if the target cannot be understood
   */
  connect(request: ConnectRequest): string {
    const { source, headers } = request
    const words = source === undefined ? splitWords(request.target) : [request.target]
    const isCommand = source === undefined && words[0] === '--'
    const flags = { ...(source !== undefined && { config: source }), ...(headers && { header: headers }) }
    return this.connectTo(resolveTarget({ words: isCommand ? words.slice(1) : words, isCommand }, flags), request)
  }

  /** Does the same for a target that was found already. */
  connectTo(target: Target, request: TargetOptions = {}): string {
    const { log, questions, tokens } = this
    const id = randomUUID()
    const server = new InspectedServer({ id, target, request, log, questions, tokens, timeoutMs: this.#timeoutMs })
    this.servers.set(id, server)
    void server.connect()
    return id
  }

  /** Ends all connections. */
  async close(): Promise<void> {
    this.operations.close()
    await Promise.all([...this.servers.values()].map((server) => server.disconnect()))
  }
}

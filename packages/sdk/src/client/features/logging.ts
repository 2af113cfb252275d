import type { CallOptions } from '../../era/client.ts'
import { McpError } from '../../errors.ts'
import type { Params } from '../../jsonrpc/message.ts'
import type { RequestOptions } from '../../jsonrpc/pending.ts'
import { type LoggingLevel, loggingLevels } from '../../protocol/logging.ts'
import { metaKeys } from '../../protocol/meta.ts'
import { isObject } from '../../util/objects.ts'
import type { Connection } from '../connection.ts'
import type { Requester } from '../requester.ts'

export interface LoggingOptions {
  readonly connection: Connection
  readonly requester: Requester
  /** The level to begin with; undefined: see `hasListeners`. */
  readonly level: LoggingLevel | undefined
  /** Whether the program listens for log messages. */
  hasListeners(): boolean
  onError(error: unknown): void
}

/** The level that servers of earlier revisions usually use when the client sets none. */
const defaultLevel: LoggingLevel = 'info'

/** The log level of the connection. */
export class Logging {
  readonly #options: LoggingOptions
  #level: LoggingLevel | undefined
  /** Whether the level was sent, and has to be sent again in another session. */
  #isSent = false

  constructor(options: LoggingOptions) {
    this.#options = options
    this.#level = options.level
  }

  async setLevel(level: LoggingLevel, options?: RequestOptions): Promise<void> {
    if (!loggingLevels.includes(level)) {
      throw new McpError('invalid-argument', `Unknown log level: ${level}. Use one of ${loggingLevels.join(', ')}.`)
    }
    const { requester } = this.#options
    const { revision } = await requester.facts()
    await requester.require('logging')
    this.#level = level
    if (revision.lacks('logging/setLevel')) return
    await requester.call('logging/setLevel', { level }, options)
    this.#isSent = true
  }

  /** Adds the level to the params of a request, which is how servers of 2026-07-28 learn it. */
  addLevel(params: Params | undefined, options: CallOptions | undefined): Params | undefined {
    const { connection, hasListeners } = this.#options
    const facts = connection.live?.era.facts
    if (!facts?.revision.describesCaller) return params
    const ownLevel = this.#level ?? (hasListeners() && facts.capabilities.logging ? defaultLevel : undefined)
    // A call for one of several users has the level of that user.
    const level = options?.input ? options.logLevel : ownLevel
    if (level === undefined) return params
    const meta = isObject(params?._meta) ? params._meta : {}
    return { ...params, _meta: { [metaKeys.logLevel]: level, ...meta } }
  }

  /** Sends the level to a new session. */
  sessionStarted(): void {
    const { requester, onError } = this.#options
    if (!this.#isSent || this.#level === undefined) return
    requester.call('logging/setLevel', { level: this.#level }).catch(onError)
  }
}

import type { CallInput } from '../era/client.ts'
import type { LoggingLevel, LoggingMessageParams } from '../protocol/logging.ts'

/** The call that a question belongs to, as the gateway knows it. */
export interface QuestionOrigin {
  /** Whether this question was counted when the same call was run before. */
  isCounted(): boolean
  /** The same for a question with a key, which its server chose. Undefined: keys are not used. */
  withKey?(key: string): QuestionOrigin
}

/** What a call for a caller of a gateway needs besides the options of every call. */
export interface RelayedOptions {
  /** The call that questions of the server belong to. */
  readonly origin: QuestionOrigin
  /** Lets the call be run again without sending the same request twice. */
  readonly exchange?: CallInput['exchange'] | undefined
  /**
   * Stores the last answer of the server, because the caller is about to be asked about it, and the call is run again then.
   * Returns false if it was stored before. Throws if it is too large.
   */
  readonly keep?: (() => Promise<boolean>) | undefined
  /** Receives the log messages of the call. */
  readonly onLog?: ((message: LoggingMessageParams) => void) | undefined
  /** The minimum severity of log messages that the caller wants. Undefined: none. */
  readonly logLevel?: LoggingLevel | undefined
  /** Whether the caller states the level with each call, so that a server with sessions has to be told. */
  readonly statesLogLevel?: boolean | undefined
  /** Lets the server run the call as a task, if it can. */
  readonly asTask?: boolean | undefined
}

import type { ResultObject } from '../../jsonrpc/message.ts'
import type { Progress } from '../../jsonrpc/pending.ts'
import type { InputRequest } from '../../protocol/input.ts'
import type { LoggingMessageParams } from '../../protocol/logging.ts'
import type { Context } from '../../server/context.ts'
import type { QuestionOrigin, RelayedOptions } from '../relayed-options.ts'

/** A call of a caller that is not finished, and how to reach the caller. */
export interface OpenCall extends QuestionOrigin {
  readonly signal: AbortSignal
  /** Asks the caller. */
  ask(request: InputRequest, signal: AbortSignal): Promise<ResultObject>
  onProgress(progress: Progress): void
  /** Options of the requests to the server. */
  readonly relayed: RelayedOptions
}

/** Passes a log message of a server on to the caller. */
export function passOnLog({ log }: Context, server: string, { level, logger, data }: LoggingMessageParams): void {
  log[level](data, logger === undefined ? server : `${server}/${logger}`)
}

import type { RpcResponse } from '../jsonrpc/message.ts'
import type { Cancellation } from '../jsonrpc/receiver.ts'
import type { LoggingMessageParams } from '../protocol/logging.ts'
import type { SessionRenewed, StateChange } from './connection.ts'
import type { TaskStatusChange } from './tasks/client-tasks.ts'

/** The events of a `Client`: name to the value that listeners receive. */
export interface ClientEvents {
  /** With `raw`: the server sent a response to an unknown request. */
  unmatched: { response: RpcResponse }
  state: StateChange
  /** The server lost the session, and there is a new one. */
  sessionRenewed: SessionRenewed
  /**
   * Notifications may have been lost, because the connection that carries them was interrupted. It works again: reload
   * everything that you keep up to date by notifications.
   */
  updatesMissed: undefined
  /** The list of tools changed. */
  toolsChanged: undefined
  /** The list of prompts changed. */
  promptsChanged: undefined
  /** The list of resources changed. */
  resourcesChanged: undefined
  /** A resource that you subscribed to changed. */
  resourceUpdated: { uri: string }
  /** The server sent a log message. */
  log: LoggingMessageParams
  /** The server reports that a URL elicitation is complete (2025-11-25). */
  elicitationComplete: { elicitationId: string }
  /** A task was created, or its status changed. */
  task: TaskStatusChange
  /** A tool was called, for your log. Arguments and results are left out, because they may be sensitive. */
  toolCall: ToolCallRecord
  /** The client or the server cancelled a request. */
  cancelled: Cancellation
  /** The server sent something invalid, which is ignored. */
  warning: { message: string }
  /** Something failed outside of a call. */
  error: { error: unknown }
}

/** The event `toolCall`: one call of a tool. */
export interface ToolCallRecord {
  name: string
  durationMs: number
  /** `error`: the tool returned a result with `isError`. `failed`: there is no result; `error` says why. */
  outcome: 'success' | 'error' | 'failed'
  error?: unknown
}

import type { Progress } from '../jsonrpc/pending.ts'
import type { HostAction } from './action.ts'
import type { Finding } from './findings/finding.ts'

/** The state of one server. */
export type ServerState =
  /** Not connected. The next call connects it. */
  | 'idle'
  | 'connecting'
  | 'ready'
  /** Its definitions changed or look suspicious. It is not used until the user approves them. */
  | 'held'
  /** It could not be reached. The next call tries again, at most once per backoff interval. */
  | 'failed'
  | 'disabled'

/** Messages of which a server can send too many. */
export type FloodKind = 'resource updates' | 'log messages'

/** The events of a `Host`: name to the value that listeners receive. */
export interface HostEvents {
  /** The state of a server changed. */
  server: { readonly id: string; readonly state: ServerState; readonly error?: unknown }
  /** The tools, prompts or resources of the catalog changed. */
  catalogChanged: undefined
  /** A call began, made progress, is being cancelled, or ended. Show it to the user. */
  call: CallEvent
  /** The user is being asked, or the question was answered. */
  approval: { readonly action: HostAction; readonly state: 'waiting' | 'answered' }
  /** Something suspicious was found that does not need a decision. */
  finding: { readonly server: string; readonly finding: Finding }
  /** Something failed outside of a call. */
  error: { readonly server?: string | undefined; readonly error: unknown }
}

/** The event `call`. */
export interface CallEvent {
  /** Identifies the call. */
  readonly id: string
  readonly server: string
  /** The name of the tool in the catalog. */
  readonly tool: string
  readonly state: 'running' | 'progress' | 'cancelling' | 'completed' | 'failed'
  readonly progress?: Progress | undefined
  readonly error?: unknown
}

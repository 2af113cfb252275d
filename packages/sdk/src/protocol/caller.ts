import type { ClientCapabilities, Implementation } from './capabilities.ts'
import type { LoggingLevel } from './logging.ts'
import type { Revision, RevisionId } from './revision.ts'

/** The client that sent a request: known from `initialize` in a session, or described by the request's own `_meta`. */
export interface Caller {
  /** The protocol revision of the request, such as `'2026-07-28'`. */
  readonly revision: RevisionId
  /** The facts of that revision and the shape of its messages. For the library itself; handlers compare `revision`. */
  readonly rules: Revision
  /** Name and version of the client, if it sent them. */
  readonly clientInfo: Implementation | undefined
  /** The capabilities that the client declared. */
  readonly capabilities: ClientCapabilities
  /** The least severe log message the caller wants; undefined means none. */
  readonly logLevel: LoggingLevel | undefined
  /** False if the client has no session that could receive its answers: then it cannot be asked anything. */
  readonly canAnswer: boolean
  /** Resolves when the client is ready for questions; undefined if it is. */
  readonly ready?: Promise<unknown> | undefined
}

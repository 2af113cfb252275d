/** What an audit entry records. */
export type AuditEvent =
  | 'host-started'
  | 'host-closed'
  | 'connected'
  | 'disconnected'
  | 'connect-failed'
  | 'decision'
  | 'tool-call'
  | 'resource-read'
  | 'prompt-get'
  | 'sampling'
  | 'elicitation'
  | 'roots'
  | 'definitions-changed'
  | 'grant-added'
  | 'grant-revoked'
  | 'config-changed'
  /** A server sends more messages than are passed on. */
  | 'flood'

/** What happened, as the host reports it. The audit log redacts secrets before it writes anything. */
export interface AuditRecord {
  readonly event: AuditEvent
  /** The id of the server; undefined for events of the host itself. */
  readonly server?: string | undefined
  /** The caller of a gateway. */
  readonly caller?: string | undefined
  /** W3C trace context: 32 and 16 hexadecimal digits. */
  readonly traceId?: string | undefined
  readonly spanId?: string | undefined
  /** JSON values that depend on the event. */
  readonly details: Readonly<Record<string, unknown>>
}

/** An append-only log. */
export interface AuditLog {
  /**
   * Adds a record. Does not wait until it is written; a failure is reported by `flush` and `close`. Throws `overloaded` if too
   * many records wait to be written, so that nothing happens that cannot be recorded. Do not change the record afterwards.
   */
  append(record: AuditRecord): void
  /** Resolves when there is room for more records; undefined if there is now. Calls wait for it before they begin. */
  waitForRoom?(): Promise<void> | undefined
  /** Waits until everything is written. Rejects if something could not be written; the next `flush` tries again. */
  flush(): Promise<void>
  close(): Promise<void>
}

/** A log whose entries are chained by hashes, so that `verifyAudit` finds changes. */
export interface ChainedAuditLog extends AuditLog {
  /**
   * The last entry that was written; undefined if there is none. Keep a copy where an attacker cannot change it: with it,
   * `verifyAudit` also detects entries that were removed at the end.
   */
  readonly head: AuditHead | undefined
  /** The same as `close()`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>
}

/** The position and hash of an entry. */
export interface AuditHead {
  readonly seq: number
  readonly hash: string
}

/** Returns a copy of a value without its secrets. */
export type Redact = (value: unknown) => unknown

/** Options of every chained log. */
export interface AuditLogOptions {
  /**
   * A secret that makes the hashes HMACs, so that an attacker who can write to the log cannot rebuild the chain. Use at least
   * 32 random bytes, and keep them elsewhere. Default: plain SHA-256, which detects only changes that leave the hashes as they are.
   */
  key?: string | Uint8Array | undefined
  /** Removes secrets from the details of every entry. Members with secret names, such as `password`, are always removed. */
  redact?: Redact | undefined
  /** How many records may wait to be written before `append` throws `overloaded`. Default 10,000. */
  maxPending?: number | undefined
  /** Called if records could not be written. They are kept, and written with the next ones. Default: a warning on stderr. */
  onError?: ((error: unknown) => void) | undefined
}

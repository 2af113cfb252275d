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
  /** Adds a record. Does not wait until it is written; a failure is reported by `flush` and `close`. */
  append(record: AuditRecord): void
  /** Waits until everything is written. Rejects if something could not be written. */
  flush(): Promise<void>
  close(): Promise<void>
}

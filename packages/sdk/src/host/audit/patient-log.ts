import { McpError } from '../../errors.ts'
import type { AuditLog, AuditRecord } from './audit.ts'

/**
 * Keeps records for a log that is full, because a call that has run must be recorded. New calls wait (`waitForRoom`), so only
 * those that run already add to what is kept.
 */
export class PatientAuditLog implements AuditLog {
  readonly #log: AuditLog
  readonly #kept: AuditRecord[] = []
  #draining: Promise<void> | undefined

  constructor(log: AuditLog) {
    this.#log = log
  }

  append(record: AuditRecord): void {
    if (this.#kept.length === 0 && this.#tryAppend(record)) return
    this.#kept.push(record)
    // `waitForRoom`, `flush` and `close` report a failure.
    this.#drain().catch(() => {})
  }

  waitForRoom(): Promise<void> | undefined {
    return this.#kept.length > 0 ? this.#drain() : this.#log.waitForRoom?.()
  }

  async flush(): Promise<void> {
    await this.#drain()
    await this.#log.flush()
  }

  async close(): Promise<void> {
    await this.#drain()
    await this.#log.close()
  }

  #drain(): Promise<void> {
    this.#draining ??= this.#moveKept().finally(() => {
      this.#draining = undefined
    })
    return this.#draining
  }

  async #moveKept(): Promise<void> {
    for (let first = this.#kept[0]; first; first = this.#kept[0]) {
      if (this.#tryAppend(first)) this.#kept.shift()
      else await this.#log.flush()
    }
  }

  /** Returns false if the log is full. */
  #tryAppend(record: AuditRecord): boolean {
    try {
      this.#log.append(record)
      return true
    } catch (error) {
      if (error instanceof McpError && error.code === 'overloaded') return false
      throw error
    }
  }
}

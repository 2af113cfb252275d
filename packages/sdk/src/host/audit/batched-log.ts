import { ClosedError, McpError } from '../../errors.ts'
import { clock } from '../../util/clock.ts'
import type { JsonObject } from '../../util/objects.ts'
import { scheduler, type Timer } from '../../util/scheduler.ts'
import { warnOnce } from '../../util/warn.ts'
import type { AuditHead, AuditLogOptions, AuditRecord, ChainedAuditLog } from './audit.ts'
import { type AuditEntry, type AuditLine, auditVersion, bytesOf, type Digest, toLine } from './chain.ts'
import { toDetailText } from './redact.ts'

/** Where the lines of a log are kept. */
export interface AuditTarget {
  /** The last entry; undefined if there is none. */
  readonly head: AuditHead | undefined
  /** Appends a batch in one write. The batch is composed for the position that the target passes, and may be composed again for another one. */
  append(compose: (position: AuditPosition) => Promise<readonly AuditLine[]>): Promise<void>
  close(): Promise<void>
}

/** Where a batch goes. */
export interface AuditPosition {
  readonly head: AuditHead | undefined
  /** If the batch starts a new segment, such as a file: what its first line says besides the version. */
  readonly segment: JsonObject | undefined
  /** The batch ends with the line that exceeds this. */
  readonly roomBytes: number
}

/**
 * A log that writes in batches: `append` only adds to a list. Redacting, hashing and writing happen a few milliseconds later, in
 * one write for all records that have come meanwhile.
 */
export class BatchedAuditLog implements ChainedAuditLog {
  readonly #target: AuditTarget
  readonly #digest: Digest
  readonly #options: AuditLogOptions
  readonly #maxPending: number
  #pending: PendingRecord[] = []
  #timer: Timer | undefined
  #writing: Promise<void> | undefined
  #closing: Promise<void> | undefined

  constructor(target: AuditTarget, digest: Digest, options: AuditLogOptions) {
    this.#target = target
    this.#digest = digest
    this.#options = options
    this.#maxPending = options.maxPending ?? 10_000
  }

  get head(): AuditHead | undefined {
    const { head } = this.#target
    return head && { seq: head.seq, hash: head.hash }
  }

  append(record: AuditRecord): void {
    if (this.#closing) throw new ClosedError(`Cannot record "${record.event}": the audit log is closed.`)
    if (this.#pending.length >= this.#maxPending) throw this.#overloaded(record)
    this.#pending.push({ record, timeMs: clock.now() })
    if (!this.#writing) this.#schedule(batchDelayMs)
  }

  /** Half of the room is kept for what is recorded while calls run. */
  waitForRoom(): Promise<void> | undefined {
    return 2 * this.#pending.length < this.#maxPending ? undefined : this.flush()
  }

  async flush(): Promise<void> {
    // Records that are added during a write are in the next one.
    await this.#writing?.catch(() => {})
    await this.#write()
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #close(): Promise<void> {
    try {
      await this.flush()
    } finally {
      scheduler.clearTimeout(this.#timer)
      await this.#target.close()
    }
  }

  #write(): Promise<void> {
    scheduler.clearTimeout(this.#timer)
    this.#timer = undefined
    this.#writing ??= this.#writeAll().then(
      () => this.#afterWrite(batchDelayMs),
      (error) => {
        this.#afterWrite(retryDelayMs)
        throw error
      },
    )
    return this.#writing
  }

  #afterWrite(nextDelayMs: number): void {
    this.#writing = undefined
    if (this.#pending.length > 0) this.#schedule(nextDelayMs)
  }

  #schedule(delayMs: number): void {
    if (this.#timer !== undefined) return
    this.#timer = scheduler.setTimeout(() => void this.#write().catch((error) => this.#report(error)), delayMs)
    // Entries are written before the process exits, but a full disk does not keep it running.
    if (delayMs === retryDelayMs) scheduler.unref(this.#timer)
  }

  /** Records are removed only after they were written, so a failed batch is written again. */
  async #writeAll(): Promise<void> {
    while (this.#pending.length > 0) {
      let count = 0
      await this.#target.append(async (position) => {
        const batch = await this.#compose(position)
        count = batch.count
        return batch.lines
      })
      this.#pending.splice(0, count)
    }
  }

  async #compose(position: AuditPosition): Promise<{ lines: AuditLine[]; count: number }> {
    const lines: AuditLine[] = []
    let { head, roomBytes } = position
    const add = async (entry: AuditEntry) => {
      const line = await toLine(entry, head, this.#digest)
      lines.push(line)
      head = line
      roomBytes -= bytesOf(line)
    }
    if (position.segment) await add(this.#segmentEntry(position.segment))
    const records = this.#pending.slice(0, maxBatch)
    let count = 0
    for (; count < records.length && (count === 0 || roomBytes > 0); count++) await add(this.#toEntry(records[count]!))
    return { lines, count }
  }

  #toEntry({ record, timeMs }: PendingRecord): AuditEntry {
    const { event, server, caller, traceId, spanId } = record
    const details = toDetailText(record.details, this.#options.redact)
    return {
      event,
      timeMs,
      server: short(server),
      caller: short(caller),
      traceId: short(traceId),
      spanId: short(spanId),
      details,
    }
  }

  #segmentEntry(facts: JsonObject): AuditEntry {
    const algorithm = this.#options.key === undefined ? 'sha256' : 'hmac-sha256'
    return {
      event: 'segment',
      timeMs: clock.now(),
      details: JSON.stringify({ version: auditVersion, algorithm, ...facts }),
    }
  }

  #report(error: unknown): void {
    if (this.#options.onError) return this.#options.onError(error)
    const message = error instanceof Error ? error.message : String(error)
    warnOnce(`audit ${message}`, `Cannot write the audit log: ${message}`)
  }

  #overloaded({ event }: AuditRecord): McpError {
    const reason = `${this.#maxPending} records wait to be written. The disk is too slow, or writing fails`
    return new McpError('overloaded', `Cannot record "${event}" in the audit log: ${reason}. Await flush() first.`)
  }
}

interface PendingRecord {
  readonly record: AuditRecord
  readonly timeMs: number
}

/** The longest a record waits before it is written. A crash of the process loses at most the records of this time. */
const batchDelayMs = 10

const retryDelayMs = 1_000

/** The most records in one write. */
const maxBatch = 1_000

/** Ids are short. This bounds the line if one is not. */
function short(id: string | undefined): string | undefined {
  return id === undefined || id.length <= 100 ? id : `${id.slice(0, 100)}…`
}

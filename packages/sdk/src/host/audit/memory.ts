import type { AuditHead, AuditLogOptions, ChainedAuditLog } from './audit.ts'
import { type AuditPosition, type AuditTarget, BatchedAuditLog } from './batched-log.ts'
import type { AuditLine } from './chain.ts'
import { webDigest } from './digest.ts'

/** A log in memory. */
export interface MemoryAudit extends ChainedAuditLog {
  /** The lines that were written. Pass them to `verifyAudit`. */
  readonly lines: readonly string[]
}

/**
 * Creates an audit log in memory, for tests. It keeps every entry until it is garbage collected.
 *
 * @example
 * const audit = memoryAudit()
 * await using host = await createHost({ servers, audit })
 * await audit.flush()
 * console.log(audit.lines)
 */
export function memoryAudit(options: AuditLogOptions = {}): MemoryAudit {
  const target = new MemoryTarget()
  const log = new BatchedAuditLog(target, webDigest(options.key), options)
  return Object.defineProperty(log, 'lines', { get: () => target.lines }) as BatchedAuditLog & MemoryAudit
}

class MemoryTarget implements AuditTarget {
  readonly lines: string[] = []
  head: AuditHead | undefined

  async append(compose: (position: AuditPosition) => Promise<readonly AuditLine[]>): Promise<void> {
    const segment = this.lines.length === 0 ? {} : undefined
    const lines = await compose({ head: this.head, segment, roomBytes: Number.POSITIVE_INFINITY })
    for (const { text } of lines) this.lines.push(text)
    this.head = lines.at(-1) ?? this.head
  }

  async close(): Promise<void> {}
}

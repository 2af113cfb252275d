import type { AuditLog, AuditRecord } from 'tenon/host'
import { safeLine } from 'tenon/internal'
import { columnsOf, fit, padEnd } from '../columns.ts'
import type { Output } from '../output.ts'

/** Prints one line per call, from the records that the host writes to its audit log. */
export class CallLog implements AuditLog {
  readonly #output: Output
  readonly #file: AuditLog | undefined
  /** Decisions about calls that have not ended yet, by caller and tool. The policy allowed all others. */
  readonly #decisions = new Map<string, string>()
  #isServing = false

  /** @param file Receives all records as well. */
  constructor(output: Output, file: AuditLog | undefined) {
    this.#output = output
    this.#file = file
  }

  append(record: AuditRecord): void {
    this.#file?.append(record)
    if (record.event === 'decision') this.#decided(record)
    if (record.event === 'tool-call') this.#called(record)
    if (record.event === 'connect-failed') this.#warn(record, `cannot connect: ${record.details.error}`)
    if (record.event === 'definitions-changed') this.#warn(record, 'its definitions changed')
    if (record.event === 'flood') this.#warn(record, `sends too many ${record.details.what}`)
  }

  /** Begins to print problems of servers. Before, the list of servers shows them. */
  begin(): void {
    this.#isServing = true
  }

  async flush(): Promise<void> {
    await this.#file?.flush()
  }

  async close(): Promise<void> {
    await this.#file?.close()
  }

  #decided(record: AuditRecord): void {
    const { action, allowed, by, reason } = record.details as unknown as DecisionDetails
    if (action.kind !== 'tool') return
    if (!allowed) return this.#line(record, action.name, 'denied', String(reason))
    if (this.#decisions.size > maxOpenDecisions) this.#decisions.clear()
    this.#decisions.set(keyOf(record, action.name), decisionNames[by] ?? by)
  }

  #called(record: AuditRecord): void {
    const { tool, durationMs, isError, error } = record.details as unknown as CallDetails
    const key = keyOf(record, tool)
    const decision = this.#decisions.get(key) ?? 'allowed'
    this.#decisions.delete(key)
    const duration = durationMs === undefined ? '' : `${durationMs} ms`
    const outcome = error === undefined ? (isError ? 'error' : '') : `failed: ${error}`
    this.#line(record, tool, decision, [duration, outcome].filter(Boolean).join('  '))
  }

  #line({ caller }: AuditRecord, tool: string, decision: string, rest: string): void {
    const { width, notePaint } = this.#output
    const start = [timeNow(), padEnd(callerName(caller), 10), padEnd(safeLine(tool), 30), padEnd(decision, 8), ''].join(
      ' ',
    )
    const line = start + fit(safeLine(rest), Math.max(12, width - columnsOf(start)))
    this.#output.note(decision === 'denied' ? notePaint.warning(line) : line)
  }

  #warn({ server = '' }: AuditRecord, text: string): void {
    if (!this.#isServing) return
    const { width, notePaint } = this.#output
    this.#output.note(notePaint.warning(fit(safeLine(`${timeNow()} ${server}: ${text}`, 1_000), width)))
  }
}

/** Calls that never end would otherwise be remembered for ever. */
const maxOpenDecisions = 10_000

const decisionNames: Readonly<Record<string, string>> = { user: 'approved', grant: 'granted', policy: 'allowed' }

interface DecisionDetails {
  readonly action: { readonly kind: string; readonly name: string }
  readonly allowed: boolean
  readonly by: string
  readonly reason: unknown
}

interface CallDetails {
  readonly tool: string
  readonly durationMs?: number
  readonly isError?: boolean
  readonly error?: string
}

function keyOf({ caller, server }: AuditRecord, tool: string): string {
  return JSON.stringify([caller, server, tool])
}

/** The id of a session is a secret, so only its beginning is shown. A user is shown by name. */
function callerName(caller = 'local'): string {
  const [kind = '', id = ''] = /^(\w+) (.+)$/s.exec(caller)?.slice(1) ?? [caller]
  const name = kind === 'user' ? userName(id) : kind === 'session' ? id.slice(0, 8) : kind
  return fit(safeLine(name), 10)
}

/** The subject of a principal, which is JSON: `[issuer, 'subject', 'alice']`. */
function userName(principal: string): string {
  try {
    const [, , name] = JSON.parse(principal)
    return String(name)
  } catch {
    return principal
  }
}

function timeNow(): string {
  return new Date().toTimeString().slice(0, 8)
}

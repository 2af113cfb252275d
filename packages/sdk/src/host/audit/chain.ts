import type { JsonObject } from '../../util/objects.ts'
import type { AuditEvent, AuditHead, AuditRecord } from './audit.ts'
import { toBytes } from './digest.ts'

/** The version of the format. The first line of every file names it. */
export const auditVersion = 1

/** The `prev` of the very first entry. */
export const firstPrev = '0'.repeat(64)

/** `segment` is the first line of a file. The log itself writes it, all others come from the host. */
export type LineEvent = AuditEvent | 'segment'

/** Returns the hash of a text as 64 hexadecimal digits. */
export type Digest = (text: string) => string | Promise<string>

/** An entry before it has its place in the chain. Its details are redacted, bounded JSON. */
export interface AuditEntry extends Omit<AuditRecord, 'event' | 'details'> {
  readonly event: LineEvent
  readonly timeMs: number
  /** The text of a JSON object. */
  readonly details: string
}

/** One line of the log. */
export interface AuditLine extends AuditHead {
  /** Without the line break. */
  readonly text: string
}

/** A line as it was read. */
export interface ParsedLine extends AuditHead {
  readonly event: string
  readonly prev: string
  readonly details: JsonObject
  /** The part of the line that the hash covers. */
  readonly body: string
}

/**
 * Makes the next line of the chain. The members have a fixed order, and the hash comes last. It covers the text of the line
 * without the hash, and so also `prev`, the hash of the line before.
 */
export async function toLine(entry: AuditEntry, before: AuditHead | undefined, digest: Digest): Promise<AuditLine> {
  const seq = (before?.seq ?? 0) + 1
  const body = bodyOf(entry, seq, before?.hash ?? firstPrev)
  const hashed = digest(body)
  // A batch has hundreds of lines, so this waits only if it has to.
  const hash = typeof hashed === 'string' ? hashed : await hashed
  return { seq, hash, text: `${body.slice(0, -1)},"hash":"${hash}"}` }
}

/** Reads a line. Returns undefined if it is not a line of this format. Does not check the hash. */
export function parseLine(text: string): ParsedLine | undefined {
  const end = text.slice(-hashLength)
  const hash = /^,"hash":"([0-9a-f]{64})"\}$/.exec(end)?.[1]
  if (hash === undefined) return undefined
  const body = `${text.slice(0, -hashLength)}}`
  try {
    const { seq, event, prev, details } = JSON.parse(body)
    const isValid = Number.isSafeInteger(seq) && typeof event === 'string' && typeof prev === 'string'
    return isValid && typeof details === 'object' && details !== null
      ? { seq, event, prev, details, body, hash }
      : undefined
  } catch {
    return undefined
  }
}

/** Returns the size of a line in a file, with its line break. */
export function bytesOf(line: AuditLine): number {
  return toBytes(line.text).byteLength + 1
}

/** `,"hash":"` and `"}` around 64 digits. */
const hashLength = 9 + 64 + 2

function bodyOf(entry: AuditEntry, seq: number, prev: string): string {
  const { timeMs, event, server, caller, traceId, spanId, details } = entry
  const head = JSON.stringify({ seq, time: new Date(timeMs).toISOString(), event, server, caller, traceId, spanId })
  return `${head.slice(0, -1)},"details":${details},"prev":"${prev}"}`
}

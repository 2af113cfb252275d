import type { WireRow } from './wire.ts'
import { methodOf } from './wire.ts'

/** Which messages the wire shows. */
export interface WireFilter {
  /** Text that the message contains anywhere; case does not matter. */
  readonly text: string
  readonly server?: string | undefined
  readonly direction?: 'sent' | 'received' | undefined
  readonly kind?: WireRow['kind'] | undefined
  readonly operation?: string | undefined
}

/** Returns a test for a filter. */
export function toTest(filter: WireFilter): (row: WireRow) => boolean {
  const wanted = filter.text.trim().toLowerCase()
  return (row) =>
    (filter.server === undefined || row.event.server === filter.server) &&
    (filter.direction === undefined || row.event.direction === filter.direction) &&
    (filter.kind === undefined || row.kind === filter.kind) &&
    (filter.operation === undefined || row.event.operation === filter.operation) &&
    (wanted === '' || contains(row, wanted))
}

function contains(row: WireRow, wanted: string): boolean {
  if (methodOf(row).toLowerCase().includes(wanted)) return true
  const { message } = row.event
  const text = typeof message === 'string' ? message : (JSON.stringify(message) ?? '')
  return text.toLowerCase().includes(wanted)
}

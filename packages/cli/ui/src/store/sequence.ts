import type { Filtered } from './filtered.ts'
import { durationOf, methodOf, type WireRow } from './wire.ts'

/** An arrow of a sequence diagram. */
export interface SequenceArrow {
  readonly row: WireRow
  /** Index of the server's line. */
  readonly lane: number
  readonly label: string
  /** Milliseconds since the first arrow. */
  readonly offsetMs: number
  readonly durationMs?: number | undefined
}

export interface Sequence {
  /** One per server and revision that was compared, as `server` or `server revision`. */
  readonly lanes: readonly { readonly server: string; readonly revision?: string | undefined }[]
  readonly arrows: readonly SequenceArrow[]
}

/** Lays out messages, from `start` to `end` of a list. */
export function toSequence(rows: Filtered<WireRow>, start: number, end: number): Sequence {
  const lanes: { server: string; revision?: string | undefined }[] = []
  const arrows: SequenceArrow[] = []
  const firstAt = rows.at(start)?.event.at ?? 0
  for (let index = start; index < end; index++) {
    const row = rows.at(index)
    if (row === undefined) continue
    const lane = laneOf(row, lanes)
    arrows.push({ row, lane, label: labelOf(row), offsetMs: row.event.at - firstAt, durationMs: durationOf(row) })
  }
  return { lanes, arrows }
}

function laneOf({ event }: WireRow, lanes: { server: string; revision?: string | undefined }[]): number {
  const { server, comparedRevision: revision } = event
  const found = lanes.findIndex((lane) => lane.server === server && lane.revision === revision)
  return found === -1 ? lanes.push({ server, revision }) - 1 : found
}

function labelOf(row: WireRow): string {
  const outcome = row.kind === 'response' ? 'result' : row.kind === 'error' ? 'error' : ''
  return [methodOf(row), outcome, row.subject ?? ''].filter((word) => word !== '').join(' ')
}

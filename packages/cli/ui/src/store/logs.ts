import type { InspectorEvent } from '../../../src/inspector/protocol.ts'
import { BoundedList } from './bounded-list.ts'
import { Changes } from './changes.ts'
import type { EventOf, ViewModel } from './view-model.ts'

/** Levels of log messages, from the least severe to the most severe. */
export const logLevels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'] as const

/** A log message, a piece of stderr, or something that the backend noticed. */
export type LogLine = EventOf<'log'> | EventOf<'stderr'> | EventOf<'notice'> | EventOf<'left-out'>

const maxLines = 50_000

/** Log messages, and what programs wrote to stderr, in order. */
export class Logs implements ViewModel {
  readonly changes = new Changes()
  readonly lines = new BoundedList<LogLine>(maxLines)

  apply(event: InspectorEvent): void {
    if (!isLine(event)) return
    this.lines.push(event)
    this.changes.mark()
  }
}

/** Returns whether a line is of this server, severe enough, and contains the text. */
export function toLogTest(filter: { server: string; level: string; text: string }): (line: LogLine) => boolean {
  const least = severityOf(filter.level)
  const wanted = filter.text.trim().toLowerCase()
  return (line) =>
    line.server === filter.server &&
    severityOf(levelOf(line)) >= least &&
    (wanted === '' || `${loggerOf(line)} ${textOf(line)}`.toLowerCase().includes(wanted))
}

export function levelOf(line: LogLine): string {
  if (line.kind === 'stderr') return 'info'
  return line.kind === 'left-out' ? 'warning' : line.level
}

/** Where a line comes from. */
export function loggerOf(line: LogLine): string {
  if (line.kind === 'log') return line.logger ?? ''
  return line.kind === 'stderr' ? 'stderr' : 'inspector'
}

export function textOf(line: LogLine): string {
  if (line.kind === 'stderr' || line.kind === 'notice') return line.text
  if (line.kind === 'left-out') return `The server sends too much: ${line.count} events were left out here.`
  return typeof line.data === 'string' ? line.data : (JSON.stringify(line.data) ?? '')
}

function isLine(event: InspectorEvent): event is LogLine {
  return event.kind === 'log' || event.kind === 'stderr' || event.kind === 'notice' || event.kind === 'left-out'
}

/** A level that the specification does not know is treated as `info`. */
function severityOf(level: string): number {
  const index = logLevels.map(String).indexOf(level)
  return index === -1 ? 1 : index
}

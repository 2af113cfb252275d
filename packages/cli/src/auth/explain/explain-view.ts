import { safeLine } from 'tenon/internal'
import { padEnd, wrap } from '../../columns.ts'
import type { Output } from '../../output.ts'
import type { ExplainStep } from './steps.ts'

const marks = { ok: 'ok', info: 'note', warning: 'warning', failed: 'FAILED' } as const

/** One step: its outcome and title, the request, and what was expected and found. */
export function viewStep({ title, outcome, expected, found, advice, request }: ExplainStep, output: Output): string[] {
  const { paint } = output
  const isBad = outcome === 'failed' || outcome === 'warning'
  const mark = padEnd(marks[outcome], 8)
  const sent =
    request && `${request.method} ${request.url}: ${request.status ?? 'no response'}, ${request.durationMs} ms`
  return [
    `${isBad ? paint.warning(mark) : paint.faint(mark)}${paint.strong(title)}`,
    ...(sent === undefined ? [] : indented('', sent, output).map((line) => paint.faint(line))),
    ...indented('expected', expected, output),
    ...indented('found', found, output),
    ...(advice === undefined ? [] : indented('advice', advice, output)),
  ]
}

const indent = 8
const labelColumns = 10

function indented(label: string, text: string, { width }: Output): string[] {
  const left = label === '' ? indent : indent + labelColumns
  const lines = wrap(safeLine(text, 2_000), width - left)
  return lines.map(
    (line, index) => ' '.repeat(indent) + (label && padEnd(index === 0 ? label : '', labelColumns)) + line,
  )
}

import { safeLine } from 'tenon/internal'
import { wrap } from '../columns.ts'
import type { Output } from '../output.ts'
import { type Change, type Level, levels } from './change.ts'

/** The output of `tenon diff --json`, documented in docs/cli-checks.md. */
export interface DiffReport {
  /** The most important level; `none` if nothing changed. */
  readonly verdict: Level | 'none'
  readonly counts: Readonly<Record<Level, number>>
  readonly changes: readonly Change[]
}

/** Summarizes changes. */
export function toReport(changes: readonly Change[]): DiffReport {
  const count = (level: Level) => changes.filter((change) => change.level === level).length
  const counts = { breaking: count('breaking'), compatible: count('compatible'), cosmetic: count('cosmetic') }
  return { verdict: levels.find((level) => counts[level] > 0) ?? 'none', counts, changes }
}

/** Renders a report for a person: one block per level, one line per change. */
export function viewDiff({ counts, changes }: DiffReport, output: Output): string[] {
  if (changes.length === 0) return ['No differences.']
  const blocks = levels
    .filter((level) => counts[level] > 0)
    .map((level) => [
      heading(level, counts[level], output),
      ...changes.filter((change) => change.level === level).flatMap((change) => viewChange(change, output)),
    ])
  return blocks.flatMap((block, index) => (index === 0 ? block : ['', ...block]))
}

function heading(level: Level, count: number, { paint }: Output): string {
  const title = `${level[0]?.toUpperCase()}${level.slice(1)}`
  return `${paint.strong(level === 'breaking' ? paint.warning(title) : title)} ${paint.faint(`(${count})`)}`
}

function viewChange({ what, path, message }: Change, { paint, width }: Output): string[] {
  const [first = '', ...rest] = wrap(safeLine(`${what}: ${message}`, 600), width - 2)
  const lines = [`  ${first}`, ...rest.map((line) => `    ${line}`)]
  return path === ''
    ? lines
    : [...lines, ...wrap(safeLine(path, 300), width - 4).map((line) => paint.faint(`    ${line}`))]
}

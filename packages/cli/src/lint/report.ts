import { safeLine } from 'tenon/internal'
import { fit, padEnd, wrap } from '../columns.ts'
import type { Output } from '../output.ts'
import { type Problem, type Severity, severities } from './problem.ts'

/** The output of `tenon lint --json`, documented in docs/cli-checks.md. */
export interface LintReport {
  readonly server: { readonly name: string; readonly version: string } | null
  readonly revision: string
  readonly ok: boolean
  readonly tools: number
  /** An estimate. */
  readonly tokens: number
  readonly counts: Readonly<Record<Severity, number>>
  readonly problems: readonly Problem[]
}

/** Counts problems by severity. */
export function countProblems(problems: readonly Problem[]): Record<Severity, number> {
  const count = (severity: Severity) => problems.filter((problem) => problem.severity === severity).length
  return { error: count('error'), warning: count('warning'), info: count('info') }
}

/** Renders a report for a person: one block per definition, each problem with its fix. */
export function viewReport({ server, tools, tokens, counts, problems }: LintReport, output: Output): string[] {
  const { paint, width } = output
  const name = server ? fit(safeLine(`${server.name} ${server.version}`), width - 32) : 'A server without a name'
  return [
    `${paint.strong(name)}  ${paint.faint(`${tools} ${tools === 1 ? 'tool' : 'tools'}, about ${tokens} tokens`)}`,
    ...[...groupByPlace(problems)].flatMap(([where, group]) => [
      '',
      ...wrap(safeLine(where, 300), width).map((line) => paint.strong(line)),
      ...group.flatMap((problem) => viewProblem(problem, output)),
    ]),
    '',
    summary(counts),
  ]
}

function groupByPlace(problems: readonly Problem[]): Map<string, Problem[]> {
  const groups = new Map<string, Problem[]>()
  for (const problem of problems) {
    const group = groups.get(problem.where)
    if (group) group.push(problem)
    else groups.set(problem.where, [problem])
  }
  return groups
}

const indent = 11

function viewProblem({ severity, rule, message, fix }: Problem, { paint, width }: Output): string[] {
  const [first = '', ...rest] = wrap(safeLine(message, 600), width - indent)
  const label = padEnd(severity, indent - 2)
  const block = (lines: readonly string[]) => lines.map((line) => `${' '.repeat(indent)}${line}`)
  return [
    `  ${severity === 'error' ? paint.strong(paint.warning(label)) : severity === 'warning' ? paint.warning(label) : paint.faint(label)}${first}`,
    ...block(rest),
    ...block(wrap(`${safeLine(fix)} [${rule}]`, width - indent).map((line) => paint.faint(line))),
  ]
}

function summary(counts: Readonly<Record<Severity, number>>): string {
  const words: Readonly<Record<Severity, readonly [string, string]>> = {
    error: ['error', 'errors'],
    warning: ['warning', 'warnings'],
    info: ['note', 'notes'],
  }
  return severities
    .map((severity) => `${counts[severity]} ${words[severity][counts[severity] === 1 ? 0 : 1]}`)
    .join(', ')
}

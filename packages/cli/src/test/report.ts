import { safeLine } from 'tenon/internal'
import { columnsOf, fit, padEnd, wrap } from '../columns.ts'
import type { Output } from '../output.ts'
import type { CheckResult } from './check.ts'

/** The output of `tenon test --json`, documented in docs/cli-checks.md. */
export interface TestReport {
  readonly server: { readonly name: string; readonly version: string } | null
  readonly revision: string
  readonly ok: boolean
  /** The version of the conformance suite; null if it did not run. */
  readonly suite: string | null
  readonly counts: Readonly<Record<CheckResult['status'], number>>
  readonly checks: readonly CheckResult[]
}

/** Counts results by status. */
export function countResults(checks: readonly CheckResult[]): Record<CheckResult['status'], number> {
  const count = (status: CheckResult['status']) => checks.filter((check) => check.status === status).length
  return { pass: count('pass'), fail: count('fail'), skip: count('skip') }
}

/** Prints results for a person as they come, because checks take a while. */
export class ResultPrinter {
  readonly #output: Output
  #group: CheckResult['group'] | undefined

  constructor(output: Output, { server, revision }: Pick<TestReport, 'server' | 'revision'>) {
    this.#output = output
    const { paint, width } = output
    const name = server ? fit(safeLine(`${server.name} ${server.version}`), width - 22) : 'A server without a name'
    output.print(`${paint.strong(name)}  ${paint.faint(`revision ${revision}`)}`)
  }

  print(result: CheckResult): void {
    if (result.group !== this.#group) this.#output.print('', this.#output.paint.strong(titles[result.group]))
    this.#group = result.group
    this.#output.print(...viewCheck(result, this.#output))
  }

  finish({ counts }: Pick<TestReport, 'counts'>): void {
    this.#output.print('', `${counts.pass} passed, ${counts.fail} failed, ${counts.skip} skipped`)
  }
}

const titles = { conformance: 'Conformance', safety: 'Safety' } as const

const nameColumns = 28

function viewCheck({ status, name, reason }: CheckResult, { paint, width }: Output): string[] {
  const label = status === 'fail' ? paint.warning(status) : status === 'skip' ? paint.faint(status) : status
  const text = safeLine(reason, status === 'fail' ? 2_000 : 300)
  const first = `  ${label}  ${padEnd(name, nameColumns)}`
  const room = width - nameColumns - 10
  if (columnsOf(name) <= nameColumns && columnsOf(text) <= room) return [`${first}  ${paint.faint(text)}`.trimEnd()]
  return [`  ${label}  ${name}`, ...wrap(text, width - 8).map((line) => `        ${paint.faint(line)}`)]
}

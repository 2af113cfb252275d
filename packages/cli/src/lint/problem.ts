import type { ReadContract } from '../contract/contract.ts'

/** `error`: some hosts or APIs refuse it. `warning`: it works worse. `info`: good to know. */
export type Severity = 'error' | 'warning' | 'info'

/** Something that `tenon lint` found. */
export interface Problem {
  /** Identifies the rule, for `--ignore`. */
  readonly rule: string
  readonly severity: Severity
  /** What it is about, such as `tool add`. */
  readonly where: string
  /** The part of it, as a JSON Pointer into the definition; empty for all of it. */
  readonly path: string
  readonly message: string
  /** What to do about it. */
  readonly fix: string
}

/** What the rules look at. */
export interface LintInput extends ReadContract {
  /** The name that a host shows in front of the tools: the name in a config file, or the name of the server. */
  readonly serverName: string
}

/** A rule, or a group of related rules. */
export type Rule = (input: LintInput) => readonly Problem[]

/** Orders of severities, the worst first. */
export const severities: readonly Severity[] = ['error', 'warning', 'info']

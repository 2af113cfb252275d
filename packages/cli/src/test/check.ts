/** The result of one check. */
export interface CheckResult {
  /** `conformance`: a scenario of the official suite. `safety`: one of our own. */
  readonly group: 'conformance' | 'safety'
  readonly name: string
  readonly status: 'pass' | 'fail' | 'skip'
  /** What was seen, or why the check was not run. */
  readonly reason: string
}

/** What a check found. */
export type Outcome = Pick<CheckResult, 'status' | 'reason'>

/** The server did what it should. */
export function pass(reason: string): Outcome {
  return { status: 'pass', reason }
}

/** The server did something that it must not do. */
export function fail(reason: string): Outcome {
  return { status: 'fail', reason }
}

/** The check does not apply to the server. */
export function skip(reason: string): Outcome {
  return { status: 'skip', reason }
}

import { isObject } from '../util/objects.ts'
import type { Finding } from './findings/finding.ts'

/** How an approval was given. Those of earlier versions do not say. */
export interface Approver {
  /** `user`: a person saw what was approved. `program`: something else decided, such as an option of a command. */
  readonly by?: 'user' | 'program' | undefined
  /** The name of what decided, if it was not a person. */
  readonly program?: string | undefined
}

/**
 * Whether a remembered approval is enough to start a command. What looks dangerous needs a person. If it is unknown who approved,
 * commands of which only a person can say what they run do too.
 */
export function coversCommand({ by }: Approver, findings: readonly Finding[]): boolean {
  if (by === 'user') return true
  return !findings.some(
    ({ severity, rule }) => severity === 'high' || (by === undefined && rule === 'unknown-launcher'),
  )
}

/** Checks an approver that was read from a store. */
export function isApprover(value: unknown): value is Approver {
  if (!isObject(value)) return false
  const { by, program } = value
  return (
    (by === undefined || by === 'user' || by === 'program') && (program === undefined || typeof program === 'string')
  )
}

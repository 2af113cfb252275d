import type { DataFlow } from './action.ts'
import type { Finding } from './findings/finding.ts'

/** Data flows as findings, for actions that have no `flows` of their own: they are held until the user approves them. */
export function flowFindings(flows: readonly DataFlow[], to: string): Finding[] {
  return flows.map(({ from, path, excerpt }) => ({
    rule: 'data-flow',
    severity: 'high',
    where: `argument ${path}`,
    message: `It contains data of ${from}, which would go to ${to}`,
    excerpt,
  }))
}

import { checkAnnotations } from './annotations.ts'
import { checkNames } from './names.ts'
import { type LintInput, type Problem, type Rule, severities } from './problem.ts'
import { checkResources } from './resources.ts'
import { checkSchemas } from './schemas.ts'
import { checkSize } from './size.ts'
import { checkDescriptions, checkSuspiciousText } from './texts.ts'

/** Definitions that clients leave out of their lists. */
const checkMalformed: Rule = ({ malformed }) =>
  malformed.map(({ where, reason }) => ({
    rule: 'malformed-definition',
    severity: 'error',
    where,
    path: '',
    message: `Clients ignore it: ${reason}.`,
    fix: 'Send it as the MCP schema defines it.',
  }))

const rules: readonly Rule[] = [
  checkMalformed,
  checkSize,
  checkNames,
  checkDescriptions,
  checkSchemas,
  checkAnnotations,
  checkResources,
  checkSuspiciousText,
]

/** Checks a contract against all rules. The problems of one definition are together, the worst first. */
export function lint(input: LintInput, ignored: readonly string[] = []): Problem[] {
  const problems = rules.flatMap((rule) => rule(input)).filter(({ rule }) => !ignored.includes(rule))
  const order = new Map<string, number>()
  for (const { where } of problems) if (!order.has(where)) order.set(where, order.size)
  const rank = ({ where, severity }: Problem) =>
    (order.get(where) ?? 0) * severities.length + severities.indexOf(severity)
  return problems
    .map((problem) => ({ problem, at: rank(problem) }))
    .sort((a, b) => a.at - b.at)
    .map(({ problem }) => problem)
}

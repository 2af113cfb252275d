import type { Tool } from 'tenon'
import { own } from '../contract/json.ts'
import type { Problem, Rule, Severity } from './problem.ts'

/** Checks the behavior hints of tools: missing, contradictory, or unlike the name. */
export const checkAnnotations: Rule = ({ contract: { tools } }) => tools.flatMap(checkTool)

const hints = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'] as const

function checkTool(tool: Tool): Problem[] {
  const { annotations = {}, name } = tool
  const problem = (rule: string, severity: Severity, message: string, fix: string): Problem => ({
    rule,
    severity,
    where: `tool ${name}`,
    path: '/annotations',
    message,
    fix,
  })
  const wrong = hints.filter((hint) => !['boolean', 'undefined'].includes(typeof own({ ...annotations }, hint)))
  if (wrong.length > 0) {
    return [problem('annotations-invalid', 'error', `Not true or false: ${wrong.join(', ')}`, 'Use booleans.')]
  }
  const { readOnlyHint, destructiveHint } = annotations
  if (readOnlyHint === undefined && destructiveHint === undefined) {
    const message = 'It has neither readOnlyHint nor destructiveHint, so hosts assume that it can destroy data.'
    const fix = 'Set readOnlyHint, and for tools that change something destructiveHint.'
    return [problem('annotations-missing', 'warning', message, fix)]
  }
  if (readOnlyHint && destructiveHint) {
    const message = 'It is both read-only and destructive.'
    return [problem('annotations-contradictory', 'error', message, 'Remove the hint that is wrong.')]
  }
  if (readOnlyHint && changesSomething.test(name)) {
    const message = 'It is read-only according to its annotations, but not according to its name.'
    return [problem('annotations-doubtful', 'warning', message, 'Check readOnlyHint: hosts call such tools unasked.')]
  }
  return []
}

/** Words at the beginning of a name, or after a separator. */
const changesSomething =
  /(?:^|[_.-])(?:delete|remove|drop|destroy|erase|truncate|write|update|create|insert|send|execute|deploy)(?:[_.-]|[A-Z]|$)/

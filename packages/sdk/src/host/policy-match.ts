import { hintsOf } from '../client/features/tool-result.ts'
import { isThenable } from '../util/maybe-async.ts'
import { isObject } from '../util/objects.ts'
import type { Decision, HostAction, ToolAction } from './action.ts'
import { compileGlob } from './glob.ts'
import type { Policy, PolicyFunction, PolicyRule } from './policy.ts'
import { checkPolicy, isDecision } from './policy-check.ts'

/** What a policy decided. */
export interface PolicyDecision {
  readonly decision: Decision
  /** The index of the rule that decided; undefined if none matched. */
  readonly rule: number | undefined
}

/** A policy that is ready to decide. */
export type CompiledPolicy = (action: HostAction) => PolicyDecision | Promise<PolicyDecision>

/**
 * Checks a policy and prepares it, because it runs on every call. The result answers synchronously unless a function of the
 * policy returns a promise.
 *
 * Rules that allow are stricter than the others:
 * - They cover `connect` and `definitions` only if `kind` names them, so a rule for a server does not approve a new command line
 *   or changed tools.
 * - Data of other servers must all come from servers that match `from`.
 * - Every item of a list in the arguments must match, while for other rules one is enough.
 * - A pattern with a slash does not match a path with a `..` segment, which would lead out of the folder.
 */
export function compilePolicy(policy: Policy | undefined): CompiledPolicy {
  checkPolicy(policy)
  const entries = typeof policy === 'function' ? [policy] : (policy ?? [])
  const rules = entries.map((entry, index) =>
    typeof entry === 'function' ? checked(entry, index) : compileRule(entry),
  )
  return (action) => decideFrom(rules, 0, action)
}

/** Decides once. Use `compilePolicy` for a policy that decides more often. */
export function decide(policy: Policy | undefined, action: HostAction): PolicyDecision | Promise<PolicyDecision> {
  return compilePolicy(policy)(action)
}

type Rule = PolicyFunction

function decideFrom(
  rules: readonly Rule[],
  start: number,
  action: HostAction,
): PolicyDecision | Promise<PolicyDecision> {
  for (let rule = start; rule < rules.length; rule++) {
    const decision = rules[rule]!(action)
    if (isThenable(decision)) {
      return decision.then((later) => (later ? { decision: later, rule } : decideFrom(rules, rule + 1, action)))
    }
    if (decision) return { decision, rule }
  }
  return { decision: 'ask', rule: undefined }
}

/** A function that returns something else, such as `true`, must not be taken for a rule without an opinion. */
function checked(decide: PolicyFunction, index: number): Rule {
  const check = (decision: Decision | undefined) => {
    if (decision === undefined || isDecision(decision)) return decision
    const got = JSON.stringify(decision)
    throw new TypeError(`policy[${index}] returned ${got}. Return 'allow', 'deny', 'ask' or undefined.`)
  }
  return (action) => {
    const decision = decide(action)
    return isThenable(decision) ? decision.then(check) : check(decision)
  }
}

type Test = (action: HostAction) => boolean

function compileRule(rule: PolicyRule): Rule {
  const { decide } = rule
  const isAllow = decide === 'allow'
  const tests: Test[] = []
  if (rule.kind !== undefined || isAllow) tests.push(kindTest(rule.kind))
  if (rule.server !== undefined) {
    const matches = anyOf(rule.server)
    tests.push((action) => matches(action.server.id))
  }
  tests.push(...nameTests(rule, isAllow))
  if (rule.annotations !== undefined) tests.push(annotationTest(rule.annotations))
  if (rule.arguments !== undefined)
    tests.push(...Object.entries(rule.arguments).map((entry) => argumentTest(entry, isAllow)))
  if (rule.from !== undefined || isAllow) tests.push(flowTest(rule.from, isAllow))
  return (action) => (tests.every((test) => test(action)) ? decide : undefined)
}

/** Only an explicit rule can approve a command line or changed definitions without asking. */
const kindsToName: readonly string[] = ['connect', 'definitions']

function kindTest(kind: PolicyRule['kind']): Test {
  if (kind === undefined) return (action) => !kindsToName.includes(action.kind)
  const kinds: readonly string[] = typeof kind === 'string' ? [kind] : kind
  return (action) => kinds.includes(action.kind)
}

function nameTests({ tool, prompt, resource }: PolicyRule, isAllow: boolean): Test[] {
  const tests: Test[] = []
  if (tool !== undefined) {
    const matches = anyOf(tool)
    tests.push((action) => action.kind === 'tool' && matches(action.tool.name))
  }
  if (prompt !== undefined) {
    const matches = anyOf(prompt)
    tests.push((action) => action.kind === 'prompt' && matches(action.prompt))
  }
  if (resource !== undefined) {
    const matches = anyOf(resource, isAllow)
    tests.push((action) => action.kind === 'resource' && matches(action.uri))
  }
  return tests
}

function annotationTest(wanted: Readonly<Record<string, boolean>>): Test {
  const hints = Object.entries(wanted)
  return (action) => {
    if (action.kind !== 'tool' || action.server.trust !== 'trusted') return false
    const found: Readonly<Record<string, unknown>> = hintsOf(isObject(action.tool.annotations) ? action.tool : {})
    return hints.every(([name, value]) => found[name] === value)
  }
}

/** Without flows, a rule with `from` is about something else. */
function flowTest(from: PolicyRule['from'], isAllow: boolean): Test {
  const flowsOf = (action: HostAction): ToolAction['flows'] => (action.kind === 'tool' ? action.flows : [])
  if (from === undefined) return (action) => flowsOf(action).length === 0
  const matches = anyOf(from)
  return (action) => {
    const flows = flowsOf(action)
    if (flows.length === 0) return false
    return isAllow ? flows.every((flow) => matches(flow.from)) : flows.some((flow) => matches(flow.from))
  }
}

function argumentTest([path, pattern]: [string, string | RegExp], isAllow: boolean): Test {
  const keys = path.split('.')
  const matches = typeof pattern === 'string' ? anyOf(pattern, isAllow) : regExpTest(pattern, isAllow)
  const matchesValue = (value: unknown): boolean => {
    if (Array.isArray(value)) return isAllow ? value.length > 0 && value.every(matchesValue) : value.some(matchesValue)
    const isScalar = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    return isScalar && matches(String(value))
  }
  return (action) => action.kind === 'tool' && matchesValue(memberAt(action.arguments, keys))
}

function memberAt(value: unknown, keys: readonly string[]): unknown {
  let current = value
  for (const key of keys) {
    if (typeof current !== 'object' || current === null || !Object.hasOwn(current, key)) return undefined
    current = (current as Readonly<Record<string, unknown>>)[key]
  }
  return current
}

/** The text comes from a model and the expression from the operator, so a slow one is bounded here. */
const maxTestedLength = 10_000

function regExpTest(pattern: RegExp, isAllow: boolean): (text: string) => boolean {
  // The flags g and y would make the result depend on the call before.
  const expression = new RegExp(pattern.source, pattern.flags.replace(/[gy]/g, ''))
  return (text) => (text.length > maxTestedLength ? !isAllow : expression.test(text))
}

/** @param staysInside Whether texts with a `..` segment match no pattern with a slash. */
function anyOf(patterns: string | readonly string[], staysInside = false): (text: string) => boolean {
  const tests = (typeof patterns === 'string' ? [patterns] : patterns).map((pattern) => {
    const matches = compileGlob(pattern)
    return staysInside && pattern.includes('*') && /[/\\]/.test(pattern)
      ? (text: string) => matches(text) && !hasParentSegment(text)
      : matches
  })
  return (text) => tests.some((matches) => matches(text))
}

function hasParentSegment(text: string): boolean {
  const decoded = text.replace(/%2e/gi, '.').replace(/%2f/gi, '/').replace(/%5c/gi, '\\')
  return decoded.split(/[/\\]/).includes('..')
}

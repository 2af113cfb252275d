import { hintsOf } from '../client/features/tool-result.ts'
import { isThenable } from '../util/maybe-async.ts'
import { isObject } from '../util/objects.ts'
import type { Decision, HostAction, ResultAction } from './action.ts'
import { mayBelongTo } from './catalog.ts'
import { compileGlob } from './glob.ts'
import type { Policy, PolicyFunction, PolicyRule } from './policy.ts'
import { checkPolicy, isDecision } from './policy-check.ts'
import { compileTextExpression, compileTextPattern } from './text-pattern.ts'

/** What a policy decided. */
export interface PolicyDecision {
  readonly decision: Decision
  /** The index of the rule that decided; undefined if none matched. */
  readonly rule: number | undefined
  /** Whether the rule is about data of other servers. */
  readonly isFlow?: boolean
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
 * - Data of other servers that was recognized must all come from servers that match `from`. The others go by everything that
 *   the session has received.
 * - Every item of a list in the arguments must match, while for other rules one is enough.
 * - Every reading of an argument or URI must match, such as `/etc` for `/srv/../etc` and `/srv/%2e%2e/etc`, while for other
 *   rules one is enough. A pattern with a slash does not match a path with a `..` segment, which can lead out of the folder.
 * - The host of a URL must match the host of the pattern.
 */
export function compilePolicy(policy: Policy | undefined): CompiledPolicy {
  checkPolicy(policy)
  const entries = typeof policy === 'function' ? [policy] : (policy ?? [])
  const rules = entries.map((entry, index) =>
    typeof entry === 'function' ? checked(entry, index) : Object.assign(compileRule(entry), isFlowRule(entry)),
  )
  return (action) => decideFrom(rules, 0, action)
}

/** Decides once. Use `compilePolicy` for a policy that decides more often. */
export function decide(policy: Policy | undefined, action: HostAction): PolicyDecision | Promise<PolicyDecision> {
  return compilePolicy(policy)(action)
}

type Rule = PolicyFunction & { readonly isFlow?: true }

function isFlowRule({ from }: PolicyRule): { isFlow?: true } {
  return from === undefined ? {} : { isFlow: true }
}

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
    if (decision) return rules[rule]!.isFlow ? { decision, rule, isFlow: true } : { decision, rule }
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
  const checkFor = (action: HostAction, decision: Decision | undefined) => {
    if (decision !== 'redact' || action.kind === 'result') return check(decision)
    throw new TypeError(
      `policy[${index}] returned 'redact' for the kind '${action.kind}'. Only results can be redacted.`,
    )
  }
  return (action) => {
    const decision = decide(action)
    return isThenable(decision) ? decision.then((later) => checkFor(action, later)) : checkFor(action, decision)
  }
}

type Test = (action: HostAction) => boolean

function compileRule(rule: PolicyRule): Rule {
  const { decide } = rule
  const isAllow = decide === 'allow'
  const tests: Test[] = []
  tests.push(rule.kind === undefined ? defaultKindTest(rule) : kindTest(rule.kind))
  if (rule.server !== undefined) {
    const matches = anyOf(rule.server)
    tests.push((action) => matches(action.server.id))
  }
  tests.push(...nameTests(rule, isAllow))
  if (rule.annotations !== undefined) tests.push(annotationTest(rule.annotations))
  if (rule.arguments !== undefined)
    tests.push(...Object.entries(rule.arguments).map((entry) => argumentTest(entry, isAllow)))
  if (rule.finding !== undefined) tests.push(findingTest(rule.finding, isAllow))
  if (rule.from !== undefined || isAllow) tests.push(flowTest(rule.from, isAllow))
  return (action) => (tests.every((test) => test(action)) ? decide : undefined)
}

/** Only an explicit rule can approve a command line or changed definitions without asking. */
const kindsToName: readonly string[] = ['connect', 'definitions']

/** A rule about calls, such as one that asks about everything, would otherwise ask about every result as well. */
function defaultKindTest({ decide, finding }: PolicyRule): Test {
  if (decide === 'redact' || finding !== undefined) return ({ kind }) => kind === 'result'
  return decide === 'allow'
    ? ({ kind }) => kind !== 'result' && !kindsToName.includes(kind)
    : ({ kind }) => kind !== 'result'
}

function kindTest(kind: NonNullable<PolicyRule['kind']>): Test {
  const kinds: readonly string[] = typeof kind === 'string' ? [kind] : kind
  return (action) => kinds.includes(action.kind)
}

function nameTests({ tool, prompt, resource }: PolicyRule, isAllow: boolean): Test[] {
  const tests: Test[] = []
  if (tool !== undefined) {
    const matches = anyName(tool, isAllow)
    tests.push((action) =>
      action.kind === 'tool' ? matches(action, action.tool.name, action.name) : isResultOf(action, 'tool', matches),
    )
  }
  if (prompt !== undefined) {
    const matches = anyName(prompt, isAllow)
    tests.push((action) =>
      action.kind === 'prompt' ? matches(action, action.prompt, action.name) : isResultOf(action, 'prompt', matches),
    )
  }
  if (resource !== undefined) {
    const matches = anyUri(resource, isAllow)
    const ofResult: NameTest = (_, uri) => matches(uri)
    tests.push((action) =>
      action.kind === 'resource' ? matches(action.uri) : isResultOf(action, 'resource', ofResult),
    )
  }
  return tests
}

function isResultOf(action: HostAction, of: ResultAction['of'], matches: NameTest): boolean {
  return action.kind === 'result' && action.of === of && matches(action, action.name, action.catalogName)
}

function findingTest(finding: NonNullable<PolicyRule['finding']>, isAllow: boolean): Test {
  const rules: readonly string[] = typeof finding === 'string' ? [finding] : finding
  return (action) => {
    if (action.kind !== 'result') return false
    const high = action.findings.filter(({ severity }) => severity === 'high')
    return isAllow
      ? high.length > 0 && high.every(({ rule }) => rules.includes(rule))
      : action.findings.some(({ rule }) => rules.includes(rule))
  }
}

function annotationTest(wanted: Readonly<Record<string, boolean>>): Test {
  const hints = Object.entries(wanted)
  return (action) => {
    if (action.kind !== 'tool' || action.server.trust !== 'trusted') return false
    const found: Readonly<Record<string, unknown>> = hintsOf(isObject(action.tool.annotations) ? action.tool : {})
    return hints.every(([name, value]) => found[name] === value)
  }
}

/**
 * Without data of other servers, a rule with `from` is about something else. A rule that denies or asks cannot be passed by
 * rewriting the data, because it goes by what the session has received.
 */
function flowTest(from: PolicyRule['from'], isAllow: boolean): Test {
  if (from === undefined) return (action) => sourcesOf(action).length === 0
  const matches = anyOf(from)
  if (isAllow) {
    return (action) => {
      const sources = sourcesOf(action)
      return sources.length > 0 && sources.every(matches)
    }
  }
  return (action) => sourcesOf(action).some(matches) || taintOf(action).some(matches)
}

/** The other servers whose data is in what an action sends: recognized in arguments, or added as context. */
export function sourcesOf(action: HostAction): string[] {
  const sources = action.kind === 'tool' ? action.flows.map(({ from }) => from) : contextOf(action)
  return [...new Set(sources)].sort()
}

function contextOf(action: HostAction): readonly string[] {
  return ('contextFrom' in action ? action.contextFrom : undefined) ?? []
}

/** The servers whose data may be in what an action sends. */
export function taintOf(action: HostAction): readonly string[] {
  return ('taint' in action ? action.taint : undefined) ?? []
}

function argumentTest([path, pattern]: [string, string | RegExp], isAllow: boolean): Test {
  const keys = path.split('.')
  const matches =
    typeof pattern === 'string' ? compileTextPattern(pattern, isAllow) : compileTextExpression(pattern, isAllow)
  const matchesValue = (value: unknown): boolean => {
    if (Array.isArray(value)) return isAllow ? value.length > 0 && value.every(matchesValue) : value.some(matchesValue)
    const isScalar = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    return isScalar && matches(String(value))
  }
  return (action) => {
    if (action.kind !== 'tool') return false
    const values = valuesAt(action.arguments, keys)
    return isAllow ? values.length > 0 && values.every(matchesValue) : values.some(matchesValue)
  }
}

/**
 * The values at a path. A list stands for all its items, so `files.path` finds the path of each file, and a name may contain
 * dots itself. An item without the member counts as undefined, which no pattern matches.
 */
function valuesAt(value: unknown, keys: readonly string[]): unknown[] {
  if (keys.length === 0) return [value]
  if (typeof value !== 'object' || value === null) return [undefined]
  if (Array.isArray(value)) {
    const isIndex = /^\d+$/.test(keys[0]!)
    return isIndex ? valuesAt(value[Number(keys[0])], keys.slice(1)) : value.flatMap((item) => valuesAt(item, keys))
  }
  const members = value as Readonly<Record<string, unknown>>
  const found = keys.flatMap((_, last) => {
    const name = keys.slice(0, last + 1).join('.')
    return Object.hasOwn(members, name) ? valuesAt(members[name], keys.slice(last + 1)) : []
  })
  return found.length > 0 ? found : [undefined]
}

/** Tests a name: as the server defines it, or as it is in the catalog. */
type NameTest = (action: HostAction, own: string, catalogName: string | undefined) => boolean

/**
 * Tests the name of a tool or prompt. Users see names of the catalog, so a rule with one must not silently match nothing. A
 * pattern that allows must name the server completely: `git_*` does not allow the tools of a server `git_hub`.
 */
function anyName(patterns: string | readonly string[], isAllow: boolean): NameTest {
  const matchesOwn = anyOf(patterns)
  const tests = listOf(patterns).map((pattern) => {
    const matches = compileGlob(pattern)
    const [start = ''] = pattern.split('*')
    const isLimited = isAllow && start !== pattern
    return (id: string, name: string) => matches(name) && (!isLimited || mayBelongTo(start, id))
  })
  return ({ server }, own, catalogName) =>
    matchesOwn(own) || (catalogName !== undefined && tests.some((matches) => matches(server.id, catalogName)))
}

/** Tests the id of a server. */
function anyOf(patterns: string | readonly string[]): (text: string) => boolean {
  const tests = listOf(patterns).map(compileGlob)
  return (text) => tests.some((matches) => matches(text))
}

/** Tests the URI of a resource. */
function anyUri(patterns: string | readonly string[], isAllow: boolean): (uri: string) => boolean {
  const tests = listOf(patterns).map((pattern) => compileTextPattern(pattern, isAllow))
  return (uri) => tests.some((matches) => matches(uri))
}

function listOf(patterns: string | readonly string[]): readonly string[] {
  return typeof patterns === 'string' ? [patterns] : patterns
}

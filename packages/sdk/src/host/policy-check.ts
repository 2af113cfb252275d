import { isObject } from '../util/objects.ts'
import type { Decision, HostAction } from './action.ts'
import { closest } from './config/edit-distance.ts'
import type { FindingRule } from './findings/finding.ts'
import { compileGlob } from './glob.ts'
import type { Policy, PolicyRule } from './policy.ts'
import type { HostRoots } from './roots.ts'

/**
 * Checks a policy, which may come from a file. A rule with a mistake would otherwise never match, or match too much.
 * @throws TypeError Names the rule and the member.
 */
export function checkPolicy(policy: unknown): void {
  if (policy === undefined || typeof policy === 'function') return
  if (!Array.isArray(policy)) throw new TypeError('policy is not a list of rules. Pass a list, or a function.')
  policy.forEach((rule: unknown, index) => {
    if (typeof rule !== 'function') checkRule(rule, `policy[${index}]`)
  })
}

/**
 * Finds rules that name a server which does not exist. Such a rule never matches: a misspelt id would make one that denies useless.
 * Patterns are not checked, because they may be meant for servers to come.
 *
 * @param later Ids or patterns of servers that are added later.
 */
export function findUnknownServers(
  policy: Policy | undefined,
  ids: readonly string[],
  later: readonly string[] = [],
): TypeError[] {
  if (policy === undefined || typeof policy === 'function') return []
  const isKnown = knownServers(ids, later)
  const isUnknown = (id: unknown): id is string => typeof id === 'string' && !id.includes('*') && !isKnown(id)
  return policy.flatMap((rule, index) => {
    if (typeof rule === 'function') return []
    return (['server', 'from'] as const).flatMap((member) =>
      listOf(rule[member])
        .filter(isUnknown)
        .map((id) => unknownServer(`policy[${index}].${member}`, id, ids)),
    )
  })
}

/**
 * Finds roots for a server which does not exist. The server that was meant would have none, so its paths would not be checked.
 *
 * @param later Ids or patterns of servers that are added later.
 */
export function findUnknownRoots(
  roots: HostRoots | undefined,
  ids: readonly string[],
  later: readonly string[] = [],
): TypeError[] {
  return Array.isArray(roots)
    ? []
    : findUnknownKeys('roots', roots as Exclude<HostRoots, readonly unknown[]>, ids, later)
}

/** Finds keys of an option that do not name a server. */
export function findUnknownKeys(
  where: string,
  byId: Readonly<Record<string, unknown>> | undefined,
  ids: readonly string[],
  later: readonly string[] = [],
): TypeError[] {
  const isKnown = knownServers(ids, later)
  return Object.keys(byId ?? {})
    .filter((id) => !isKnown(id))
    .map((id) => unknownServer(where, id, ids))
}

function knownServers(ids: readonly string[], later: readonly string[]): (id: string) => boolean {
  const isLater = later.map((pattern) => compileGlob(pattern))
  return (id) => ids.includes(id) || isLater.some((matches) => matches(id))
}

function unknownServer(where: string, id: string, ids: readonly string[]): TypeError {
  const meant = closest(id, ids)
  const guess = meant === undefined ? '' : ` Did you mean ${JSON.stringify(meant)}?`
  const known = ids.length === 0 ? 'There are no servers.' : `Servers are: ${ids.join(', ')}.`
  return new TypeError(`${where} names the server ${JSON.stringify(id)}, which is not configured.${guess} ${known}`)
}

/** Whether a value is a decision. */
export function isDecision(value: unknown): value is Decision {
  return value === 'allow' || value === 'deny' || value === 'ask' || value === 'redact'
}

type Check = (value: unknown) => string | undefined

const kinds: Readonly<Record<HostAction['kind'], true>> = {
  connect: true,
  definitions: true,
  tool: true,
  resource: true,
  prompt: true,
  roots: true,
  sampling: true,
  'sampling-result': true,
  elicitation: true,
  result: true,
}

const findingRules: Readonly<Record<FindingRule, true>> = {
  'hidden-text': true,
  'look-alike': true,
  instructions: true,
  shadowing: true,
  secret: true,
  'data-flow': true,
  'private-address': true,
  'dangerous-command': true,
  'unknown-launcher': true,
  'outside-roots': true,
  'not-inspected': true,
  credentials: true,
  'wide-scope': true,
}

const hints = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint']

/** For each member of a rule: returns what is wrong with a value. */
const members: Readonly<Record<keyof PolicyRule, Check>> = {
  decide: (value) => (isDecision(value) ? undefined : "must be 'allow', 'deny' or 'ask', or 'redact' for results"),
  kind: (value) => textProblem(value) ?? listOf(value).map(kindProblem).find(Boolean),
  server: textProblem,
  tool: textProblem,
  prompt: textProblem,
  resource: textProblem,
  annotations: annotationsProblem,
  arguments: argumentsProblem,
  from: textProblem,
  finding: (value) => textProblem(value) ?? listOf(value).map(findingProblem).find(Boolean),
}

/** Members that only make sense for one kind of action. */
const kindOfMember = {
  tool: 'tool',
  annotations: 'tool',
  arguments: 'tool',
  prompt: 'prompt',
  resource: 'resource',
} as const

function checkRule(rule: unknown, where: string): void {
  if (!isObject(rule))
    throw new TypeError(`${where} is not a rule. Pass an object such as { tool: 'read_*', decide: 'allow' }.`)
  if (rule.decide === undefined) throw new TypeError(`${where}.decide is missing. It must be 'allow', 'deny' or 'ask'.`)
  for (const [name, value] of Object.entries(rule)) {
    if (!isMember(name)) {
      throw new TypeError(
        `${where}.${name} is not a member of a rule. Members are: ${Object.keys(members).join(', ')}.`,
      )
    }
    const problem = value === undefined ? undefined : members[name](value)
    if (problem !== undefined) throw new TypeError(`${where}.${name} ${problem}.`)
  }
  checkKinds(rule, where)
  if (isResultOnly(rule) && rule.kind !== undefined && listOf(rule.kind).some((kind) => kind !== 'result')) {
    throw new TypeError(
      `${where} is about results, because of ${resultMember(rule)}. Set kind to 'result', or leave it out.`,
    )
  }
}

function isResultOnly({ decide, finding }: Readonly<Record<string, unknown>>): boolean {
  return decide === 'redact' || finding !== undefined
}

function resultMember({ finding }: Readonly<Record<string, unknown>>): string {
  return finding === undefined ? "decide: 'redact'" : 'finding'
}

/** A rule for a tool and a resource at once would never match. */
function checkKinds(rule: Readonly<Record<string, unknown>>, where: string): void {
  const needed = Object.entries(kindOfMember).filter(([name]) => rule[name] !== undefined)
  const allowed = rule.kind === undefined ? undefined : listOf(rule.kind)
  for (const [name, kind] of needed) {
    const other = needed.find((entry) => entry[1] !== kind)
    if (other)
      throw new TypeError(`${where}.${name} and ${where}.${other[0]} never match the same action. Use two rules.`)
    // Results are those of a tool, a resource or a prompt.
    if (allowed && !allowed.includes(kind) && !(allowed.includes('result') && kindsOfResults.has(name))) {
      throw new TypeError(
        `${where}.${name} never matches an action of this kind. Set kind to '${kind}', or leave it out.`,
      )
    }
  }
}

const kindsOfResults: ReadonlySet<string> = new Set(['tool', 'resource', 'prompt'])

function isMember(name: string): name is keyof PolicyRule {
  return Object.hasOwn(members, name)
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [value]
}

function textProblem(value: unknown): string | undefined {
  const texts = listOf(value)
  if (texts.length === 0) return 'is an empty list, so the rule would never match. Name at least one, or leave it out'
  return texts.every((text) => typeof text === 'string' && text !== '')
    ? undefined
    : 'must be a text or a list of texts'
}

function kindProblem(kind: unknown): string | undefined {
  if (typeof kind === 'string' && Object.hasOwn(kinds, kind)) return undefined
  return `has the unknown kind ${JSON.stringify(kind)}. Kinds are: ${Object.keys(kinds).join(', ')}`
}

function findingProblem(rule: unknown): string | undefined {
  if (typeof rule === 'string' && Object.hasOwn(findingRules, rule)) return undefined
  return `has the unknown finding ${JSON.stringify(rule)}. Findings are: ${Object.keys(findingRules).join(', ')}`
}

function annotationsProblem(value: unknown): string | undefined {
  if (!isObject(value)) return 'must be an object such as { readOnlyHint: true }'
  const unknown = Object.keys(value).find((name) => !hints.includes(name))
  if (unknown !== undefined) return `has the unknown hint "${unknown}". Hints are: ${hints.join(', ')}`
  const wrong = Object.keys(value).find((name) => typeof value[name] !== 'boolean')
  return wrong === undefined ? undefined : `has a value that is neither true nor false for "${wrong}"`
}

function argumentsProblem(value: unknown): string | undefined {
  if (!isObject(value)) return "must be an object such as { path: '/srv/public/*' }"
  const wrong = Object.keys(value).find((path) => typeof value[path] !== 'string' && !(value[path] instanceof RegExp))
  return wrong === undefined ? undefined : `has a value that is neither text nor a regular expression for "${wrong}"`
}

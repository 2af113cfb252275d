import { isObject, type JsonObject } from '../../util/objects.ts'
import { bubblewrap, container, type Mount } from '../sandbox/runners.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import { closest } from './edit-distance.ts'
import type { Members } from './members.ts'
import type { ServerProblems } from './problems.ts'

/**
 * Reads `sandbox`: the object of `container()` or `bubblewrap()`, or in a file its options, such as
 * `{ "container": { "image": "node:22-slim" } }`. Anything else is an error, because the server would run unconfined.
 */
export function readSandbox(members: Members, problems: ServerProblems): Sandbox | undefined {
  const value = members.raw('sandbox')
  if (value === undefined || isSandbox(value)) return value
  const options = isObject(value) ? value : {}
  const [kind, other] = Object.keys(options)
  const given = kind === undefined || other !== undefined ? undefined : options[kind]
  if (!isObject(given) || (kind !== 'container' && kind !== 'bubblewrap')) {
    problems.fail('sandbox', 'must be { "container": { "image": "..." } } or { "bubblewrap": {} }.')
    return undefined
  }
  return kind === 'container' ? readContainer(given, problems) : readBubblewrap(given, problems)
}

function isSandbox(value: unknown): value is Sandbox {
  return isObject(value) && typeof value.wrap === 'function'
}

/** What a value must be: the check, and its description for errors. */
interface Rule {
  readonly isValid: (value: unknown) => boolean
  readonly expected: string
}

const text: Rule = { isValid: (value) => typeof value === 'string', expected: 'a string' }
const texts: Rule = { isValid: isTexts, expected: 'an array of strings' }
const flag: Rule = { isValid: (value) => typeof value === 'boolean', expected: 'true or false' }
const count: Rule = {
  isValid: (value) => Number.isSafeInteger(value) && Number(value) > 0,
  expected: 'a number above 0',
}

const containerRules: Readonly<Record<string, Rule>> = {
  runtime: { isValid: (value) => value === 'docker' || value === 'podman', expected: '"docker" or "podman"' },
  image: text,
  mounts: { isValid: isMounts, expected: 'an array of { "source", "target", "write" }' },
  network: { isValid: (value) => flag.isValid(value) || text.isValid(value), expected: 'true, false or a name' },
  user: text,
  maxMemoryBytes: count,
  maxProcesses: count,
  extraArgs: texts,
}

const bubblewrapRules: Readonly<Record<string, Rule>> = { read: texts, write: texts, network: flag }

function readContainer(given: JsonObject, problems: ServerProblems): Sandbox | undefined {
  if (!isValid(given, 'sandbox.container', containerRules, problems)) return undefined
  const { image } = given
  if (typeof image === 'string') return created(() => container({ ...given, image }), problems)
  problems.fail('sandbox.container.image', 'is missing.')
  return undefined
}

function readBubblewrap(given: JsonObject, problems: ServerProblems): Sandbox | undefined {
  if (!isValid(given, 'sandbox.bubblewrap', bubblewrapRules, problems)) return undefined
  return created(() => bubblewrap(given), problems)
}

function isValid(
  given: JsonObject,
  member: string,
  rules: Readonly<Record<string, Rule>>,
  problems: ServerProblems,
): boolean {
  const wrong = Object.keys(given).filter((name) => !Object.hasOwn(rules, name) || !rules[name]?.isValid(given[name]))
  for (const name of wrong) {
    const rule = Object.hasOwn(rules, name) ? rules[name] : undefined
    const intended = closest(name, Object.keys(rules))
    const unknown = `is not known.${intended ? ` Did you mean "${intended}"?` : ''}`
    problems.fail(`${member}.${name}`, rule ? `must be ${rule.expected}.` : unknown)
  }
  return wrong.length === 0
}

function created(create: () => Sandbox, problems: ServerProblems): Sandbox | undefined {
  try {
    return create()
  } catch (error) {
    problems.fail('sandbox', `is invalid. ${error instanceof Error ? error.message : String(error)}`)
    return undefined
  }
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string')
}

function isMounts(value: unknown): value is Mount[] {
  return Array.isArray(value) && value.every(isMount)
}

function isMount(value: unknown): boolean {
  if (!isObject(value) || typeof value.source !== 'string') return false
  const { target, write, source: _, ...rest } = value
  const isTarget = target === undefined || typeof target === 'string'
  return isTarget && (write === undefined || typeof write === 'boolean') && Object.keys(rest).length === 0
}

import type { ServerProblems } from './problems.ts'

/** Where the values of variables come from. */
export interface VariableSource {
  readonly env: Readonly<Record<string, string | undefined>>
  /** The value of `${workspaceFolder}`. */
  readonly cwd: string
  /** The value of `${userHome}`; undefined if it is not known. */
  readonly home: string | undefined
  /** What VS Code would ask the user for, by id, with the description of each. */
  readonly inputs: ReadonlyMap<string, string>
  /** Also replaces `{env:NAME}`, as opencode writes variables. */
  readonly hasBracedVariables: boolean
}

/**
 * Replaces the variables in a text. The result is not searched again, so the value of a variable cannot contain variables.
 * Reports each variable that has no value.
 */
export function expandVariables(
  text: string,
  member: string,
  source: VariableSource,
  problems: ServerProblems,
): string {
  const replace = (inside: string) => {
    const value = resolveReference(inside, source)
    if (value.text === undefined) problems.fail(member, value.problem)
    return value.text ?? `\${${inside}}`
  }
  const expandRest = (rest: string) => (source.hasBracedVariables ? expandBraced(rest, member, source, problems) : rest)
  return replaceBetween(text, '${', replace, expandRest)
}

type Value = { readonly text: string } | { readonly text?: undefined; readonly problem: string }

function resolveReference(inside: string, source: VariableSource): Value {
  if (inside.startsWith('input:')) return { problem: inputProblem(inside.slice('input:'.length), source) }
  const [reference = '', fallback] = splitFallback(inside)
  const text = builtIn(reference, source) ?? environmentValue(reference.replace(/^env:/, ''), source)
  if (fallback !== undefined && (text === undefined || text === '')) return { text: fallback }
  return text === undefined ? { problem: undefinedProblem(reference) } : { text }
}

function splitFallback(inside: string): [string, string | undefined] {
  const at = inside.indexOf(':-')
  return at < 0 ? [inside, undefined] : [inside.slice(0, at), inside.slice(at + 2)]
}

function builtIn(name: string, { cwd, home }: VariableSource): string | undefined {
  if (name === 'workspaceFolder') return cwd
  if (name === 'workspaceFolderBasename') return cwd.split(/[\\/]/).findLast((part) => part !== '')
  if (name === 'userHome') return home
  if (name === 'pathSeparator' || name === '/') return cwd.includes('\\') ? '\\' : '/'
  return undefined
}

function environmentValue(name: string, { env }: VariableSource): string | undefined {
  return Object.hasOwn(env, name) ? env[name] : undefined
}

function undefinedProblem(reference: string): string {
  const name = reference.replace(/^env:/, '')
  if (reference === 'userHome') return `uses \${userHome}, but the home directory is not known. Set HOME.`
  if (!/^[A-Za-z_][\w().]*$/.test(name)) {
    return `uses \${${reference}}, which is not supported. Use \${NAME} for an environment variable, \${workspaceFolder} or \${userHome}.`
  }
  return `uses \${${reference}}, but the environment variable ${name} is not set. Set it, or write \${${name}:-default}.`
}

function inputProblem(id: string, { inputs }: VariableSource): string {
  const description = inputs.get(id)
  const what = description ? ` (${JSON.stringify(description)})` : ''
  const name = id.replace(/\W/g, '_').toUpperCase()
  return `uses \${input:${id}}${what}, which only an editor can ask for. Put the value into an environment variable and write \${env:${name}}.`
}

/** Replaces `{env:NAME}`, which is empty if the variable is not set: opencode does the same. */
function expandBraced(text: string, member: string, source: VariableSource, problems: ServerProblems): string {
  if (text.includes('{file:'))
    problems.fail(member, 'uses {file:...}, which is not supported. Use an environment variable: {env:NAME}.')
  return replaceBetween(text, '{env:', (name) => {
    const value = environmentValue(name, source)
    if (value === undefined) problems.fail(member, undefinedProblem(name))
    return value ?? ''
  })
}

/** Replaces everything between `open` and the next `}`, and the rest by `replaceRest`. Scans the text once. */
function replaceBetween(
  text: string,
  open: string,
  replace: (inside: string) => string,
  replaceRest: (rest: string) => string = (rest) => rest,
): string {
  let result = ''
  let at = 0
  for (;;) {
    const start = text.indexOf(open, at)
    const end = start < 0 ? -1 : text.indexOf('}', start)
    if (end < 0) return result + replaceRest(text.slice(at))
    result += replaceRest(text.slice(at, start)) + replace(text.slice(start + open.length, end))
    at = end + 1
  }
}

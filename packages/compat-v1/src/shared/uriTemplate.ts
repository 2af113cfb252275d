/** Values of the variables of a template. */
export type Variables = Record<string, string | string[]>

/**
 * A URI template with the rules that programs for version 1 of the official SDK rely on.
 *
 * They differ from RFC 6570, and from the `UriTemplate` of Tenon: matched values are not percent-decoded, query
 * parameters are required and have a fixed order, `{x,y}` matches one value, and lists are separated by commas only.
 * A program that decodes matched values itself would decode them twice otherwise.
 */
export class UriTemplate {
  /** Whether a text has an expression in braces. */
  static isTemplate(str: string): boolean {
    return /\{[^}\s]+\}/.test(str)
  }

  private readonly _tenonTemplate: string
  private readonly _tenonParts: readonly Part[]
  private _tenonSteps: readonly Step[] | undefined

  /** @throws Error if a brace is not closed, or the template is too long */
  constructor(template: string) {
    checkLength(template, 'Template')
    this._tenonTemplate = template
    this._tenonParts = parse(template)
  }

  /** The names of the variables, in the order of the template. */
  get variableNames(): string[] {
    return this._tenonParts.flatMap((part) => (typeof part === 'string' ? [] : part.names))
  }

  /** The template as it was given. */
  toString(): string {
    return this._tenonTemplate
  }

  /** Fills in the variables. Those without a value leave nothing behind. */
  expand(variables: Variables): string {
    let uri = ''
    let hasQuery = false
    for (const part of this._tenonParts) {
      if (typeof part === 'string') {
        uri += part
        continue
      }
      const text = expandExpression(part, variables)
      const isQuery = part.operator === '?' || part.operator === '&'
      uri += isQuery && hasQuery ? text.replace('?', '&') : text
      hasQuery ||= isQuery && text !== ''
    }
    return uri
  }

  /** The values of the variables in a URI, or null if it does not match. */
  match(uri: string): Variables | null {
    checkLength(uri, 'URI')
    this._tenonSteps ??= this._tenonParts.flatMap(toSteps)
    const ends = findEnds(this._tenonSteps, uri)
    return ends && readVariables(this._tenonSteps, ends, uri)
  }
}

const MAX_LENGTH = 1_000_000
const MAX_EXPRESSIONS = 10_000

/** Literal text, or an expression. */
type Part = string | Expression

interface Expression {
  operator: string
  names: string[]
  exploded: boolean
}

function checkLength(text: string, what: string): void {
  if (text.length <= MAX_LENGTH) return
  throw new Error(`${what} exceeds maximum length of ${MAX_LENGTH} characters (got ${text.length})`)
}

function parse(template: string): Part[] {
  const parts: Part[] = []
  let expressions = 0
  for (let at = 0; at < template.length; ) {
    const open = template.indexOf('{', at)
    if (open !== at) parts.push(template.slice(at, open < 0 ? undefined : open))
    if (open < 0) break
    const close = template.indexOf('}', open)
    if (close < 0) throw new Error('Unclosed template expression')
    if (++expressions > MAX_EXPRESSIONS) {
      throw new Error(`Template contains too many expressions (max ${MAX_EXPRESSIONS})`)
    }
    parts.push(parseExpression(template.slice(open + 1, close)))
    at = close + 1
  }
  return parts
}

function parseExpression(text: string): Expression {
  const operator = /^[+#./?&]/.exec(text)?.[0] ?? ''
  const names = text.slice(operator.length).split(',')
  return {
    operator,
    names: names.map((name) => name.replace('*', '').trim()).filter((name) => name !== ''),
    exploded: text.includes('*'),
  }
}

function expandExpression({ operator, names }: Expression, variables: Variables): string {
  const defined = names.filter((name) => variables[name] !== undefined)
  if (defined.length === 0) return ''
  const listOf = (name: string) => [variables[name]!].flat()
  const encoded = (name: string) => listOf(name).map((value) => encodeValue(String(value), operator))
  if (operator === '?' || operator === '&') {
    return operator + defined.map((name) => `${name}=${encoded(name).join(',')}`).join('&')
  }
  if (names.length > 1) return defined.map((name) => listOf(name)[0]).join(',')
  const separator = operator === '.' || operator === '/' ? operator : ','
  return (operator === '+' ? '' : operator) + encoded(names[0]!).join(separator)
}

function encodeValue(value: string, operator: string): string {
  checkLength(value, 'Variable value')
  return operator === '+' || operator === '#' ? encodeURI(value) : encodeURIComponent(value)
}

/** A part of a URI: literal text, or a value up to a character that it cannot contain. */
type Step = { literal: string } | ValueStep

interface ValueStep {
  name: string
  exploded: boolean
  excludes: string
}

function toSteps(part: Part): Step[] {
  if (typeof part === 'string') return [{ literal: part }]
  const { operator, exploded, names } = part
  if (operator === '?' || operator === '&') {
    return names.flatMap((name, index) => [
      { literal: `${index === 0 ? operator : '&'}${name}=` },
      { name, exploded, excludes: '&' },
    ])
  }
  const [name = ''] = names
  if (operator === '+' || operator === '#') return [{ name, exploded, excludes: '\n\r\u2028\u2029' }]
  const value = { name, exploded, excludes: exploded && operator !== '.' ? '/' : '/,' }
  return operator === '' ? [value] : [{ literal: operator }, value]
}

/**
 * For each step where it ends, if all of them match. Each value is as long as the steps behind it allow.
 *
 * Works from the last step to the first, noting from where the rest can match. Nothing is tried twice, so that no URI
 * takes longer than the product of both lengths, unlike a regular expression that backtracks.
 */
function findEnds(steps: readonly Step[], uri: string): number[] | null {
  if (steps.length * uri.length > MAX_CELLS) throw new Error('The URI and its template are too long to match')
  const starts: Int32Array[] = []
  let rest = new Int32Array(uri.length + 1).fill(NONE)
  rest[uri.length] = uri.length
  for (let index = steps.length - 1; index >= 0; index--) {
    const step = steps[index]!
    rest = 'literal' in step ? startsOfLiteral(step.literal, uri, rest) : startsOfValue(step, uri, rest)
    starts[index] = rest
  }
  const ends: number[] = []
  for (let index = 0, at = 0; index < steps.length; index++) {
    at = starts[index]![at]!
    if (at === NONE) return null
    ends.push(at)
  }
  return steps.length > 0 || uri === '' ? ends : null
}

const MAX_CELLS = 20_000_000
const NONE = -1

function startsOfLiteral(literal: string, uri: string, rest: Int32Array): Int32Array<ArrayBuffer> {
  const starts = new Int32Array(uri.length + 1).fill(NONE)
  for (let at = uri.indexOf(literal); at >= 0; at = uri.indexOf(literal, at + 1)) {
    const end = at + literal.length
    if (rest[end] !== NONE) starts[at] = end
  }
  return starts
}

function startsOfValue({ exploded, excludes }: ValueStep, uri: string, rest: Int32Array): Int32Array<ArrayBuffer> {
  const starts = new Int32Array(uri.length + 1).fill(NONE)
  const isList = exploded && excludes === '/'
  // The last place where a value that contains the current character can end.
  let farthest = NONE
  for (let at = uri.length - 1; at >= 0; at--) {
    const character = uri[at]!
    // Items of a list are not empty: none begins or ends at a comma, and two commas end the list.
    const splits = isList && character === ','
    if (excludes.includes(character) || (splits && (at + 1 === uri.length || uri[at + 1] === ','))) farthest = NONE
    else if (farthest === NONE && !splits && rest[at + 1] !== NONE) farthest = at + 1
    if (!excludes.includes(character) && !splits) starts[at] = farthest
  }
  return starts
}

function readVariables(steps: readonly Step[], ends: readonly number[], uri: string): Variables {
  const variables = steps.flatMap((step, index): [string, string | string[]][] => {
    if ('literal' in step) return []
    const value = uri.slice(ends[index - 1] ?? 0, ends[index])
    return [[step.name, step.exploded && value.includes(',') ? value.split(',') : value]]
  })
  return Object.fromEntries(variables)
}

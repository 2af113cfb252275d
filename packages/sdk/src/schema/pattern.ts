import { type Budget, Matcher, Op, type Part, type PatternPool, Program } from './pattern-matcher.ts'
import { SchemaError } from './schema-error.ts'
import { show } from './values.ts'

/** A compiled `pattern`. */
export interface Pattern {
  /** Whether the text contains a match. Also false if the budget runs out, which the budget records. */
  test(text: string, budget: Budget): boolean
}

/**
 * Compiles a pattern of a schema. It has the meaning of `new RegExp(source, 'u')`, but is matched by a state machine:
 * the work is at most proportional to the length of the text times the size of the pattern, and uses up a budget. A
 * backtracking engine needs exponential time for some patterns, and cannot be interrupted.
 */
export function compilePattern(source: string, maxLength: number, pool: PatternPool, at: string): Pattern {
  if (source.length > maxLength) {
    throw new SchemaError(`A pattern has more than ${maxLength} characters. Raise maxPatternLength.`, at)
  }
  const unicode = isUnicode(source, at)
  try {
    return new Parser(source, unicode, pool).parse()
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw new SchemaError(`The pattern ${show(source)} ${error.message}`, at)
  }
}

/** Old patterns contain escapes that are not needed, such as `\-`, which the u flag forbids. */
function isUnicode(source: string, at: string): boolean {
  for (const flags of ['u', '']) {
    try {
      new RegExp(source, flags)
      return flags === 'u'
    } catch {}
  }
  throw new SchemaError(`The pattern ${show(source)} is not a valid regular expression`, at)
}

const MAX_GROUP_DEPTH = 100

const QUANTIFIER = /(?:([*+?])|\{(\d+)(,?)(\d*)\})\??/y
const GROUP = /\((?:(\?<?[=!])|\?(?:<[^>]*>|:)|(\?))?/y
const BACKREFERENCE = /\\(?:([1-9]\d*)|k<[^>]*>)/y
const CLASS = '\\[(?:\\\\.|[^\\]\\\\])*\\]'
const ESCAPES = '\\\\u[\\da-fA-F]{4}|\\\\x[\\da-fA-F]{2}|\\\\c[a-zA-Z]|\\\\(?!c).|.'
/** Matches one character or set of characters. With the u flag, two escaped surrogates are one character. */
const UNICODE_SET = new RegExp(`${CLASS}|\\\\[pPu]\\{[^}]*\\}|\\\\u[dD][89abAB]..\\\\u[dD][c-fC-F]..|${ESCAPES}`, 'suy')
const PLAIN_SET = new RegExp(`${CLASS}|\\\\[0-3][0-7]{0,2}|\\\\[4-7][0-7]?|${ESCAPES}`, 'sy')

/** Parses a pattern that is known to be valid. */
class Parser {
  readonly #source: string
  readonly #unicode: boolean
  readonly #pool: PatternPool
  readonly #matcher: Matcher
  readonly #groups: number
  readonly #hasNames: boolean
  #index = 0

  constructor(source: string, unicode: boolean, pool: PatternPool) {
    this.#source = source
    this.#unicode = unicode
    this.#pool = pool
    this.#matcher = new Matcher(unicode, pool)
    const outsideSets = source.replace(/\\.|\[(?:\\.|[^\]\\])*\]/gs, '')
    this.#groups = outsideSets.match(/\((?!\?)|\(\?<(?![=!])/g)?.length ?? 0
    this.#hasNames = /\(\?<(?![=!])/.test(outsideSets)
  }

  parse(): Pattern {
    const whole = this.#alternatives(0)
    const program = new Program(false, this.#pool)
    return this.#matcher.search(program, program.close(whole))
  }

  #alternatives(depth: number): Part {
    if (depth > MAX_GROUP_DEPTH) throw new RangeError(`nests groups deeper than ${MAX_GROUP_DEPTH} levels`)
    const parts = [this.#sequence(depth)]
    while (this.#accept(/\|/y)) parts.push(this.#sequence(depth))
    if (parts.length === 1) return parts[0]!
    return (program, next) =>
      parts.map((part) => program.add(part, next)).reduceRight((other, first) => program.state(Op.Split, first, other))
  }

  #sequence(depth: number): Part {
    const parts: Part[] = []
    while (this.#index < this.#source.length && !/[|)]/.test(this.#source[this.#index]!)) parts.push(this.#term(depth))
    if (parts.length === 1) return parts[0]!
    const reversed = [...parts].reverse()
    // States are added from the last one matched to the first.
    return (program, next) =>
      (program.backward ? parts : reversed).reduce((following, part) => program.add(part, following), next)
  }

  #term(depth: number): Part {
    const part = this.#atom(depth)
    const quantifier = this.#accept(QUANTIFIER)
    if (!quantifier) return part
    const [, sign, least, comma, most] = quantifier
    const min = sign ? Number(sign === '+') : Number(least)
    const max = sign ? (sign === '?' ? 1 : Infinity) : Number(most || (comma ? Infinity : least))
    return (program, next) => program.repeat(part, next, min, max)
  }

  #atom(depth: number): Part {
    const anchor = this.#accept(/\^|\$|\\b/iy)
    if (anchor) return (program, next) => program.state(anchorOp(anchor[0], program.backward), next)
    const group = this.#accept(GROUP)
    if (group) return this.#group(group, depth)
    if (this.#isBackreference()) {
      throw new RangeError(
        'has a backreference, which cannot be matched in bounded time. Write out the alternatives instead.',
      )
    }
    const [token] = this.#accept(this.#unicode ? UNICODE_SET : PLAIN_SET)!
    // Without the u flag, `\c` before anything but a letter is a backslash and a c.
    const set = this.#matcher.set(token === '\\' ? '\\\\' : token)
    return (program, next) => program.state(Op.Set, next, set)
  }

  #group([, look, unknown]: RegExpExecArray, depth: number): Part {
    if (unknown)
      throw new RangeError('has a group with flags, which are not supported. Write the pattern without them.')
    const inside = this.#alternatives(depth + 1)
    this.#accept(/\)/y)
    if (!look) return inside
    const program = new Program(look.includes('<'), this.#pool)
    const index = this.#matcher.look(program, program.close(inside), look.endsWith('!'))
    return (program, next) => program.state(Op.Look, next, index)
  }

  #isBackreference(): boolean {
    const [, digits] = this.#peek(BACKREFERENCE) ?? [undefined, '']
    // Without the u flag, the number of a group that does not exist is an octal escape, and `\k` is a k.
    if (digits === '') return false
    if (this.#unicode) return true
    return digits === undefined ? this.#hasNames : Number(digits) <= this.#groups
  }

  #accept(token: RegExp): RegExpExecArray | null {
    const match = this.#peek(token)
    if (match) this.#index += match[0].length
    return match
  }

  #peek(token: RegExp): RegExpExecArray | null {
    token.lastIndex = this.#index
    return token.exec(this.#source)
  }
}

/** A lookbehind is matched from its end to its beginning, so `^` comes last and `$` first. */
function anchorOp(anchor: string, backward: boolean): number {
  if (anchor === '\\b') return Op.Boundary
  if (anchor === '\\B') return Op.NoBoundary
  return (anchor === '^') === backward ? Op.AtEnd : Op.AtStart
}

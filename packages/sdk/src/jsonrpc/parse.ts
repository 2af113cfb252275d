import { isObject } from '../util/objects.ts'
import { Fault, isRequestId, type RequestId } from './message.ts'

/** Deeper than any message needs, and far from where recursive code (stringify, schema libraries) runs out of stack. */
export const maxNesting = 512

/** One JSON.parse, and a bound on nesting. */
export function parseText(text: string): unknown | Fault {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return new Fault(-32700, 'The message is not valid JSON')
  }
  // Each level costs at least two characters, so short messages need no walk.
  if (text.length > 2 * maxNesting && isTooDeep(value)) {
    return new Fault(-32600, `The message is nested deeper than ${maxNesting} levels`, readId(value))
  }
  return value
}

/**
 * The same for where somebody on the way may have read the message too: a text in which a member of the envelope comes
 * twice means one thing to one parser and another to the next, so it means nothing here.
 */
export function parseUnambiguous(text: string): unknown | Fault {
  const value = parseText(text)
  if (value instanceof Fault || !repeatsMember(text)) return value
  return new Fault(-32600, 'A member of the message comes twice', isObject(value) ? readId(value) : undefined)
}

const quote = 34
const comma = 44
const backslash = 92
const openBrace = 123
const closeBrace = 125
const openBracket = 91
const closeBracket = 93

/** Members that decide what a message is, and what it is about; of the others, any number may come any number of times. */
const ofEnvelope: ReadonlySet<string> = new Set(['jsonrpc', 'id', 'method', 'params', 'result', 'error'])
const ofParams: ReadonlySet<string> = new Set(['name', 'uri', 'arguments', 'taskId', '_meta'])

/** Walks valid JSON and looks at the deciding members of its outermost objects: the message, or those of a batch. */
function repeatsMember(text: string): boolean {
  const outermost = text.trimStart().startsWith('[') ? 2 : 1
  let seen: string[] = []
  let depth = 0
  let isName = false
  let isParams = false
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === quote) {
      const end = endOfString(text, at)
      if (isName) {
        const name = unquote(text.slice(at, end + 1))
        if (depth === outermost) isParams = name === 'params'
        const known = depth === outermost ? ofEnvelope : ofParams
        const key = known.has(name) ? `${depth} ${name}` : undefined
        if (key !== undefined && seen.includes(key)) return true
        if (key !== undefined) seen.push(key)
        isName = false
      }
      at = end
    } else if (code === comma) isName = depth === outermost || (isParams && depth === outermost + 1)
    else if (code === openBrace || code === openBracket) {
      depth++
      if (depth === outermost) seen = []
      isName = code === openBrace && (depth === outermost || (isParams && depth === outermost + 1))
    } else if (code === closeBrace || code === closeBracket) depth--
  }
  return false
}

function unquote(quoted: string): string {
  return quoted.includes('\\') ? (JSON.parse(quoted) as string) : quoted.slice(1, -1)
}

/** Short strings are walked; the rest of a long one is searched, which is much faster there. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < start + 64; at++) {
    const code = text.charCodeAt(at)
    if (code === quote) return at
    if (code === backslash) at++
  }
  return searchEnd(text, start)
}

function searchEnd(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); ; at = text.indexOf('"', at + 1)) {
    let backslashes = 0
    while (text.charCodeAt(at - 1 - backslashes) === backslash) backslashes++
    if (backslashes % 2 === 0) return at
  }
}

/** Breadth first and without recursion: the input decides the depth, so the stack must not. */
function isTooDeep(root: unknown): boolean {
  let level = nestedIn([root])
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > maxNesting) return true
    level = level.flatMap((parent) => nestedIn(Array.isArray(parent) ? parent : Object.values(parent)))
  }
  return false
}

function nestedIn(values: unknown[]): object[] {
  return values.filter((value): value is object => typeof value === 'object' && value !== null)
}

function readId(value: unknown): RequestId | undefined {
  const id = (value as { id?: unknown }).id
  return isRequestId(id) ? id : undefined
}

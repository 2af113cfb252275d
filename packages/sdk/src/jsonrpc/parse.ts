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
  if (value instanceof Fault || !mayRepeat(text)) return value
  return repeatsMember(text)
    ? new Fault(-32600, 'A member of the message comes twice', isObject(value) ? readId(value) : undefined)
    : value
}

const envelope = ['"method"', '"id"', '"params"', '"jsonrpc"', '"result"', '"error"']

/** Quick, and wrong only to the safe side: such a name may also be that of an argument, or a key may be escaped. */
function mayRepeat(text: string): boolean {
  if (text.includes('\\u')) return true
  for (const name of envelope) {
    const first = text.indexOf(name)
    if (first !== -1 && text.indexOf(name, first + name.length) !== -1) return true
  }
  return false
}

/** Walks valid JSON and looks at the members of its outermost objects: the message, or those of a batch. */
function repeatsMember(text: string): boolean {
  const outermost = text.trimStart()[0] === '[' ? 2 : 1
  let names = new Set<string>()
  let depth = 0
  let isName = false
  for (let at = 0; at < text.length; at++) {
    const char = text[at]
    if (char === '"') {
      const end = endOfString(text, at)
      if (depth === outermost && isName) {
        const name = JSON.parse(text.slice(at, end + 1)) as string
        if (names.has(name)) return true
        names.add(name)
        isName = false
      }
      at = end
    } else if (char === '{' || char === '[') {
      depth++
      if (depth === outermost) {
        names = new Set()
        isName = char === '{'
      }
    } else if (char === '}' || char === ']') depth--
    else if (char === ',' && depth === outermost) isName = true
  }
  return false
}

function endOfString(text: string, start: number): number {
  for (let at = start + 1; ; at++) {
    at = text.indexOf('"', at)
    let backslashes = 0
    while (text[at - 1 - backslashes] === '\\') backslashes++
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

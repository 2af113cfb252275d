import { isObject } from '../util/objects.ts'
import { Fault, isRequestId, type RequestId } from './message.ts'

/** More than any message needs, and far below the depth at which recursive code (stringify, schema libraries) overflows the stack. */
export const maxNesting = 512

/** Parses JSON and limits its nesting. */
export function parseText(text: string): unknown | Fault {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return new Fault(-32700, 'The message is not valid JSON')
  }
  // Each level takes at least two characters, so short messages need no check.
  if (text.length > 2 * maxNesting && isTooDeep(value)) {
    return tooDeep(value)
  }
  return value
}

function tooDeep(value: unknown): Fault {
  return new Fault(-32600, `The message is nested deeper than ${maxNesting} levels`, readId(value))
}

/**
 * Parses JSON that a proxy may have parsed too. Parsers disagree about a member that occurs twice, so a message that repeats a
 * member of its envelope is invalid.
 */
export function parseUnambiguous(text: string): unknown | Fault {
  const value = parseText(text)
  if (value instanceof Fault || !repeatsMember(text)) return value
  return new Fault(-32600, 'A member of the message occurs twice', isObject(value) ? readId(value) : undefined)
}

/** Applies the limits on nesting and size to a value that another layer has parsed. */
export function boundsProblem(root: unknown, maxCharacters: number): Fault | 'too-large' | undefined {
  let characters = 0
  let level: unknown[] = [root]
  for (let depth = 0; level.length > 0; depth++) {
    const below: unknown[] = []
    for (const value of level) {
      // The least that a value takes as JSON, including its comma or bracket.
      characters += typeof value === 'string' ? value.length + 2 : 2
      if (typeof value !== 'object' || value === null) continue
      if (depth >= maxNesting) return tooDeep(root)
      for (const child of Array.isArray(value) ? value : Object.values(value)) below.push(child)
      if (!Array.isArray(value)) for (const name of Object.keys(value)) characters += name.length + 3
      if (characters > maxCharacters) return 'too-large'
    }
    if (characters > maxCharacters) return 'too-large'
    level = below
  }
  return undefined
}

const quote = 34
const comma = 44
const backslash = 92
const openBrace = 123
const closeBrace = 125
const openBracket = 91
const closeBracket = 93

/** Members that decide what a message is and what it is about. Other members may be repeated. */
const ofEnvelope = ['jsonrpc', 'id', 'method', 'params', 'result', 'error']
const ofParams = ['name', 'uri', 'arguments', 'taskId', '_meta']

/**
 * Scans valid JSON for repeated members of its outermost objects: the message, or the members of a batch. It keeps a bit set and
 * slices no strings, because every HTTP request passes here.
 */
function repeatsMember(text: string): boolean {
  const outermost = firstCode(text) === openBracket ? 2 : 1
  let seen = 0
  let seenInParams = 0
  let depth = 0
  let isName = false
  let isParams = false
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === quote) {
      const end = endOfString(text, at)
      if (isName && depth === outermost) {
        const bit = bitOf(ofEnvelope, text, at + 1, end)
        if ((seen & bit) !== 0) return true
        seen |= bit
        isParams = bit === paramsBit
      } else if (isName) {
        const bit = bitOf(ofParams, text, at + 1, end)
        if ((seenInParams & bit) !== 0) return true
        seenInParams |= bit
      }
      isName = false
      at = end
    } else if (code === comma) isName = depth === outermost || (isParams && depth === outermost + 1)
    else if (code === openBrace || code === openBracket) {
      depth++
      isName = code === openBrace && (depth === outermost || (isParams && depth === outermost + 1))
      if (depth === outermost) {
        seen = 0
        seenInParams = 0
      }
    } else if (code === closeBrace || code === closeBracket) depth--
  }
  return false
}

const paramsBit = 1 << ofEnvelope.indexOf('params')

/** The bit of the member name between `start` and `end`; 0 for other members. */
function bitOf(names: readonly string[], text: string, start: number, end: number): number {
  for (let at = start; at < end; at++) {
    // An escaped name may still be one of ours.
    if (text.charCodeAt(at) === backslash) return bitOfEscaped(names, text.slice(start - 1, end + 1))
  }
  for (let index = 0; index < names.length; index++) {
    if (names[index]!.length === end - start && text.startsWith(names[index]!, start)) return 1 << index
  }
  return 0
}

function bitOfEscaped(names: readonly string[], quoted: string): number {
  const index = names.indexOf(JSON.parse(quoted) as string)
  return index === -1 ? 0 : 1 << index
}

function firstCode(text: string): number {
  let at = 0
  while (text.charCodeAt(at) <= 32) at++
  return text.charCodeAt(at)
}

/** Scans short strings by character, and searches long ones, which is much faster. */
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

/** Breadth first and without recursion, because the input decides the depth. */
function isTooDeep(root: unknown): boolean {
  let level: object[] = []
  addNested(root, level)
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > maxNesting) return true
    const below: object[] = []
    for (const parent of level) {
      if (Array.isArray(parent)) for (const value of parent) addNested(value, below)
      else addMembers(parent as Record<string, unknown>, below)
    }
    level = below
  }
  return false
}

/** Without a list of the members: for a large message, these lists cost more than the rest of the check. */
function addMembers(parent: Record<string, unknown>, list: object[]): void {
  for (const name in parent) if (Object.hasOwn(parent, name)) addNested(parent[name], list)
}

function addNested(value: unknown, list: object[]): void {
  if (typeof value === 'object' && value !== null) list.push(value)
}

function readId(value: unknown): RequestId | undefined {
  const id = (value as { id?: unknown }).id
  return isRequestId(id) ? id : undefined
}

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

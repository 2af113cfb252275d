import { rpcFacts } from './rpc.ts'
import type { EventOf } from './view-model.ts'

/** Two messages that correspond to each other, or one that has no counterpart. */
export interface MessagePair {
  readonly left?: ComparedMessage | undefined
  readonly right?: ComparedMessage | undefined
}

/** A message and what it is: its method, or the method that it answers. */
export interface ComparedMessage {
  readonly event: EventOf<'message'>
  readonly title: string
}

/** A line of two texts side by side. */
export interface LinePair {
  readonly left?: string | undefined
  readonly right?: string | undefined
  readonly isSame: boolean
}

/** Texts with more lines are compared from both ends only. */
const maxLines = 1_500

/** Aligns the messages of two runs: those with the same direction and method go side by side. */
export function alignMessages(
  left: readonly EventOf<'message'>[],
  right: readonly EventOf<'message'>[],
): MessagePair[] {
  const [a, b] = [toCompared(left), toCompared(right)]
  return align(a, b, a.map(keyOf), b.map(keyOf)).map(([one, other]) => ({ left: one, right: other }))
}

/** Compares two values, line by line of their JSON. */
export function compareJson(left: unknown, right: unknown): LinePair[] {
  const [a, b] = [linesOf(left), linesOf(right)]
  return align(a, b, a, b).flatMap(([one, other]): LinePair[] => [
    { left: one, right: other, isSame: one !== undefined && one === other },
  ])
}

/** Brings both sides into one list of pairs, along their longest common subsequence. */
function align<Value>(
  left: readonly Value[],
  right: readonly Value[],
  leftKeys: readonly string[],
  rightKeys: readonly string[],
): [Value | undefined, Value | undefined][] {
  const pairs: [Value | undefined, Value | undefined][] = []
  let [i, j] = [0, 0]
  for (const [a, b] of [...commonPairs(leftKeys, rightKeys), [left.length, right.length] as const]) {
    // What lies between two common items differs; it goes side by side as far as it can.
    while (i < a || j < b) pairs.push([i < a ? left[i++] : undefined, j < b ? right[j++] : undefined])
    if (a < left.length) pairs.push([left[i++], right[j++]])
  }
  return pairs
}

function commonPairs(left: readonly string[], right: readonly string[]): (readonly [number, number])[] {
  if (left.length > maxLines || right.length > maxLines) return commonEnds(left, right)
  const width = right.length + 1
  const lengths = new Uint16Array((left.length + 1) * width)
  for (let i = left.length - 1; i >= 0; i--) {
    for (let j = right.length - 1; j >= 0; j--) {
      const at = i * width + j
      const down = lengths[at + width] ?? 0
      const along = lengths[at + 1] ?? 0
      lengths[at] = left[i] === right[j] ? (lengths[at + width + 1] ?? 0) + 1 : Math.max(down, along)
    }
  }
  const pairs: [number, number][] = []
  let [i, j] = [0, 0]
  while (i < left.length && j < right.length) {
    if (left[i] === right[j]) pairs.push([i++, j++])
    else if ((lengths[(i + 1) * width + j] ?? 0) >= (lengths[i * width + j + 1] ?? 0)) i++
    else j++
  }
  return pairs
}

function commonEnds(left: readonly string[], right: readonly string[]): [number, number][] {
  const shorter = Math.min(left.length, right.length)
  let first = 0
  while (first < shorter && left[first] === right[first]) first++
  let last = 0
  while (last < shorter - first && left[left.length - 1 - last] === right[right.length - 1 - last]) last++
  const head = [...Array(first).keys()].map((at): [number, number] => [at, at])
  const tail = [...Array(last).keys()].map((at): [number, number] => [
    left.length - last + at,
    right.length - last + at,
  ])
  return [...head, ...tail]
}

function toCompared(events: readonly EventOf<'message'>[]): ComparedMessage[] {
  const methods = new Map<string, string>()
  return events.map((event) => {
    const { kind, id, method, subject } = rpcFacts(event.message)
    if (kind === 'request') methods.set(`${event.direction} ${id}`, method ?? '')
    if (method !== undefined) return { event, title: method }
    const other = event.direction === 'sent' ? 'received' : 'sent'
    const outcome = kind === 'error' ? 'error' : subject === 'input_required' ? subject : 'result'
    return { event, title: `${methods.get(`${other} ${id}`) ?? ''} ${outcome}`.trim() }
  })
}

function keyOf({ event, title }: ComparedMessage): string {
  return `${event.direction} ${title}`
}

function linesOf(value: unknown): string[] {
  if (value === undefined) return []
  return (typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? '')).split('\n')
}

import { isObject } from '../../util/objects.ts'
import { excerptAround } from './visible.ts'

/** A list of texts as one, so that a check needs one pass and also finds what is split over several of them. */
export class JoinedTexts {
  readonly #starts: number[] = []
  readonly #places: Place[] = []
  readonly #pieces: string[] = []
  readonly #maxChars: number
  #length = 0
  #joined: string | undefined
  #isPlain: boolean | undefined
  /** True if some text did not fit. */
  isCut = false

  constructor(maxChars: number) {
    this.#maxChars = maxChars
  }

  add(text: string, place: Place): void {
    const room = this.#maxChars - this.#length
    if (text.length > room) this.isCut = true
    if (room <= 0) return
    this.#starts.push(this.#length)
    this.#places.push(place)
    this.#pieces.push(text.length > room ? text.slice(0, room) : text)
    this.#length += this.#pieces.at(-1)!.length + 1
  }

  get text(): string {
    this.#joined ??= this.#pieces.length === 1 ? this.#pieces[0]! : this.#pieces.join('\n')
    return this.#joined
  }

  /** True if all characters are printable ASCII or ordinary white space, so no character can hide anything. */
  get isPlain(): boolean {
    this.#isPlain ??= !/[^\t\n\r -~]/.test(this.text)
    return this.#isPlain
  }

  /** The number of the text at a position. */
  partAt(index: number): number {
    let low = 0
    let high = this.#starts.length - 1
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if (this.#starts[middle]! <= index) low = middle
      else high = middle - 1
    }
    return low
  }

  /** The first position of the text at a position, and the position after its end. */
  boundsAt(index: number): readonly [start: number, end: number] {
    const part = this.partAt(index)
    const start = this.#starts[part] ?? 0
    return [start, start + (this.#pieces[part]?.length ?? 0)]
  }

  /** The same texts, each changed by a function. */
  map(change: (text: string) => string): JoinedTexts {
    const changed = new JoinedTexts(2 * this.#maxChars)
    for (const [part, piece] of this.#pieces.entries()) changed.add(change(piece), this.#places[part]!)
    return changed
  }

  /** The texts with the numbers from `first` to `last`. */
  slice(first: number, last: number): string {
    return this.#pieces.slice(first, last + 1).join('\n')
  }

  /** True if a text begins at this position. */
  isStart(index: number): boolean {
    return this.#starts[this.partAt(index)] === index
  }

  /** Shows the characters from `start` to `end` with some context of the same text. */
  excerpt(start: number, end: number, context?: number): string {
    const [first, last] = this.boundsAt(start)
    return excerptAround(this.text.slice(first, last), start - first, Math.min(end, last) - first, context)
  }

  /** Describes where the characters from `start` to `end` are. */
  whereIs(start: number, end = start + 1): string {
    const first = this.partAt(start)
    const last = this.partAt(Math.max(start, end - 1))
    const from = describePlace(this.#places[first])
    return first === last ? from : `${from} to ${describePlace(this.#places[last])}`
  }
}

/** Where a text is: a list from the inside out. It becomes a string only if something is found there. */
export interface Place {
  readonly parent?: Place | undefined
  /** A member, an index, or the name of the root such as `tool read_file`. */
  readonly key: string | number
}

/** Calls `visit` for every string of a JSON value, and for every key that may be read as text. */
export function forEachText(value: unknown, place: Place, visit: (text: string, place: Place) => void): void {
  walk(value, place, visit, 0)
}

/** The parser accepts no deeper messages. */
const maxDepth = 600

function walk(value: unknown, place: Place, visit: (text: string, place: Place) => void, depth: number): void {
  if (typeof value === 'string') return visit(value, place)
  if (typeof value !== 'object' || value === null || depth > maxDepth) return
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++)
      walk(value[index], { parent: place, key: index }, visit, depth + 1)
    return
  }
  if (!isObject(value)) return
  const binary = binaryMember(value)
  for (const key of Object.keys(value)) {
    if (key === binary || key === 'mimeType') continue
    const inside = { parent: place, key }
    if (readsAsText(key)) visit(key, inside)
    walk(value[key], inside, visit, depth + 1)
  }
  const decoded = binary === undefined ? undefined : decodeTextBlob(value[binary], value.mimeType)
  if (decoded !== undefined && binary !== undefined) visit(decoded, { parent: place, key: binary })
}

/** Images, sound and other bytes are not text. */
function binaryMember(value: Readonly<Record<string, unknown>>): string | undefined {
  if ((value.type === 'image' || value.type === 'audio') && typeof value.data === 'string') return 'data'
  return typeof value.blob === 'string' && typeof value.uri === 'string' ? 'blob' : undefined
}

const maxBlobChars = 65_536

/** Reads the bytes of a text file, which a server may send as a blob. */
function decodeTextBlob(data: unknown, mimeType: unknown): string | undefined {
  if (typeof data !== 'string' || typeof mimeType !== 'string' || !/^text\/|json|xml/i.test(mimeType)) return undefined
  try {
    const binary = atob(data.slice(0, maxBlobChars))
    return new TextDecoder().decode(Uint8Array.from(binary, (character) => character.charCodeAt(0)))
  } catch {
    return undefined
  }
}

/** Ordinary member names say nothing to a model. */
function readsAsText(key: string): boolean {
  return key.length > 40 || /[^!-~]/.test(key)
}

/** Describes a place: `tool read_file, inputSchema.properties.path.description`. */
export function describePlace(place: Place | undefined): string {
  const path: string[] = []
  let current = place
  while (current?.parent) {
    const { key } = current
    path.unshift(typeof key === 'number' ? `[${key}]` : /^[\w$-]{1,80}$/.test(key) ? `.${key}` : '["…"]')
    current = current.parent
  }
  const root = String(current?.key ?? '')
  const inside = path.join('').replace(/^\./, '')
  return root && inside ? `${root}, ${inside}` : root || inside
}

import { isObject } from '../../util/objects.ts'
import { random } from '../../util/random.ts'
import { type DecodedText, decodeTexts } from './encoded-text.ts'
import { excerptAround } from './visible.ts'

/** A list of texts as one, so that a check needs one pass and also finds what is split over several of them. */
export class JoinedTexts {
  readonly #starts: number[] = []
  readonly #places: Place[] = []
  readonly #pieces: string[] = []
  readonly #maxChars: number
  readonly #separator: string
  #length = 0
  #joined: string | undefined
  #isPlain: boolean | undefined
  #decoded: readonly DecodedText[] | undefined
  /** True if some text did not fit. */
  isCut = false
  /** Characters of all texts, also of those that did not fit. */
  total = 0

  /** @param separator What is between two texts. Default: the end of a line. */
  constructor(maxChars: number, separator = '\n') {
    this.#maxChars = maxChars
    this.#separator = separator
  }

  add(text: string, place: Place): void {
    this.total += text.length + 1
    const room = this.#maxChars - this.#length
    if (text.length > room) this.isCut = true
    if (room <= 0) return
    this.#starts.push(this.#length)
    this.#places.push(place)
    this.#pieces.push(text.length > room ? text.slice(0, room) : text)
    this.#length += this.#pieces.at(-1)!.length + this.#separator.length
  }

  get text(): string {
    this.#joined ??= this.#pieces.length === 1 ? this.#pieces[0]! : this.#pieces.join(this.#separator)
    return this.#joined
  }

  /** True if all characters are printable ASCII or ordinary white space, so no character can hide anything. */
  get isPlain(): boolean {
    this.#isPlain ??= !/[^\t\n\r -~]/.test(this.text)
    return this.#isPlain
  }

  /** Texts in base64 and hexadecimal. Without a limit: one could follow as much other encoded text as would be decoded. */
  get decoded(): readonly DecodedText[] {
    this.#decoded ??= decodeTexts(this.text, { minChars: minEncodedChars, maxChars: Number.POSITIVE_INFINITY })
    return this.#decoded
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
    const changed = new JoinedTexts(2 * this.#maxChars, this.#separator)
    for (const [part, piece] of this.#pieces.entries()) changed.add(change(piece), this.#places[part]!)
    return changed
  }

  /** The texts with the numbers from `first` to `last`. */
  slice(first: number, last: number): string {
    return this.#pieces.slice(first, last + 1).join(this.#separator)
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

/** Shorter texts say too little to be an order or a secret. */
export const minEncodedChars = 24

type Visit = (text: string, place: Place) => void

/**
 * Joins texts up to a limit. If there are more, those at the beginning, at the end and at places in between that nobody can
 * predict; then `isCut` is true.
 *
 * @param forEach Calls its argument for every text. It may run twice.
 */
export function joinTexts(forEach: (visit: Visit) => void, maxChars: number): JoinedTexts {
  const texts = new JoinedTexts(maxChars)
  forEach((text, place) => texts.add(text, place))
  return texts.isCut ? sampleTexts(forEach, texts.total, maxChars) : texts
}

const samples = 64

function sampleTexts(forEach: (visit: Visit) => void, total: number, maxChars: number): JoinedTexts {
  const texts = new JoinedTexts(2 * maxChars)
  const windows = windowsOf(total, maxChars)
  let offset = 0
  let next = 0
  forEach((text, place) => {
    const end = offset + text.length
    for (; next < windows.length && windows[next]![0] < end; next++) {
      const [from, to] = windows[next]!
      if (to > offset) texts.add(text.slice(Math.max(0, from - offset), to - offset), place)
      // The next text may have the rest of this window.
      if (to > end) break
    }
    offset = end + 1
  })
  texts.isCut = true
  return texts
}

/** Half of the characters from the beginning, a quarter from the end, and a quarter in pieces from the rest. */
function windowsOf(total: number, maxChars: number): (readonly [start: number, end: number])[] {
  const head = maxChars >> 1
  const tail = total - (maxChars >> 2)
  const length = Math.floor((maxChars >> 2) / samples)
  const step = (tail - head) / samples
  const between = Array.from({ length: samples }, (_, index) => {
    const start = Math.floor(head + index * step + random.fraction() * Math.max(0, step - length))
    return [start, Math.min(start + length, tail)] as const
  })
  return [[0, head], ...between, [tail, total]]
}

/** Where a text is: a list from the inside out. It becomes a string only if something is found there. */
export interface Place {
  readonly parent?: Place | undefined
  /** A member, an index, or the name of the root such as `tool read_file`. */
  readonly key: string | number
}

/**
 * Calls `visit` for every string of a JSON value, and for every key that may be read as text.
 *
 * @param onUnread Called for values that are too deep, and for text files that cannot be decoded.
 * @param onName Called for other keys that are long enough to be a secret.
 */
export function forEachText(
  value: unknown,
  place: Place,
  visit: Visit,
  onUnread: (place: Place) => void = () => {},
  onName: Visit = () => {},
): void {
  walk(value, place, { visit, onUnread, onName }, 0)
}

/** The parser accepts no deeper messages. */
const maxDepth = 600

interface Visitor {
  readonly visit: Visit
  readonly onName: Visit
  onUnread(place: Place): void
}

function walk(value: unknown, place: Place, visitor: Visitor, depth: number): void {
  const { visit } = visitor
  if (typeof value === 'string') return visit(value, place)
  if (typeof value !== 'object' || value === null) return
  if (depth > maxDepth) return visitor.onUnread(place)
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++)
      walk(value[index], { parent: place, key: index }, visitor, depth + 1)
    return
  }
  if (!isObject(value)) return
  const binary = binaryMember(value)
  for (const key of Object.keys(value)) {
    if (key === binary || key === 'mimeType') continue
    const inside = { parent: place, key }
    if (readsAsText(key)) visit(key, inside)
    else if (key.length >= minSecretName) visitor.onName(key, inside)
    walk(value[key], inside, visitor, depth + 1)
  }
  if (binary === undefined) return
  const decoded = readBlob(value[binary] as string, value.mimeType)
  const inside = { parent: place, key: binary }
  if (decoded !== undefined) visit(decoded, inside)
  else if (isTextType(value.mimeType)) visitor.onUnread(inside)
}

/** Passwords of this length are found in texts, too. */
const minSecretName = 8

/** Images, sound and other bytes are not text. */
export function binaryMember(value: Readonly<Record<string, unknown>>): string | undefined {
  if ((value.type === 'image' || value.type === 'audio') && typeof value.data === 'string') return 'data'
  return typeof value.blob === 'string' && typeof value.uri === 'string' ? 'blob' : undefined
}

/**
 * Reads a file that is text: by its type, or, without one that says what it is, by its bytes. Returns undefined if it is not text
 * in its encoding.
 */
export function readBlob(data: string, mimeType: unknown): string | undefined {
  if (isTextType(mimeType)) return decodeTextBlob(data, mimeType)
  if (!isUntyped(mimeType)) return undefined
  const decoded = decodeTextBlob(data, '')
  return decoded?.includes('\0') ? undefined : decoded
}

function isUntyped(mimeType: unknown): boolean {
  return (
    typeof mimeType !== 'string' || /^(?:\s*$|application\/octet-stream\b|application\/x-binary\b|\*\/)/i.test(mimeType)
  )
}

/** Whether a file of this type is text. */
function isTextType(mimeType: unknown): mimeType is string {
  return typeof mimeType === 'string' && /^text\/|json|xml|yaml|javascript|x-sh\b|x-www-form-urlencoded/i.test(mimeType)
}

/** Reads the bytes of a text file, which a server may send as a blob. Undefined: they are not text in their encoding. */
function decodeTextBlob(data: string, mimeType: string): string | undefined {
  try {
    const [, charset = 'utf-8'] = /charset="?([\w-]{1,40})/i.exec(mimeType) ?? []
    return new TextDecoder(charset, { fatal: true }).decode(fromBase64(data))
  } catch {
    return undefined
  }
}

function fromBase64(data: string): Uint8Array {
  const binary = atob(data.replaceAll('-', '+').replaceAll('_', '/'))
  const bytes = new Uint8Array(binary.length)
  for (let index = 0; index < bytes.length; index++) bytes[index] = binary.charCodeAt(index)
  return bytes
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

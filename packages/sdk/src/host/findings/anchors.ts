/** A short text to find, and what it stands for. */
export interface Anchor<T> {
  /** At least four ASCII characters, in lower case. */
  readonly text: string
  /** Only where no letter, digit or underscore precedes or follows. */
  readonly isWord?: boolean | undefined
  readonly value: T
}

/**
 * Finds many short texts in one pass, whatever their case. The time depends on the length of the text, not on the number of
 * anchors: four characters at a time are looked up in a table.
 */
export class Anchors<T> {
  readonly #mayStart = new Uint8Array(1 << tableBits)
  readonly #byKey = new Map<number, Anchor<T>[]>()

  constructor(anchors: readonly Anchor<T>[]) {
    for (const anchor of anchors) {
      const key = keyOf(anchor.text)
      this.#mayStart[slotOf(key)] = 1
      const others = this.#byKey.get(key)
      if (others) others.push(anchor)
      else this.#byKey.set(key, [anchor])
    }
  }

  /** @param visit Called with each anchor found and its position. Return false to stop. Must not scan another text. */
  scan(text: string, visit: Visit<T>): void {
    let key = 0
    for (let start = 0; start < text.length; start += blockChars) {
      const end = Math.min(text.length, start + blockChars)
      const bytes = end - start < minEncodedChars ? undefined : encodeAscii(text.slice(start, end))
      const next = bytes
        ? this.#scanBytes(bytes, { text, start, end, key, visit })
        : this.#scanChars({ text, start, end, key, visit })
      if (next === undefined) return
      key = next
    }
  }

  /** Returns the key of the last characters; undefined if the scan ends. */
  #scanChars({ text, start, end, key: before, visit }: Block<T>): number | undefined {
    const mayStart = this.#mayStart
    let key = before
    for (let index = start; index < end; index++) {
      const code = text.charCodeAt(index)
      key = (key << 8) | (code < 256 ? fold[code]! : 0)
      if (mayStart[slotOf(key)] === 1 && !this.#visit(text, key, index - 3, visit)) return undefined
    }
    return key
  }

  /** The same for bytes, which are faster to read than characters. */
  #scanBytes(bytes: Uint8Array, { text, start, end, key: before, visit }: Block<T>): number | undefined {
    const mayStart = this.#mayStart
    const length = end - start
    let key = before
    for (let offset = 0; offset < length; offset++) {
      key = (key << 8) | fold[bytes[offset]!]!
      if (mayStart[slotOf(key)] === 1 && !this.#visit(text, key, start + offset - 3, visit)) return undefined
    }
    return key
  }

  #visit(text: string, key: number, start: number, visit: Visit<T>): boolean {
    const anchors = this.#byKey.get(key)
    if (!anchors) return true
    for (const anchor of anchors) {
      if (isAt(text, anchor, start) && visit(anchor.value, start) === false) return false
    }
    return true
  }
}

type Visit<T> = (value: T, index: number) => boolean | undefined

/** A part of a text, and the key of the characters before it. */
interface Block<T> {
  readonly text: string
  readonly start: number
  readonly end: number
  readonly key: number
  readonly visit: Visit<T>
}

const blockChars = 16_384
/** Encoding does not pay for shorter texts. */
const minEncodedChars = 256

const encoder = new TextEncoder()
/** Reused, because every result passes here. */
const encoded = new Uint8Array(blockChars)

/** Returns the bytes of a text, one for each character; undefined if it is not ASCII. They are valid until the next call. */
function encodeAscii(text: string): Uint8Array | undefined {
  const { read, written } = encoder.encodeInto(text, encoded)
  return read === text.length && written === read ? encoded : undefined
}

/** Small enough for the fastest cache, and large enough that few other texts share a slot. */
const tableBits = 14

/** Lower case for ASCII letters. */
const fold = Uint8Array.from({ length: 256 }, (_, code) => (code >= 65 && code <= 90 ? code + 32 : code))

function keyOf(text: string): number {
  let key = 0
  for (let index = 0; index < 4; index++) key = (key << 8) | text.charCodeAt(index)
  return key
}

function slotOf(key: number): number {
  return Math.imul(key, 0x9e3779b1) >>> (32 - tableBits)
}

function isAt(text: string, anchor: Anchor<unknown>, start: number): boolean {
  const { length } = anchor.text
  for (let offset = 4; offset < length; offset++) {
    const code = text.charCodeAt(start + offset)
    if (!(code < 256) || fold[code] !== anchor.text.charCodeAt(offset)) return false
  }
  return anchor.isWord !== true || !(isWordChar(text, start - 1) || isWordChar(text, start + length))
}

function isWordChar(text: string, index: number): boolean {
  const code = text.charCodeAt(index)
  return (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || (code >= 48 && code <= 57) || code === 95
}

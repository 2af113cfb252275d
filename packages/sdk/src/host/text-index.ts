/** Characters that a fingerprint covers, and the distance between two of them. Together they decide what is found. */
const fingerprintChars = 12
const stride = 13

/** The shortest text that `TextIndex` is sure to find: it contains one complete fingerprint, wherever it starts. */
export const minSharedChars = fingerprintChars + stride - 1

/** A part of a text that is in the index. */
export interface SharedSpan {
  readonly start: number
  readonly end: number
}

/**
 * Remembers texts and finds parts of them in other texts. Every 13th position is indexed by a hash of the 12 characters there,
 * and a match is confirmed by comparing the texts, so there are no false matches.
 *
 * Memory is bounded: there are two generations, and when the newer one is full, the older one is dropped.
 */
export class TextIndex {
  readonly #maxFingerprints: number
  #current: Generation
  #previous: Generation | undefined

  /** @param maxFingerprints Each stands for 13 characters. At most 65,536. */
  constructor(maxFingerprints: number) {
    this.#maxFingerprints = Math.min(maxFingerprints, largestIndex)
    this.#current = new Generation()
  }

  /** Memory that the index uses. */
  get bytes(): number {
    return this.#current.bytes + (this.#previous?.bytes ?? 0)
  }

  /** Adds the first `length` characters of a normalized text. */
  add(text: Uint16Array, length: number): void {
    const limit = this.#maxFingerprints >> 1
    const fits = Math.min(length, limit * stride)
    if (this.#current.load + fits / stride > limit) {
      const dropped = this.#previous
      this.#previous = this.#current
      this.#current = dropped ?? new Generation()
      this.#current.clear()
    }
    this.#current.add(text, fits)
  }

  /** The longest part around a position of `text` that is in the index. `hash` is the fingerprint at that position. */
  match(text: Uint16Array, length: number, position: number, hash: number): SharedSpan | undefined {
    const current = this.#current.match(text, length, position, hash)
    const previous = this.#previous?.match(text, length, position, hash)
    return current && previous ? longer(current, previous) : (current ?? previous)
  }
}

function longer(a: SharedSpan, b: SharedSpan): SharedSpan {
  return b.end - b.start > a.end - a.start ? b : a
}

/** Calls `visit` with the fingerprint of each position. Return a position to continue there. */
export function forEachFingerprint(
  text: Uint16Array,
  length: number,
  visit: (position: number, hash: number) => number | undefined,
): void {
  let position = 0
  let hash = 0
  let isFresh = true
  while (position + fingerprintChars <= length) {
    hash = isFresh
      ? hashAt(text, position)
      : rollHash(hash, text[position - 1]!, text[position + fingerprintChars - 1]!)
    const next = visit(position, hash)
    isFresh = next !== undefined && next > position + 1
    position = isFresh ? next! : position + 1
  }
}

const base = 0x01000193
/** `base` to the power of `fingerprintChars - 1`. */
const leadingFactor = powerOf(base, fingerprintChars - 1)
const half = fingerprintChars >> 1
const middleFactor = powerOf(base, half)

function powerOf(factor: number, exponent: number): number {
  let result = 1
  for (let count = 0; count < exponent; count++) result = Math.imul(result, factor)
  return result
}

function hashAt(text: Uint16Array, position: number): number {
  // Each step waits for the one before, so two chains are faster than one.
  let first = 0
  let second = 0
  for (let offset = 0; offset < half; offset++) {
    first = (Math.imul(first, base) + text[position + offset]!) | 0
    second = (Math.imul(second, base) + text[position + half + offset]!) | 0
  }
  return (Math.imul(first, middleFactor) + second) | 0
}

function rollHash(hash: number, leaving: number, entering: number): number {
  return (Math.imul(hash - Math.imul(leaving, leadingFactor), base) + entering) | 0
}

/** Bounds the work on texts that were made to collide. */
const maxProbes = 64

/** The texts of one generation, one after the other, and a hash table of positions in them. */
class Generation {
  count = 0
  #chars = new Uint16Array(512)
  /** Starts after some zeros, so that the context of the first position is in the array. */
  #length = stride
  /** Positions and bits of their hashes; 0 is an empty slot. At most half of the slots are used. */
  #slots = new Uint32Array(128)

  get bytes(): number {
    return this.#chars.byteLength + this.#slots.byteLength
  }

  /** Fingerprints, or as many as the characters could have: texts that differ little have few new ones. */
  get load(): number {
    return Math.max(this.count, this.#length / stride)
  }

  add(text: Uint16Array, length: number): void {
    if (length < fingerprintChars) return
    const start = this.#length
    this.#reserve(length + 1)
    this.#chars.set(text.subarray(0, length), start)
    this.#chars[start + length] = 0
    // A zero separates texts, so that no match extends into the next one.
    this.#length = start + length + 1
    const before = this.count
    for (let offset = 0; offset + fingerprintChars <= length; offset += stride) {
      if (this.#insert(start + offset, hashAt(text, offset))) this.count++
    }
    // A text that is known completely, such as the same list again, needs no room.
    if (this.count === before) this.#length = start
  }

  /** Forgets everything, but keeps the arrays. */
  clear(): void {
    this.count = 0
    this.#length = stride
    this.#slots.fill(0)
  }

  match(text: Uint16Array, length: number, position: number, hash: number): SharedSpan | undefined {
    const slots = this.#slots
    const mask = slots.length - 1
    const mixed = mix(hash)
    let slot = mixed & mask
    let best: SharedSpan | undefined
    for (let probes = 0; slots[slot] !== 0 && probes < maxProbes; probes++, slot = (slot + 1) & mask) {
      if (!hasTag(slots[slot]!, mixed)) continue
      const found = slots[slot]! & positionMask
      if (!this.#isAt(found, text, position)) continue
      const span = this.#extend(found, text, length, position)
      best = best ? longer(best, span) : span
    }
    return best
  }

  #insert(position: number, hash: number): boolean {
    if (2 * (this.count + 1) > this.#slots.length) this.#grow()
    const slots = this.#slots
    const mask = slots.length - 1
    const mixed = mix(hash)
    let slot = mixed & mask
    for (let probes = 0; slots[slot] !== 0; probes++, slot = (slot + 1) & mask) {
      if (probes >= maxProbes) return false
      if (hasTag(slots[slot]!, mixed) && this.#hasSameContext(slots[slot]! & positionMask, position)) return false
    }
    slots[slot] = (mixed & tagMask) | position
    return true
  }

  /** Whether every shared text of the shortest length around two positions is the same, so that one of them is enough. */
  #hasSameContext(a: number, b: number): boolean {
    const chars = this.#chars
    // Both texts end at a zero. What follows, or precedes them, belongs to others.
    for (let offset = 0; offset < minSharedChars; offset++) {
      if (chars[a + offset] !== chars[b + offset]) return false
      if (chars[a + offset] === 0) break
    }
    for (let offset = 1; offset < stride; offset++) {
      if (chars[a - offset] !== chars[b - offset]) return false
      if (chars[a - offset] === 0) break
    }
    return true
  }

  #isAt(found: number, text: Uint16Array, position: number): boolean {
    const chars = this.#chars
    for (let offset = 0; offset < fingerprintChars; offset++) {
      if (chars[found + offset] !== text[position + offset]) return false
    }
    return true
  }

  #extend(found: number, text: Uint16Array, length: number, position: number): SharedSpan {
    const chars = this.#chars
    let before = 0
    while (before < position && chars[found - before - 1] === text[position - before - 1]) before++
    let after = fingerprintChars
    while (position + after < length && chars[found + after] === text[position + after]) after++
    return { start: position - before, end: position + after }
  }

  #reserve(length: number): void {
    if (this.#length + length < this.#chars.length) return
    const larger = new Uint16Array(2 * (this.#length + length))
    larger.set(this.#chars.subarray(0, this.#length))
    this.#chars = larger
  }

  #grow(): void {
    const old = this.#slots
    this.#slots = new Uint32Array(2 * old.length)
    const mask = this.#slots.length - 1
    for (const entry of old) {
      if (entry === 0) continue
      let slot = mix(hashAt(this.#chars, entry & positionMask)) & mask
      while (this.#slots[slot] !== 0) slot = (slot + 1) & mask
      this.#slots[slot] = entry
    }
  }
}

/** Bits of an entry that are a position. The others are bits of the hash, so that few texts have to be compared. */
const positionBits = 20
const positionMask = (1 << positionBits) - 1
const tagMask = ~positionMask
/** Positions of a larger index would need more bits. */
const largestIndex = 65_536

function hasTag(entry: number, mixed: number): boolean {
  return ((entry ^ mixed) & tagMask) === 0
}

/** Spreads the hash over all bits. */
function mix(hash: number): number {
  const mixed = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d)
  return mixed ^ (mixed >>> 13)
}

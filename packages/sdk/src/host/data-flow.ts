import type { Tool } from '../protocol/tools.ts'
import type { DataFlow } from './action.ts'
import { decodePercent, decodeTexts } from './findings/encoded-text.ts'
import { toText } from './findings/look-alikes.ts'
import { readSecretName } from './findings/secret-patterns.ts'
import { describePlace, forEachText, type Place } from './findings/texts.ts'
import { toExcerpt } from './findings/visible.ts'
import type { FlowMemory, MemoryUser } from './flow-memory.ts'
import { forEachFingerprint, minSharedChars, type SharedSpan, TextIndex } from './text-index.ts'

export interface DataFlowsOptions {
  /** Fingerprints per server; the oldest are dropped. One stands for 13 characters. Default and maximum: 65,536. */
  readonly maxFingerprints?: number | undefined
  /** A budget that is shared with others. Default: none. */
  readonly memory?: FlowMemory | undefined
}

/**
 * Tracks which text came from which server, and finds it in the arguments for other servers: at least 24 characters, whatever
 * their case and white space, also in base64, hexadecimal or percent-encoding, and shorter words that look like passwords. A
 * hint: text can always be rewritten so that it is not found. `Taint` is what rules rely on.
 *
 * Text is not reported if the destination returned it as well, if it is part of the definition of the tool, or if arguments
 * contained it before a server returned it.
 *
 * @example
 * const flows = new DataFlows()
 * flows.note('mail', result)
 * flows.find({ body: 'as I read in your mail: ...' }, 'web') // [{ from: 'mail', path: 'body', excerpt: '...' }]
 */
export class DataFlows implements MemoryUser {
  readonly #maxFingerprints: number
  readonly #memory: FlowMemory | undefined
  /** The server that returned something last is the last one. */
  readonly #servers = new Map<string, TextIndex>()
  /** Text of arguments that no server had returned. Created when needed, because a gateway has an object per anonymous call. */
  #own: TextIndex | undefined
  /** Passwords, keys and codes by server, which are too short for the index. */
  readonly #tokens = new Map<string, Set<number>>()
  /** Whether the arguments of the last search were too long to compare all of them with text of other servers. */
  isCut = false

  constructor({ maxFingerprints = 65_536, memory }: DataFlowsOptions = {}) {
    this.#maxFingerprints = maxFingerprints
    this.#memory = memory
  }

  get bytes(): number {
    let bytes = this.#own?.bytes ?? 0
    for (const index of this.#servers.values()) bytes += index.bytes
    for (const known of this.#tokens.values()) bytes += tokenBytes * known.size
    return bytes
  }

  /** Forgets the server that returned nothing for longest, then the arguments. */
  dropOldest(): boolean {
    const [oldest] = this.#servers.keys()
    if (oldest !== undefined) {
      this.#tokens.delete(oldest)
      return this.#servers.delete(oldest)
    }
    const hadSome = this.#own !== undefined || this.#tokens.size > 0
    this.#own = undefined
    this.#tokens.clear()
    return hadSome
  }

  /** Gives the memory back. */
  clear(): void {
    this.#servers.clear()
    this.#tokens.clear()
    this.#own = undefined
    this.#memory?.remove(this)
  }

  /** Records the text of a result, a resource or a prompt of a server. */
  note(serverId: string, result: unknown): void {
    forEachText(result, root, (text, { key }) => {
      this.#noteTokens(serverId, text, key)
      if (text.length < minSharedChars) return
      const { chars, length } = normalize(text)
      this.#indexOf(serverId).add(chars, length)
    })
    this.#memory?.update(this)
  }

  #noteTokens(serverId: string, text: string, key: Place['key']): void {
    const tokens = isSecretMember(key, text) ? [text] : tokensOf(text)
    if (tokens.length === 0) return
    const known = this.#tokens.get(serverId) ?? new Set()
    this.#tokens.set(serverId, known)
    for (const token of tokens.map(hashOf)) {
      if (known.size >= maxTokens) known.delete(known.values().next().value!)
      known.add(token)
    }
  }

  #indexOf(serverId: string): TextIndex {
    const index = this.#servers.get(serverId) ?? new TextIndex(this.#maxFingerprints)
    this.#servers.delete(serverId)
    this.#servers.set(serverId, index)
    return index
  }

  #ownIndex(): TextIndex {
    this.#own ??= new TextIndex(this.#maxFingerprints)
    return this.#own
  }

  /**
   * Finds text of other servers in arguments. Call it once for each call, because it also records the arguments.
   *
   * @param tool Its own words, such as the values of an enumeration, are not reported.
   */
  find(args: unknown, toServerId: string, tool?: Tool): DataFlow[] {
    let search: Search | undefined
    const tokenFlows: DataFlow[] = []
    let total = 0
    forEachText(args, root, (text, place) => {
      total += text.length
      if (this.#tokens.size > 0) this.#findTokens(text, place, toServerId, tokenFlows)
      if (text.length < minSharedChars) return
      search ??= new Search(this.#servers, this.#ownIndex(), toServerId, tool)
      search.check(text, place)
    })
    this.isCut = total > maxArgumentChars && [...this.#servers.keys()].some((id) => id !== toServerId)
    if (!search) return tokenFlows
    this.#memory?.update(this)
    const { flows } = search
    const isNew = ({ from, path }: DataFlow) => !flows.some((flow) => flow.from === from && flow.path === path)
    return [...flows, ...tokenFlows.filter(isNew)]
  }

  #findTokens(text: string, place: Place, to: string, flows: DataFlow[]): void {
    for (const token of [...tokensOf(text), ...(text.length <= maxTokenChars ? [text] : [])]) {
      const hash = hashOf(token)
      if (this.#tokens.get(to)?.has(hash)) continue
      for (const [from, known] of this.#tokens) {
        const path = describePlace(place)
        const isKnown = flows.some((flow) => flow.from === from && flow.path === path)
        if (from !== to && !isKnown && flows.length < maxFlows && known.has(hash))
          flows.push({ from, path, excerpt: toExcerpt(token, excerptChars) })
      }
    }
  }

  /** Forgets the text of a server that was removed. */
  forget(serverId: string): void {
    this.#servers.delete(serverId)
    this.#tokens.delete(serverId)
    this.#memory?.update(this)
  }
}

const root: Place = { key: '' }
/** Of one server. The oldest are forgotten. */
const maxTokens = 1_024
/** Of a number in a set, about. */
const tokenBytes = 32
const minTokenChars = 8
const maxTokenChars = 64
/** Text in which tokens are looked for. Results with more have mostly identifiers. */
const maxTokenText = 262_144

/**
 * Words that look like passwords, keys or codes: letters and digits change at least four times. Identifiers in hexadecimal do not
 * count, because they are passed between servers all the time.
 */
function tokensOf(text: string): string[] {
  const words = text.slice(0, maxTokenText).match(/[A-Za-z0-9_+!@#$%^&*~-]{8,64}/g) ?? []
  return words.filter(isToken)
}

/** 53 bits. The words themselves are not kept: they are secrets, and parts of results that would be kept with them. */
function hashOf(word: string): number {
  let high = 0x9e3779b1
  let low = 0x85ebca77
  for (let index = 0; index < word.length; index++) {
    const code = word.charCodeAt(index)
    high = Math.imul(high ^ code, 0x01000193)
    low = Math.imul(low ^ code, 0x5bd1e995)
  }
  return (high & 0x1fffff) * 0x100000000 + (low >>> 0)
}

function isToken(word: string): boolean {
  if (word.length < minTokenChars || /^[0-9a-f-]+$/i.test(word)) return false
  const changes = word.match(/[A-Za-z](?=\d)|\d(?=[A-Za-z])/g)
  return changes !== null && changes.length >= 4
}

function isSecretMember(key: Place['key'], value: string): boolean {
  const isSized = value.length >= 4 && value.length <= maxTokenChars
  return isSized && typeof key === 'string' && readSecretName(key) === 'secret'
}

const maxFlows = 20
/** The rest of larger arguments is not searched. About 50 ms of work. */
const maxArgumentChars = 1_048_576
/** Long arguments are searched in pieces that overlap. */
const pieceChars = 65_536
const overlapChars = 256
const maxToolChars = 262_144
const excerptChars = 80

/** One look at the arguments of a call. */
class Search {
  readonly flows: DataFlow[] = []
  readonly #servers: ReadonlyMap<string, TextIndex>
  readonly #own: TextIndex
  readonly #destination: TextIndex | undefined
  readonly #to: string
  readonly #tool: Tool | undefined
  #charsLeft = maxArgumentChars

  constructor(servers: ReadonlyMap<string, TextIndex>, own: TextIndex, to: string, tool: Tool | undefined) {
    this.#servers = servers
    this.#own = own
    this.#to = to
    this.#destination = servers.get(to)
    this.#tool = tool
  }

  check(text: string, place: Place): void {
    for (let start = 0; text.length - start >= minSharedChars && this.#charsLeft > 0; start += pieceChars) {
      const piece = text.length > pieceChars ? text.slice(start, start + pieceChars + overlapChars) : text
      this.#charsLeft -= piece.length
      this.#checkText(piece, place, true)
      for (const decoded of decodings(piece)) this.#checkText(decoded, place, false)
    }
  }

  #checkText(text: string, place: Place, isLiteral: boolean): void {
    const { chars, length } = normalize(text)
    if (length < minSharedChars) return
    // Also for the destination: what a server returned is not text of the arguments.
    const found = this.#findSpans(chars, length)
    for (const { from, span } of found) {
      if (from !== this.#to && this.#isForeign(chars, wholeWords(chars, length, span)))
        this.#report(from, chars, span, place)
    }
    if (isLiteral) this.#recordRest(chars, length, found)
  }

  #findSpans(chars: Uint16Array, length: number): Found[] {
    const found: Found[] = []
    for (const [from, index] of this.#servers) {
      forEachFingerprint(chars, length, (position, hash) => {
        const span = index.match(chars, length, position, hash)
        if (span === undefined) return undefined
        if (span.end - span.start >= minSharedChars) found.push({ from, span })
        return span.end - span.start >= minSharedChars ? span.end : undefined
      })
    }
    return found
  }

  /** Whether enough of the text is known from this server only, and means something. */
  #isForeign(chars: Uint16Array, { start, end }: SharedSpan): boolean {
    const part = chars.slice(start, end)
    for (const known of [this.#destination, this.#own]) if (known) blankKnown(part, known)
    const text = toText(part)
    const words = this.#tool === undefined ? '' : wordsOf(this.#tool)
    return text.split('\0').some((piece) => isSubstantial(piece) && !words.includes(piece.trim()))
  }

  #report(from: string, chars: Uint16Array, { start, end }: SharedSpan, place: Place): void {
    const path = describePlace(place)
    if (this.flows.length >= maxFlows || this.flows.some((flow) => flow.from === from && flow.path === path)) return
    const text = toText(chars.subarray(start, Math.min(end, start + excerptChars)))
    this.flows.push({ from, path, excerpt: toExcerpt(text, excerptChars) })
  }

  /** Records the parts of an argument that came from no server. */
  #recordRest(chars: Uint16Array, length: number, found: readonly Found[]): void {
    if (found.length === 0) return this.#own.add(chars, length)
    const rest = chars.slice(0, length)
    for (const { span } of found) rest.fill(0, span.start, span.end)
    let start = 0
    while (start < length) {
      const end = rest.indexOf(0, start)
      const stop = end < 0 ? length : end
      if (stop - start >= minSharedChars) this.#own.add(rest.subarray(start, stop), stop - start)
      start = stop + 1
    }
  }
}

interface Found {
  readonly from: string
  readonly span: SharedSpan
}

const maxPartialWord = 12

/** Leaves out the beginning or end of a word that continues differently: it is the same by chance. */
function wholeWords(chars: Uint16Array, length: number, { start, end }: SharedSpan): SharedSpan {
  let first = start
  while (first < end && first > 0 && isWordChar(chars[first - 1]!) && isWordChar(chars[first]!)) first++
  let last = end
  while (last > first && last < length && isWordChar(chars[last]!) && isWordChar(chars[last - 1]!)) last--
  // A long word may be a key to which something was added.
  return { start: first - start < maxPartialWord ? first : start, end: end - last < maxPartialWord ? last : end }
}

function isWordChar(code: number): boolean {
  return (code >= 97 && code <= 122) || (code >= 48 && code <= 57)
}

/** Replaces the parts of a text that an index knows by zeros. */
function blankKnown(part: Uint16Array, known: TextIndex): void {
  const original = part.slice()
  forEachFingerprint(original, original.length, (position, hash) => {
    const span = known.match(original, original.length, position, hash)
    // Shorter parts are the same by chance.
    if (!span || span.end - span.start < minSharedChars) return undefined
    part.fill(0, span.start, span.end)
    return span.end
  })
}

/** Dates, host names, tags and punctuation are shared by texts that have nothing to do with each other. */
function isSubstantial(text: string): boolean {
  const rest = text
    .replace(/https?:\/\/[a-z-]{1,20}(?:\.[a-z-]{1,20}){1,3}(?:[/"' ]|$)/g, '')
    .replace(/<\/?[a-z]{1,12}>/g, '')
    .replace(/\d{4}-\d\d-\d\d[t ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:z|[+-]\d\d:?\d\d)?/g, '')
  if (rest.trim().length < minSharedChars) return false
  const letters = rest.match(/[\p{L}\p{N}]/gu) ?? []
  return letters.length >= minLetters && new Set(letters).size >= 6
}

const minLetters = 16

const words = new WeakMap<Tool, string>()

function wordsOf(tool: Tool): string {
  const known = words.get(tool)
  if (known !== undefined) return known
  const texts: string[] = []
  forEachText(tool, root, (text) => texts.push(text.slice(0, 10_000)))
  // The arguments are in the shared buffer now.
  const { chars, length } = normalize(texts.join('\n').slice(0, maxToolChars), new Uint16Array(maxToolChars))
  const computed = toText(chars.subarray(0, length))
  words.set(tool, computed)
  return computed
}

/** What an argument may stand for, two encodings deep. */
function decodings(text: string): string[] {
  const first = decodeOnce(text)
  return [...first, ...first.flatMap(decodeOnce)]
}

function decodeOnce(text: string): string[] {
  const percent = decodePercent(text)
  const runs = decodeTexts(text, { minChars: 32, maxChars: 65_536 }).map((decoded) => decoded.text)
  // Forms write spaces as plus signs.
  const form = text.includes('+') && !text.includes(' ') ? [(percent ?? text).replaceAll('+', ' ')] : []
  return [...(percent === undefined ? [] : [percent]), ...form, ...runs]
}

interface Normalized {
  readonly chars: Uint16Array
  readonly length: number
}

/** Reused, because every call and every result passes here. Its contents are valid until the next call. */
let shared = new Uint16Array(8_192)

/** Lower case, one space for white space, and the escapes of JSON as the characters that they stand for. */
function normalize(text: string, target = sharedBuffer(text.length)): Normalized {
  const limit = Math.min(text.length, target.length)
  let length = 0
  for (let index = 0; index < limit; index++) {
    let code = text.charCodeAt(index)
    if (code === backslash) code = toUnescaped(text.charCodeAt(++index))
    if (code < 128) code = folded[code]!
    if (code === space && length > 0 && target[length - 1] === space) continue
    target[length++] = code
  }
  return { chars: target, length }
}

function sharedBuffer(length: number): Uint16Array {
  if (length > shared.length) shared = new Uint16Array(Math.min(2 * length, maxNormalizedChars))
  return shared
}

const maxNormalizedChars = 425_984
const backslash = 92
const space = 32

/** Lower case, and white space as a space. NUL separates texts in the index. */
const folded = Uint8Array.from({ length: 128 }, (_, code) =>
  code <= 32 ? space : code >= 65 && code <= 90 ? code + 32 : code,
)

function toUnescaped(code: number): number {
  // n, r and t
  return code === 110 || code === 114 || code === 116 || Number.isNaN(code) ? space : code
}

/** The ways in which characters hide text or change how it looks. */
export type HiddenKind =
  | 'zero-width'
  | 'joiner'
  | 'direction-mark'
  | 'direction'
  | 'override'
  | 'tag'
  | 'variation'
  | 'private-use'
  | 'soft-hyphen'
  | 'control'
  | 'escape'
  | 'conceal'
  | 'color'

/** A run of hidden characters of one kind. */
export interface HiddenRun {
  readonly kind: HiddenKind
  readonly start: number
  readonly end: number
}

/**
 * Finds characters that hide text. Leaves out ordinary uses: joiners in emoji and in the scripts that need them, direction marks
 * in right-to-left text, flags, one variation selector after a symbol, hyphenation.
 *
 * @param isStart Tells whether a text begins at a position, where a byte order mark is ordinary.
 */
export function findHidden(text: string, isStart: (index: number) => boolean): HiddenRun[] {
  const runs: HiddenRun[] = []
  if (!/[^\t\n\r -~]/.test(text)) return runs
  for (let index = 0; index < text.length && runs.length < maxRuns; index++) {
    const code = text.charCodeAt(index)
    const unit = code < 127 && code >= 32 ? 0 : classes[code]!
    if (unit === 0) continue
    const end = runEnd(text, index, unit)
    const kind = kindOfRun(text, index, end, unit, isStart)
    if (kind !== undefined) runs.push({ kind, start: index, end })
    index = end - 1
  }
  return runs
}

/** Decodes the text in a run of tag characters or variation selectors; undefined if it contains none. */
export function decodeHiddenRun(text: string, { kind, start, end }: HiddenRun): string | undefined {
  const codes = Array.from(text.slice(start, Math.min(end, start + 8_192)), (character) => character.codePointAt(0)!)
  if (kind === 'tag') {
    const ascii = codes.filter((code) => code >= 0xe0020 && code < 0xe007f)
    return ascii.length > 0 ? String.fromCharCode(...ascii.map((code) => code - 0xe0000)) : undefined
  }
  if (kind !== 'variation') return undefined
  // Selectors 1 to 16 and 17 to 256 can stand for the 256 values of a byte.
  const bytes = codes.map((code) => (code <= 0xfe0f ? code - 0xfe00 : code - 0xe0100 + 16))
  const decoded = new TextDecoder().decode(Uint8Array.from(bytes))
  return /^[\t\n\r -~\u00a0-\ufffc]{4,}$/.test(decoded) ? decoded : undefined
}

/** More than enough to show; the rest of a text with so many of them is as suspicious. */
const maxRuns = 1_000

// Classes of UTF-16 code units.
const zeroWidth = 1
const joiner = 2
const directionMark = 3
const direction = 4
const override = 5
const variation = 6
const specialPlane = 7
const privateUse = 8
const privatePlane = 9
const softHyphen = 10
const control = 11

const classes = createClasses()

function createClasses(): Uint8Array {
  const created = new Uint8Array(65_536)
  const set = (value: number, ...ranges: readonly (readonly [number, number])[]) => {
    for (const [first, last] of ranges) created.fill(value, first, last + 1)
  }
  set(control, [0, 8], [0xb, 0xc], [0xe, 0x1f], [0x7f, 0x9f])
  // Some of these are fillers that are drawn as nothing.
  set(zeroWidth, [0x115f, 0x1160], [0x17b4, 0x17b5], [0x180e, 0x180e], [0x200b, 0x200b], [0x2060, 0x2064])
  set(zeroWidth, [0x206a, 0x206f], [0x3164, 0x3164], [0xfeff, 0xfeff], [0xffa0, 0xffa0])
  set(joiner, [0x200c, 0x200d])
  set(directionMark, [0x61c, 0x61c], [0x200e, 0x200f])
  set(direction, [0x202a, 0x202c], [0x2066, 0x2069])
  set(override, [0x202d, 0x202e])
  set(variation, [0xfe00, 0xfe0f])
  set(specialPlane, [0xdb40, 0xdb40])
  set(privateUse, [0xe000, 0xf8ff])
  set(privatePlane, [0xdb80, 0xdbff])
  set(softHyphen, [0xad, 0xad])
  return created
}

/** The end of the characters of the same class. Characters beyond U+FFFF have two units. */
function runEnd(text: string, start: number, unit: number): number {
  if (unit === control) return start + 1
  const isSelector = unit === specialPlane && isSupplementarySelector(text, start)
  let end = start + unitsAt(text, start)
  while (end < text.length && isSameClass(text, end, isSelector ? variation : unit)) end += unitsAt(text, end)
  return Math.min(end, text.length)
}

function unitsAt(text: string, index: number): number {
  const unit = classAt(text, index)
  return unit === specialPlane || unit === privatePlane ? 2 : 1
}

function classAt(text: string, index: number): number {
  return classes[text.charCodeAt(index)] ?? 0
}

function isSameClass(text: string, index: number, unit: number): boolean {
  const other = classAt(text, index)
  if (other === unit) return true
  // Selectors of both ranges encode one text together, and so do zero-width characters and joiners.
  if (unit === variation) return other === specialPlane && isSupplementarySelector(text, index)
  if (unit === zeroWidth) return other === joiner || other === directionMark
  return false
}

function isSupplementarySelector(text: string, index: number): boolean {
  return text.charCodeAt(index + 1) >= 0xdd00
}

function kindOfRun(
  text: string,
  start: number,
  end: number,
  unit: number,
  isStart: (index: number) => boolean,
): HiddenKind | undefined {
  switch (unit) {
    case zeroWidth:
      return isOrdinarySpace(text, start, end, isStart) ? undefined : 'zero-width'
    case joiner:
      if (end - start > 2) return 'zero-width'
      return isOrdinaryJoiner(text, start, end) ? undefined : 'joiner'
    case directionMark:
      return hasRightToLeft(text, start) ? undefined : 'direction-mark'
    case direction:
      return hasRightToLeft(text, start) ? undefined : 'direction'
    case override:
      return 'override'
    case variation:
      return end - start === 1 && canVary(text.charCodeAt(start - 1)) ? undefined : 'variation'
    case specialPlane:
      return kindOfSpecialPlane(text, start, end)
    case privateUse:
    case privatePlane:
      return 'private-use'
    case softHyphen:
      return end - start > 1 ? 'soft-hyphen' : undefined
    default:
      return kindOfControl(text, start)
  }
}

/** Symbols, digits, Chinese characters and so on, but neither white space nor Latin letters. */
function canVary(code: number): boolean {
  return code > 0xa0 || (code >= 0x21 && code <= 0x40)
}

/** Line breaks within words of South East Asian scripts, a byte order mark, and fillers in Korean text. */
function isOrdinarySpace(text: string, start: number, end: number, isStart: (index: number) => boolean): boolean {
  if (end - start > 1) return false
  if (text.charCodeAt(start) === 0xfeff) return isStart(start)
  return /[\u0e00-\u0eff\u1000-\u11ff\u1780-\u18af\uac00-\ud7af]/.test(`${text[start - 1] ?? ''}${text[end] ?? ''}`)
}

/** Scripts that join letters, and emoji that consist of several. */
function isOrdinaryJoiner(text: string, start: number, end: number): boolean {
  const before = text.charCodeAt(start - 1)
  if (isEmojiPart(before)) return isEmojiPart(text.charCodeAt(end))
  return /[\u0600-\u08ff\u0900-\u0dff\u0f00-\u109f\u1780-\u18af\ufb50-\ufdff\ufe70-\ufefc]/.test(text[start - 1] ?? '')
}

/** One half of a pair (nearly all of them are emoji), the emoji selector, or a symbol such as a heart. */
function isEmojiPart(code: number): boolean {
  return (
    (code >= 0xd83c && code <= 0xd83e) ||
    (code >= 0xdc00 && code <= 0xdfff) ||
    code === 0xfe0f ||
    (code >= 0x2190 && code <= 0x2bff)
  )
}

const nearby = 200

function hasRightToLeft(text: string, index: number): boolean {
  return /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/.test(text.slice(Math.max(0, index - nearby), index + nearby))
}

function kindOfSpecialPlane(text: string, start: number, end: number): HiddenKind | undefined {
  if (isSupplementarySelector(text, start)) {
    // Variants of Chinese characters.
    const isVariant = end - start === 2 && /\p{Unified_Ideograph}$/u.test(text.slice(Math.max(0, start - 2), start))
    return isVariant ? undefined : 'variation'
  }
  // The flags of England, Scotland and Wales are a black flag, a few tag characters and a cancel tag.
  const isFlag = text.startsWith('\u{1f3f4}', start - 2) && end - start <= 14 && text.startsWith('\u{e007f}', end - 2)
  return isFlag ? undefined : 'tag'
}

function kindOfControl(text: string, index: number): HiddenKind | undefined {
  const code = text.charCodeAt(index)
  if (code !== 0x1b && code !== 0x9b) return 'control'
  const start = code === 0x9b ? index + 1 : text[index + 1] === '[' ? index + 2 : undefined
  const style = start === undefined ? null : /^([\d;:]{0,40})m/.exec(text.slice(start, start + 41))
  if (!style) return 'escape'
  return isInvisibleStyle(style[1]!) ? 'conceal' : 'color'
}

/** Concealed text, and text in the color of its background: `8`, `30;40`, `38;5;231;48;5;231`. */
function isInvisibleStyle(style: string): boolean {
  const colors = /(?:^|;)38[;:]([25][;:][\d;:]+?);48[;:]([25][;:][\d;:]+)$/.exec(style)
  if (colors) return colors[1] === colors[2]
  const codes = style.split(';')
  if (codes.includes('38') || codes.includes('48')) return false
  const color = codes.find((code) => /^(?:3|9)[0-7]$/.test(code))
  const background = color === undefined ? undefined : String(Number(color) + 10)
  return codes.includes('8') || (background !== undefined && codes.includes(background))
}

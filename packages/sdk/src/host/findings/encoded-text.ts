/** A text that was encoded within another text. */
export interface DecodedText {
  readonly text: string
  readonly encoding: 'base64' | 'hex' | 'percent'
  /** Where the encoded characters are. */
  readonly start: number
  readonly end: number
}

/** Limits on the work of `decodeTexts`. */
export interface DecodeLimits {
  /** Shorter runs of characters are ignored. */
  readonly minChars: number
  /** Characters to decode in total. */
  readonly maxChars: number
}

/** Finds base64 and hexadecimal runs in a text and decodes those that contain text. */
export function decodeTexts(text: string, { minChars, maxChars }: DecodeLimits): DecodedText[] {
  const found: DecodedText[] = []
  let left = maxChars
  findRuns(text, isBase64Char, minChars, (start, end) => {
    // The beginning shows whether it is text. Images and other bytes end here.
    const decoded = left > 0 ? decodeRun(text.slice(start, Math.min(end, start + left)), start, end) : undefined
    // Base64 contains slashes, but may also be one segment of a path.
    const all = decoded ? [decoded] : left > 0 ? decodeSegments(text, start, end, minChars) : []
    for (const each of all) left -= each.end - each.start
    found.push(...all)
  })
  return found
}

function decodeSegments(text: string, start: number, end: number, minChars: number): DecodedText[] {
  const found: DecodedText[] = []
  for (let from = start; from < end; ) {
    const slash = text.indexOf('/', from)
    const to = slash < 0 || slash > end ? end : slash
    const isSegment = to - from >= minChars && to - from < end - start
    const decoded = isSegment ? decodeRun(text.slice(from, to), from, to) : undefined
    if (decoded) found.push(decoded)
    from = to + 1
  }
  return found
}

/** Reads percent-encoding, escapes of JSON and JavaScript, and characters between which invisible ones stand. */
export function decodeEscapes(text: string): string {
  const plain = (text.includes('%') && decodePercent(text)) || text
  const unescaped = plain.includes('\\')
    ? plain.replace(/\\(?:u00|x)([2-7][\da-f])/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
    : plain
  return /[^\t\n\r -~]/.test(unescaped) ? unescaped.replace(/\p{Cf}|\u034f|\u115f|\u1160|\u3164/gu, '') : unescaped
}

/** Decodes percent-encoding; undefined if the text has none. Wrong sequences stay as they are. */
export function decodePercent(text: string): string | undefined {
  if (!/%[0-9a-f]{2}/i.test(text)) return undefined
  return text.replace(/(?:%[0-9a-f]{2})+/gi, (run) => {
    const bytes = new Uint8Array(run.length / 3)
    for (let index = 0; index < bytes.length; index++)
      bytes[index] = (digitAt(run, 3 * index + 1) << 4) | digitAt(run, 3 * index + 2)
    return new TextDecoder().decode(bytes)
  })
}

/**
 * Calls `visit` for every run of at least `minChars` characters of a class. Looks at every `minChars`-th character first, because
 * every run contains one of them.
 */
export function findRuns(
  text: string,
  isMember: Uint8Array,
  minChars: number,
  visit: (start: number, end: number) => void,
): void {
  let position = minChars - 1
  let last = 0
  while (position < text.length) {
    if (!isIn(isMember, text, position)) {
      position += minChars
      continue
    }
    let start = position
    while (start > last && isIn(isMember, text, start - 1)) start--
    let end = position + 1
    while (end < text.length && isIn(isMember, text, end)) end++
    if (end - start >= minChars) visit(start, end)
    last = end
    position = end + minChars
  }
}

/** Creates a class of characters for `findRuns`. */
export function charClass(characters: RegExp): Uint8Array {
  return Uint8Array.from({ length: 128 }, (_, code) => (characters.test(String.fromCharCode(code)) ? 1 : 0))
}

function isIn(isMember: Uint8Array, text: string, index: number): boolean {
  return isMember[text.charCodeAt(index)] === 1
}

const isBase64Char = charClass(/[\w+/-]/)

const probeChars = 64

function decodeRun(run: string, start: number, end: number): DecodedText | undefined {
  if (/^[0-9a-f]+$/i.test(run.slice(0, probeChars))) {
    const text = readText(hexToBytes(run))
    return text === undefined ? undefined : { text, encoding: 'hex', start, end }
  }
  if (readText(base64ToBytes(run.slice(0, probeChars))) === undefined) return undefined
  const text = readText(base64ToBytes(run))
  return text === undefined ? undefined : { text, encoding: 'base64', start, end }
}

function hexToBytes(run: string): Uint8Array {
  const bytes = new Uint8Array(run.length >> 1)
  for (let index = 0; index < bytes.length; index++)
    bytes[index] = (digitAt(run, 2 * index) << 4) | digitAt(run, 2 * index + 1)
  return bytes
}

/** The value of a hexadecimal digit: letters have the bit 64. */
function digitAt(run: string, index: number): number {
  const code = run.charCodeAt(index)
  return code & 64 ? (code & 7) + 9 : code & 15
}

function base64ToBytes(run: string): Uint8Array {
  // A cut or unpadded run may have a last character without meaning.
  const even = run.slice(0, run.length - (run.length % 4 === 1 ? 1 : 0))
  try {
    const binary = atob(even.replaceAll('-', '+').replaceAll('_', '/'))
    const bytes = new Uint8Array(binary.length)
    for (let index = 0; index < bytes.length; index++) bytes[index] = binary.charCodeAt(index)
    return bytes
  } catch {
    return new Uint8Array()
  }
}

/** The text of some bytes; undefined if they are not text. Identifiers and paths also decode to bytes, but not to readable ones. */
function readText(bytes: Uint8Array): string | undefined {
  if (bytes.length < 8) return undefined
  let printable = 0
  for (const byte of bytes)
    if ((byte >= 32 && byte < 127) || byte === 10 || byte === 13 || byte === 9 || byte >= 0xc0) printable++
  if (printable < 0.8 * bytes.length) return undefined
  const text = new TextDecoder().decode(bytes)
  return text.includes('\ufffd', 0) && text.indexOf('\ufffd') < text.length - 3 ? undefined : text
}

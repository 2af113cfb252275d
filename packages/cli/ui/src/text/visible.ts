import { safeLine, safeText } from '../../../src/safe-text.ts'

/** A piece of text: what the server wrote, or a character that has to be made visible. */
export type Piece = string | { readonly codePoint: string; readonly name: string }

/** Control, bidi and format characters, lone surrogates, private use and other characters without a shape. */
const invisible = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?<=\p{M}{4})\p{M}+/gu

/** Characters of emoji that are harmless where they belong. */
const emojiParts =
  /(?<=\p{Extended_Pictographic}|\p{Emoji_Modifier})(?:\ufe0f|\u200d(?=\p{Extended_Pictographic}))|(?<=\p{Extended_Pictographic}\ufe0f)\u200d(?=\p{Extended_Pictographic})/gu

/** A text full of control characters becomes plain text after this many, not a million elements. */
const maxPieces = 400

/** Splits text of a server: line breaks, tabs and emoji stay, everything else without a shape becomes visible. */
export function visiblePieces(text: string): Piece[] {
  const clean = text.replaceAll('\r\n', '\n')
  if (clean.search(invisible) === -1) return [clean]
  const harmless = new Set<number>()
  for (const { index } of clean.matchAll(emojiParts)) harmless.add(index)
  const pieces: Piece[] = []
  let start = 0
  for (const { 0: found, index } of clean.matchAll(invisible)) {
    if (pieces.length > maxPieces) break
    if (found === '\n' || found === '\t' || harmless.has(index)) continue
    if (index > start) pieces.push(clean.slice(start, index))
    pieces.push(toPiece(found))
    start = index + found.length
  }
  const rest = clean.slice(start)
  if (rest !== '') pieces.push(pieces.length > maxPieces ? safeText(rest, Number.POSITIVE_INFINITY) : rest)
  return pieces
}

/** The same as plain text on one line, for attributes and options. */
export function visibleLine(text: string, maxChars = 400): string {
  return safeLine(text, maxChars)
}

function toPiece(found: string): Piece {
  if (/^\p{M}/u.test(found)) return { codePoint: '+marks', name: 'more combining marks' }
  const code = found.codePointAt(0) ?? 0
  const codePoint = `U+${code.toString(16).toUpperCase().padStart(4, '0')}`
  return { codePoint, name: names.get(code) ?? 'invisible character' }
}

/** Names of the characters that are used to deceive. */
const names = new Map([
  [0x00, 'null'],
  [0x07, 'bell'],
  [0x08, 'backspace'],
  [0x0d, 'carriage return'],
  [0x1b, 'escape'],
  [0xad, 'soft hyphen'],
  [0x200b, 'zero width space'],
  [0x200c, 'zero width non-joiner'],
  [0x200d, 'zero width joiner'],
  [0x200e, 'left-to-right mark'],
  [0x200f, 'right-to-left mark'],
  [0x202a, 'left-to-right embedding'],
  [0x202b, 'right-to-left embedding'],
  [0x202c, 'pop directional formatting'],
  [0x202d, 'left-to-right override'],
  [0x202e, 'right-to-left override'],
  [0x2066, 'left-to-right isolate'],
  [0x2067, 'right-to-left isolate'],
  [0x2068, 'first strong isolate'],
  [0x2069, 'pop directional isolate'],
  [0xfeff, 'byte order mark'],
])

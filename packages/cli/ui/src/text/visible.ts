import { codePointOf, safeLine, safePieces } from 'tenon/internal'

/** A piece of text: what the server wrote, or a character that has to be made visible. */
export type Piece = string | { readonly codePoint: string; readonly name: string }

/** Splits text of a server: line breaks, tabs and emoji stay, everything else without a shape becomes visible. */
export function visiblePieces(text: string): Piece[] {
  return safePieces(text).map((piece) => (typeof piece === 'string' ? piece : toPiece(piece.hidden)))
}

/** The same as plain text on one line, for attributes and options. */
export function visibleLine(text: string, maxChars = 400): string {
  return safeLine(text, maxChars)
}

function toPiece(found: string): Piece {
  if (/^\p{M}/u.test(found)) return { codePoint: '+marks', name: 'more combining marks' }
  return { codePoint: codePointOf(found), name: names.get(found.codePointAt(0) ?? 0) ?? 'invisible character' }
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

/**
 * Characters that a terminal or a browser does not show, or that change how the text around them is shown: controls, format
 * characters (zero width, direction, tags), separators of lines, and unusual spaces.
 */
const invisible =
  /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cs}\u00A0\u115F\u1160\u2000-\u200A\u202F\u205F\u2800\u3000\u3164\uFFA0]/u

const invisibleAll = new RegExp(invisible.source, 'gu')

/** True if a text has characters that are not shown. */
export function hasInvisible(text: string): boolean {
  return invisible.test(text)
}

/** Replaces characters that are not shown with escapes, as `$'...'` in a shell takes them: `\n`, `\x1b`, `\u202e`. */
export function showInvisible(text: string): string {
  return text.replace(invisibleAll, (char) => escapeOf(char.codePointAt(0) ?? 0))
}

const short = new Map([
  [9, '\\t'],
  [10, '\\n'],
  [13, '\\r'],
])

function escapeOf(code: number): string {
  const known = short.get(code)
  if (known !== undefined) return known
  const hex = code.toString(16)
  // The escapes of the first 128 characters are bytes, which is the same in UTF-8.
  if (code < 0x80) return `\\x${hex.padStart(2, '0')}`
  return code < 0x1_00_00 ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`
}

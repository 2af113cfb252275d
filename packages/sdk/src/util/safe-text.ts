/**
 * Text of a server, a model or another program, as a person may see it. A character without a shape, or one that a terminal or a
 * browser acts on, becomes its code point: `<U+202E>`. Line breaks, emoji, and joiners inside words of scripts that need
 * them stay. What the media do differently:
 *
 * | | `safeText` (terminal) | `safeLine` (names, labels) | `approvalText` | `safePieces` (page) |
 * |---|---|---|---|---|
 * | line break | stays | becomes a space | stays | stays |
 * | tab | four spaces | becomes a space | four spaces | stays |
 * | length | cut, with the number of characters left out | the same | never cut: the user agrees to all of it | never cut |
 *
 * `test/util/safe-text.test.ts` has the cases.
 */

/** For a terminal. Text beyond `maxChars` is cut, and the number of missing characters is added. */
export function safeText(text: string, maxChars = 100_000): string {
  const kept = text.length <= maxChars ? text : text.slice(0, maxChars).replace(/[\ud800-\udbff]$/, '')
  const shown = approvalText(kept)
  // A code point takes more room than the character that it stands for.
  const short = shown.length <= 2 * maxChars ? shown : `${shown.slice(0, 2 * maxChars)}…`
  return kept === text ? short : `${short}… (${text.length - kept.length} more characters)`
}

/** For a name, a label or a short description on one line. */
export function safeLine(text: string, maxChars = 400): string {
  return safeText(text.trim(), maxChars).replace(/\s+/g, ' ')
}

/** For text that a user agrees to. */
export function approvalText(text: string): string {
  // Nearly all text is plain, and testing is much faster than replacing.
  if (!needsCare.test(text)) return text
  return text
    .replaceAll('\r\n', '\n')
    .replaceAll('\t', '    ')
    .replace(unsafe, (found, marks?: string, hidden?: string) => {
      if (marks !== undefined) return '<combining marks>'
      return hidden === undefined || hidden === '\n' ? found : `<${codePointOf(hidden)}>`
    })
}

/** For text that a user agrees to, on one line. Line breaks are visible. */
export function approvalLine(text: string): string {
  return approvalText(text.trim()).replaceAll('\n', '<U+000A>')
}

/** JSON for a terminal: characters that have no shape or that a terminal acts on are escaped. */
export function safeJson(value: unknown): string {
  return (JSON.stringify(value, null, 2) ?? 'null').replace(hidden, (char) => (char === '\n' ? char : toEscape(char)))
}

/** Text as it was, or one or more characters that a page must show by name. */
export type TextPiece = string | { readonly hidden: string }

/** For a page, which shows a hidden character as an element. After `maxPieces` of them, the rest is plain text. */
export function safePieces(text: string, maxPieces = 400): TextPiece[] {
  const clean = text.replaceAll('\r\n', '\n')
  if (!needsCare.test(clean)) return [clean]
  const pieces: TextPiece[] = []
  let start = 0
  for (const { 0: found, 1: marks, 2: char, index } of clean.matchAll(unsafe)) {
    if (pieces.length > maxPieces) return [...pieces, approvalText(clean.slice(start))]
    if (marks === undefined && (char === undefined || char === '\n' || char === '\t')) continue
    if (index > start) pieces.push(clean.slice(start, index))
    pieces.push({ hidden: found })
    start = index + found.length
  }
  if (start < clean.length) pieces.push(clean.slice(start))
  return pieces
}

/** The name of a character: `U+200B`. */
export function codePointOf(char: string): string {
  return `U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`
}

const needsCare = /[^ -~\n]/

/** Control and format characters, lone surrogates, private use, noncharacters and other characters without a visible shape. */
const hiddenClass =
  '[\\p{Cc}\\p{Cf}\\p{Cs}\\p{Co}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}\\p{Noncharacter_Code_Point}\\u2800]'

const hidden = new RegExp(hiddenClass, 'gu')

/** Inside an emoji: the choice between text and picture, the joiner of two pictures, and the selector of a keycap. */
const emojiPart =
  '(?<=\\p{Extended_Pictographic})[\\ufe0e\\ufe0f]|(?<=[0-9#*])\\ufe0f(?=\\u20e3)|(?<=(?:\\p{Extended_Pictographic}|\\p{Emoji_Modifier})\\ufe0f?)\\u200d(?=\\p{Extended_Pictographic})'

const joiningScripts = [
  ...['Arabic', 'Bengali', 'Devanagari', 'Gujarati', 'Gurmukhi', 'Kannada', 'Khmer', 'Malayalam', 'Myanmar', 'Nko'],
  ...['Oriya', 'Sinhala', 'Syriac', 'Tamil', 'Telugu'],
]

/** The spelling of many words needs a joiner, for example the Persian "نمی‌خواهم". */
const joinerInWord = `(?<=[${joiningScripts.map((name) => `\\p{scx=${name}}`).join('')}])[\\u200c\\u200d](?=\\p{L})`

/** Stacked combining marks, which would be drawn over the lines above, or a hidden character. Matches without a group are harmless. */
const unsafe = new RegExp(`(?<=\\p{M}{4})(\\p{M}+)|${emojiPart}|${joinerInWord}|(${hiddenClass})`, 'gu')

function toEscape(char: string): string {
  let escaped = ''
  for (let at = 0; at < char.length; at++) escaped += `\\u${char.charCodeAt(at).toString(16).padStart(4, '0')}`
  return escaped
}

/**
 * Makes a text safe to show on one line: invisible, direction-changing and control characters become `<U+200B>`, white space
 * becomes one space, and the rest stays.
 */
export function toVisible(text: string): string {
  // Nearly all texts are plain, and testing is much faster than replacing.
  if (!needsCare.test(text)) return text
  return text.replace(/[ \t\r\n]+/g, ' ').replace(unsafe, showCodePoint)
}

/** Like `toVisible`, but keeps at most `maxChars` characters: the beginning and the end. */
export function toExcerpt(text: string, maxChars = 160): string {
  return shorten(toVisible(text.length > 4 * maxChars ? shorten(text, 4 * maxChars) : text), maxChars)
}

/** Shows the part of a text from `start` to `end` with some context. */
export function excerptAround(text: string, start: number, end: number, context = 24): string {
  const from = Math.max(0, start - context)
  const to = Math.min(text.length, end + context)
  return toExcerpt(`${from > 0 ? '…' : ''}${text.slice(from, to)}${to < text.length ? '…' : ''}`)
}

/** Cuts a text in the middle if it has more than `maxChars` characters. */
export function shorten(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text
  const head = Math.ceil((maxChars - 1) / 2)
  return `${text.slice(0, head)}…${text.slice(text.length - (maxChars - 1 - head))}`
}

/** Names a character as `<U+200B>`. */
export function showCodePoint(character: string): string {
  return `<U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}>`
}

const needsCare = /[^ -~]| {2}/

/** Control, format, private use and unassigned characters, lone surrogates, separators, variation selectors and fillers. */
const unsafe = /[\p{C}\p{Zl}\p{Zp}\u00a0\u115f\u1160\u2800\u3164\uffa0]|\u034f|\u17b4|\u17b5|\p{Variation_Selector}/gu

import { approvalText } from '../../util/safe-text.ts'

/**
 * Makes a text safe to show on one line: invisible, direction-changing and control characters become `<U+200B>`, white space
 * becomes one space, and the rest stays.
 */
export function toVisible(text: string): string {
  return approvalText(text.replace(/[ \t\r\n]+/g, ' '))
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

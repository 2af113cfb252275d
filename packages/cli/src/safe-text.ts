/** Control and format characters, lone surrogates, private use and other characters without a visible shape. */
const invisible = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/gu

/**
 * Makes text of a server safe to print: every control, bidi and invisible character is shown as its code point,
 * except the selector that makes the character before it an emoji.
 */
export function safeText(text: string, maxChars = 100_000): string {
  return (
    cut(text, maxChars)
      .replaceAll('\r\n', '\n')
      .replaceAll('\t', '    ')
      .replace(invisible, showCodePoint)
      // Stacked combining marks would be drawn over the lines above.
      .replace(/(\p{M}{4})\p{M}+/gu, '$1<combining marks>')
  )
}

/** Does the same for a name or a description, on one line. */
export function safeLine(text: string, maxChars = 400): string {
  return safeText(text.trim(), maxChars).replace(/\s+/g, ' ')
}

/** JSON that is safe to print: characters that a terminal acts on are escaped. */
export function safeJson(value: unknown): string {
  return (JSON.stringify(value, null, 2) ?? 'null').replace(invisible, (char) =>
    char === '\n' ? char : toEscape(char),
  )
}

/** Breaks lines after a space, or anywhere if there is none, so that each fits into `width` columns. */
export function wrap(text: string, width: number): string[] {
  return text.split('\n').flatMap((line) => wrapLine(line, Math.max(width, 10)))
}

/** Shortens a line to `width` columns. */
export function fit(line: string, width: number): string {
  if (columnsOf(line) <= width) return line
  return `${line.slice(0, indexAt(line, width - 1)).trimEnd()}…`
}

/** The number of columns of a text. Terminals disagree about many characters; counting too many is harmless. */
export function columnsOf(text: string): number {
  let columns = 0
  for (const char of text) columns += widthOf(char)
  return columns
}

/** Fills a text with spaces up to `width` columns. */
export function padEnd(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - columnsOf(text)))
}

function cut(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text
  const kept = text.slice(0, maxChars).replace(/[\ud800-\udbff]$/, '')
  return `${kept}… (${text.length - kept.length} more characters)`
}

function showCodePoint(char: string, offset: number, text: string): string {
  if (char === '\ufe0f' && /\p{Extended_Pictographic}$/u.test(text.slice(Math.max(0, offset - 2), offset))) return char
  return char === '\n' ? char : `<U+${hexOf(char).padStart(4, '0')}>`
}

function toEscape(char: string): string {
  let escaped = ''
  for (let at = 0; at < char.length; at++) escaped += `\\u${char.charCodeAt(at).toString(16).padStart(4, '0')}`
  return escaped
}

function hexOf(char: string): string {
  return (char.codePointAt(0) ?? 0).toString(16).toUpperCase()
}

function wrapLine(line: string, width: number): string[] {
  const lines: string[] = []
  let start = 0
  let columns = 0
  let afterSpace = 0
  let index = 0
  for (const char of line) {
    if (columns + widthOf(char) > width) {
      const end = afterSpace > start ? afterSpace : index
      lines.push(line.slice(start, end).trimEnd())
      start = end
      columns = columnsOf(line.slice(start, index))
    }
    columns += widthOf(char)
    index += char.length
    if (char === ' ') afterSpace = index
  }
  return [...lines, line.slice(start)]
}

function indexAt(text: string, width: number): number {
  let columns = 0
  let index = 0
  for (const char of text) {
    columns += widthOf(char)
    if (columns > width) break
    index += char.length
  }
  return index
}

function widthOf(char: string): number {
  return char < '\u0300' || char === '…' ? 1 : 2
}

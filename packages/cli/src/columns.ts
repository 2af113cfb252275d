import { startOf, columnsOf as strictColumnsOf, wrapLine } from 'tenon/internal'

/** Breaks lines after a space, or anywhere if there is none, so that each fits into `width` columns. */
export function wrap(text: string, width: number): string[] {
  return text.split('\n').flatMap((line) => {
    const lines = wrapLine(line, Math.max(width, 10)).map(({ text }) => text)
    return lines.map((text, index) => (index < lines.length - 1 ? text.trimEnd() : text))
  })
}

/** Shortens a line to `width` columns. */
export function fit(line: string, width: number): string {
  return columnsOf(line) <= width ? line : `${startOf(line, width - 1).trimEnd()}…`
}

/** The number of columns of a text. Terminals disagree about many characters; counting too many is harmless. */
export function columnsOf(text: string): number {
  return strictColumnsOf(text.replaceAll('…', '.'))
}

/** Fills a text with spaces up to `width` columns. */
export function padEnd(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - columnsOf(text)))
}

/** A line of a terminal. */
export interface WrappedLine {
  readonly text: string
  /** False for the first line of a longer one. */
  readonly isContinued: boolean
}

/** Breaks a line after a space, or anywhere if there is none. Looks at every character once or twice, however long the line is. */
export function wrapLine(line: string, width: number): WrappedLine[] {
  const lines: WrappedLine[] = []
  let start = 0
  let columns = 0
  let afterSpace = 0
  let index = 0
  for (const char of line) {
    while (columns + widthOf(char) > width) {
      const end = afterSpace > start ? afterSpace : index
      lines.push({ text: line.slice(start, end), isContinued: start > 0 })
      start = end
      columns = columnsOf(line.slice(start, index))
    }
    columns += widthOf(char)
    index += char.length
    if (char === ' ') afterSpace = index
  }
  lines.push({ text: line.slice(start), isContinued: start > 0 })
  return lines
}

/** The number of columns that a text takes at most. */
export function columnsOf(text: string): number {
  let columns = 0
  for (const char of text) columns += widthOf(char)
  return columns
}

/** The longest beginning of a text that fits into `width` columns. */
export function startOf(text: string, width: number): string {
  let columns = 0
  let index = 0
  for (const char of text) {
    columns += widthOf(char)
    if (columns > width) break
    index += char.length
  }
  return text.slice(0, index)
}

/**
 * Terminals disagree about the width of many characters. If one were wider than expected, the terminal would break the line itself
 * and the rest would start without the bar that marks foreign text. So everything beyond the Latin letters counts as wide.
 */
function widthOf(char: string): number {
  return char < '\u0300' ? 1 : 2
}

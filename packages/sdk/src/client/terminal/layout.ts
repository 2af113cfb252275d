/** The width of the terminal and its colors. */
export interface Layout {
  readonly width: number
  readonly paint: Paint
}

export interface Paint {
  strong(text: string): string
  faint(text: string): string
  warning(text: string): string
}

export function createPaint(color: boolean): Paint {
  const style = (code: number) => (text: string) => (color ? `\u001b[${code}m${text}\u001b[0m` : text)
  return { strong: style(1), faint: style(2), warning: style(33) }
}

/** Text of the server. The bar on every line shows that it is not text of this program. */
export function quote(text: string, { width, paint }: Layout): string[] {
  return wrap(text, width - 2).map((line) => `${paint.faint('│')} ${line}`.trimEnd())
}

/** Breaks lines at spaces, or anywhere if there are none. */
export function wrap(text: string, width: number): string[] {
  return text.split('\n').flatMap((line) => wrapLine(line, Math.max(width, 10)))
}

/** The number of columns of a text: East Asian characters and most emoji take two, combining marks none. */
export function columnsOf(text: string): number {
  let columns = 0
  for (const char of text) columns += widthOf(char)
  return columns
}

export function padEnd(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(0, columns - columnsOf(text)))
}

const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u

function widthOf(char: string): number {
  if (char < '\u0300') return 1
  if (/\p{M}/u.test(char)) return 0
  return WIDE.test(char) ? 2 : 1
}

function wrapLine(line: string, width: number): string[] {
  const lines: string[] = []
  let rest = line
  while (columnsOf(rest) > width) {
    const most = fitting(rest, width)
    const blank = rest.lastIndexOf(' ', most)
    const end = blank > 0 ? blank : most
    lines.push(rest.slice(0, end).trimEnd())
    rest = rest.slice(end).trimStart()
  }
  lines.push(rest)
  return lines
}

/** The index up to which a text fits. */
function fitting(text: string, width: number): number {
  let columns = 0
  let index = 0
  for (const char of text) {
    columns += widthOf(char)
    if (columns > width) break
    index += char.length
  }
  return index
}

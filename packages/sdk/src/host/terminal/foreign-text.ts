import type { Layout } from '../../client/terminal/layout.ts'

/**
 * Text of a server or a model. Every line starts with a bar, so that none can pass for text of this program. A dotted bar marks
 * the continuation of a long line. Nothing is cut, because the user agrees to all of it.
 * @param color Colors the text, but not the bar.
 */
export function quoteAll(text: string, { width, paint }: Layout, color = (line: string) => line): string[] {
  return visible(text)
    .split('\n')
    .flatMap((line) => wrapLine(line, width - 2))
    .map(({ text, isContinued }) => `${paint.faint(isContinued ? '┊' : '│')} ${color(text)}`)
}

/** A label of this program with a text on the same line. Further lines are indented, so they cannot pass for labels either. */
export function labeled(label: string, text: string, { width, paint }: Layout): string[] {
  const lines = wrapLine(oneLine(text), width - labelWidth)
  return lines.map((line, index) => `${paint.faint((index === 0 ? label : '').padEnd(labelWidth))}${line.text}`)
}

/** Makes a text visible on one line. */
export function oneLine(text: string): string {
  return visible(text.trim()).replaceAll('\n', lineBreakMark)
}

/** JSON with one member per line. Very deep values are not indented, because their indentation would take most of the screen. */
export function toPrettyJson(value: unknown): string {
  const compact: string | undefined = JSON.stringify(value)
  if (compact === undefined) return 'undefined'
  return depthOf(compact) > maxIndentedDepth ? compact : JSON.stringify(value, null, 2)
}

const labelWidth = 11
const lineBreakMark = '<U+000A>'
const maxIndentedDepth = 20

/** Control and format characters, lone surrogates, private use and other characters without a visible shape. */
const invisible = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/gu

/** Shows the code points of invisible characters. Keeps line breaks. */
function visible(text: string): string {
  return (
    text
      .replaceAll('\r\n', '\n')
      .replaceAll('\t', '    ')
      .replace(invisible, showCodePoint)
      // Stacked combining marks would be drawn over the lines above.
      .replace(/(\p{M}{4})\p{M}+/gu, '$1<combining marks>')
  )
}

function showCodePoint(char: string, offset: number, text: string): string {
  if (char === '\n') return char
  const isEmojiPart = char === '\u200d' || char === '\ufe0f'
  if (isEmojiPart && /\p{Extended_Pictographic}\ufe0f?$/u.test(text.slice(Math.max(0, offset - 3), offset))) return char
  return `<U+${char.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}>`
}

interface WrappedLine {
  readonly text: string
  readonly isContinued: boolean
}

/** Breaks a line after a space, or anywhere if there is none. Looks at every character once or twice, however long the line is. */
function wrapLine(line: string, width: number): WrappedLine[] {
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

function columnsOf(text: string): number {
  let columns = 0
  for (const char of text) columns += widthOf(char)
  return columns
}

/**
 * Terminals disagree about the width of many characters. If one were wider than expected, the terminal would break the line itself
 * and the rest would start without a bar. So everything beyond the Latin letters counts as wide.
 */
function widthOf(char: string): number {
  return char < '\u0300' ? 1 : 2
}

function depthOf(json: string): number {
  let depth = 0
  let deepest = 0
  let isText = false
  for (let index = 0; index < json.length; index++) {
    const char = json[index]
    if (isText && char === '\\') index++
    else if (char === '"') isText = !isText
    else if (!isText && (char === '{' || char === '[')) deepest = Math.max(deepest, ++depth)
    else if (!isText && (char === '}' || char === ']')) depth--
  }
  return deepest
}

import type { Layout } from '../../client/terminal/layout.ts'
import { approvalLine, approvalText } from '../../util/safe-text.ts'
import { wrapLine } from '../../util/text-columns.ts'

/**
 * Text of a server or a model. Every line starts with a bar, so that none can pass for text of this program. A dotted bar marks
 * the continuation of a long line. Nothing is cut, because the user agrees to all of it.
 * @param color Colors the text, but not the bar.
 */
export function quoteAll(text: string, { width, paint }: Layout, color = (line: string) => line): string[] {
  return approvalText(text)
    .split('\n')
    .flatMap((line) => wrapLine(line, width - 2))
    .map(({ text, isContinued }) => `${paint.faint(isContinued ? '┊' : '│')} ${color(text)}`)
}

/** A label of this program with a text on the same line. Further lines are indented, so they cannot pass for labels either. */
export function labeled(label: string, text: string, { width, paint }: Layout): string[] {
  const lines = wrapLine(approvalLine(text), width - labelWidth)
  return lines.map((line, index) => `${paint.faint((index === 0 ? label : '').padEnd(labelWidth))}${line.text}`)
}

/** JSON with one member per line. Very deep values are not indented, because their indentation would take most of the screen. */
export function toPrettyJson(value: unknown): string {
  const compact: string | undefined = JSON.stringify(value)
  if (compact === undefined) return 'undefined'
  return depthOf(compact) > maxIndentedDepth ? compact : JSON.stringify(value, null, 2)
}

const labelWidth = 11
const maxIndentedDepth = 20

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

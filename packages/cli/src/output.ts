import { safeJson, safeText } from 'tenon/internal'
import { columnsOf, fit, padEnd, wrap } from './columns.ts'
import { describeError } from './exit-codes.ts'
import { messageWithoutOutput } from './seen-output.ts'

/** Options of `createOutput`. */
export interface OutputOptions {
  /** Prints exactly one JSON document. */
  readonly json?: boolean | undefined
  /** False without colors, even on a terminal. */
  readonly color?: boolean | undefined
}

/** Where a command writes. Results go to stdout, everything else to stderr. */
export interface Output {
  readonly isJson: boolean
  /** The columns that lines may use. */
  readonly width: number
  /** Styles for stdout. */
  readonly paint: Paint
  /** Styles for stderr. */
  readonly notePaint: Paint
  /** Prints a result. */
  print(...lines: string[]): void
  /** Prints a result as JSON. */
  printJson(value: unknown): void
  /** Prints a message that is not a result. */
  note(...lines: string[]): void
  /** Prints an error: as text, or as the one JSON document. */
  fail(error: unknown): void
}

/** Colors a text. */
export interface Paint {
  strong(text: string): string
  faint(text: string): string
  warning(text: string): string
}

/** Creates the output of a command. Colors are used only on a terminal, and not if `NO_COLOR` is set. */
export function createOutput({ json = false, color = true }: OutputOptions): Output {
  const write = (stream: NodeJS.WriteStream, lines: readonly string[]) => void stream.write(`${lines.join('\n')}\n`)
  const isColored = (stream: NodeJS.WriteStream) => color && stream.isTTY === true && !process.env.NO_COLOR
  const print = (...lines: string[]) => write(process.stdout, lines)
  const note = (...lines: string[]) => write(process.stderr, lines)
  const notePaint = createPaint(isColored(process.stderr))
  return {
    isJson: json,
    width: lineWidth(),
    paint: createPaint(isColored(process.stdout)),
    notePaint,
    print,
    printJson: (value) => print(safeJson(value)),
    note,
    fail: (error) => (json ? print(safeJson({ error: describeError(error) })) : note(...errorLines(error, notePaint))),
  }
}

/** Two columns: names, and texts that are cut at the end of the line. A name that is too long has its text below. */
export function twoColumns(rows: readonly (readonly [string, string])[], { width, paint }: Output): string[] {
  const longest = Math.max(0, ...rows.map(([name]) => columnsOf(name)))
  const left = Math.min(longest, Math.max(30, Math.floor(width * nameShare)))
  return rows.flatMap(([name, text]) => {
    if (columnsOf(name) <= left) return `  ${padEnd(name, left)}  ${paint.faint(fit(text, width - left - 4))}`.trimEnd()
    const below = text === '' ? [] : [`    ${paint.faint(fit(text, width - 4))}`]
    return [...wrap(name, width - 2).map((line) => `  ${line}`), ...below]
  })
}

/** Text of a server. The bar on every line shows that it is not text of this program. */
export function quote(text: string, width: number, paint: Paint, maxChars?: number): string[] {
  return wrap(safeText(text, maxChars), proseWidth(width) - 2).map((line) => `${paint.faint('│')} ${line}`.trimEnd())
}

/** Names get at most this share of a line; on narrow terminals, 30 columns. */
const nameShare = 0.35

/** Tables use the whole width. Sentences do not, because long lines of text are hard to read. */
const maxProseColumns = 120

function lineWidth(): number {
  return Math.max(40, process.stdout.columns || process.stderr.columns || 80)
}

/** The columns of lines of text. */
export function proseWidth(width = lineWidth()): number {
  return Math.min(width, maxProseColumns)
}

function createPaint(isColored: boolean): Paint {
  const style = (code: number) => (text: string) =>
    isColored && text !== '' ? `\u001b[${code}m${text}\u001b[0m` : text
  return { strong: style(1), faint: style(2), warning: style(33) }
}

function errorLines(error: unknown, paint: Paint): string[] {
  const { message, hint } = describeError(error)
  const width = proseWidth()
  const text = safeText(messageWithoutOutput(error, message), maxErrorChars)
  const lines = wrap(`tenon: ${text}`, width).map((line) => paint.warning(line))
  return hint === undefined ? lines : [...lines, ...wrap(safeText(hint), width)]
}

const maxErrorChars = 20_000

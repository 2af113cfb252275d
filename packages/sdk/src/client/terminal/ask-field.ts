import { optionText } from './choice.ts'
import type { Answer, Field, Option } from './field.ts'
import { columnsOf, quote, wrap } from './layout.ts'
import type { Prompt } from './prompt.ts'
import { safeLine } from './safe-text.ts'

/** Asks for one field until the answer is fine. Enter alone gives what is there already; undefined leaves it out. */
export async function askField(prompt: Prompt, field: Field, current: Answer | undefined): Promise<Answer | undefined> {
  showField(prompt, field)
  if (current !== undefined && canLeaveOut(field)) prompt.print(prompt.layout.paint.faint('!skip leaves it out.'))
  for (;;) {
    const line = await prompt.ask(cursor(field, current))
    const outcome =
      line === '' || line === '!skip' ? leave(field, line === '' ? current : undefined) : field.parse(line)
    if (!('problem' in outcome)) return outcome.answer
    prompt.print(prompt.layout.paint.warning(`  ${outcome.problem}`))
  }
}

/** What it means to type nothing. */
function leave(field: Field, current: Answer | undefined): { answer: Answer | undefined } | { problem: string } {
  if (current !== undefined) return { answer: current }
  if (canLeaveOut(field)) return { answer: undefined }
  if (field.kind.blank !== undefined) return { answer: field.kind.blank }
  return { problem: field.isRequired ? 'This field is required.' : 'This field has a default and cannot be left out.' }
}

/** For a field that is left out its default would be sent, and that is not what the person meant. */
function canLeaveOut({ isRequired, fallback }: Field): boolean {
  return !isRequired && fallback === undefined
}

function showField(prompt: Prompt, { label, description, isRequired, looksSecret, kind }: Field): void {
  const { layout } = prompt
  const { paint, width } = layout
  const facts = [isRequired ? 'required' : 'optional', kind.rule].filter(Boolean).join(', ')
  const isLong = columnsOf(label) + columnsOf(facts) + 2 > width
  prompt.print(
    '',
    ...(isLong
      ? [...wrap(label, width).map(paint.strong), ...wrap(facts, width).map(paint.faint)]
      : [`${paint.strong(label)}  ${paint.faint(facts)}`]),
    ...(description ? quote(description, layout) : []),
    ...listed(kind.options ?? [], width),
    ...(looksSecret
      ? [paint.warning('! This looks like a secret, which no form may ask for. In doubt: !decline')]
      : []),
  )
}

/** So many that they fit on a screen; the others can still be typed. */
const MAX_LISTED = 50

function listed(options: readonly Option[], width: number): string[] {
  const places = String(Math.min(options.length, MAX_LISTED)).length
  const lines = options.slice(0, MAX_LISTED).flatMap((option, index) =>
    wrap(optionText(option), width - places - 4).map((line, part) => {
      const place = part === 0 ? `${String(index + 1).padStart(places)})` : ' '.repeat(places + 1)
      return `  ${place} ${line}`
    }),
  )
  return options.length > MAX_LISTED ? [...lines, `  … and ${options.length - MAX_LISTED} more`] : lines
}

function cursor({ kind }: Field, current: Answer | undefined): string {
  const hint = kind.hint?.(current) ?? (current === undefined ? '' : kind.show(current))
  return hint === '' ? '> ' : `[${safeLine(hint, 60)}] > `
}

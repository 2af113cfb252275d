import { safeLine } from '../../util/safe-text.ts'
import { optionText } from './choice.ts'
import type { Answer, Field, Option } from './field.ts'
import { columnsOf, quote, wrap } from './layout.ts'
import type { Prompt } from './prompt.ts'

/** Prompts for one field until the answer is valid. Enter keeps the current answer. Returns undefined if it is left out. */
export async function askField(prompt: Prompt, field: Field, current: Answer | undefined): Promise<Answer | undefined> {
  showField(prompt, field)
  if (current !== undefined && canLeaveOut(field))
    prompt.print(prompt.layout.paint.faint('Type !skip to leave it out.'))
  for (;;) {
    const line = await prompt.ask(cursor(field, current))
    const outcome =
      line === '' || line === '!skip' ? onEmpty(field, line === '' ? current : undefined) : field.parse(line)
    if (!('problem' in outcome)) return outcome.answer
    prompt.print(prompt.layout.paint.warning(`  ${outcome.problem}`))
  }
}

/** The meaning of Enter without text. */
function onEmpty(field: Field, current: Answer | undefined): { answer: Answer | undefined } | { problem: string } {
  if (current !== undefined) return { answer: current }
  if (canLeaveOut(field)) return { answer: undefined }
  if (field.type.blank !== undefined) return { answer: field.type.blank }
  return { problem: field.isRequired ? 'This field is required.' : 'This field has a default and cannot be left out.' }
}

/** Leaving out a field with a default would send the default, which is not what the user means. */
function canLeaveOut({ isRequired, fallback }: Field): boolean {
  return !isRequired && fallback === undefined
}

function showField(prompt: Prompt, { label, description, isRequired, looksSecret, type }: Field): void {
  const { layout } = prompt
  const { paint, width } = layout
  const facts = [isRequired ? 'required' : 'optional', type.rule].filter(Boolean).join(', ')
  const isLong = columnsOf(label) + columnsOf(facts) + 2 > width
  prompt.print(
    '',
    ...(isLong
      ? [...wrap(label, width).map(paint.strong), ...wrap(facts, width).map(paint.faint)]
      : [`${paint.strong(label)}  ${paint.faint(facts)}`]),
    ...(description ? quote(description, layout) : []),
    ...listed(type.options ?? [], width),
    ...(looksSecret
      ? [paint.warning('! This looks like a secret, which forms must not ask for. If in doubt: !decline')]
      : []),
  )
}

/** As many options as fit on a screen. The others can still be typed. */
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

function cursor({ type }: Field, current: Answer | undefined): string {
  const hint = type.hint?.(current) ?? (current === undefined ? '' : type.show(current))
  return hint === '' ? '> ' : `[${safeLine(hint, 60)}] > `
}

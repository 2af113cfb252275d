import { safeLine } from '../../util/safe-text.ts'
import type { ServerIdentity } from '../input/handlers.ts'
import { askField } from './ask-field.ts'
import type { Answer, Field } from './field.ts'
import { serverName } from './heading.ts'
import { columnsOf, padEnd, wrap } from './layout.ts'
import { type Prompt, PromptAborted } from './prompt.ts'

/** The answers so far; undefined for a field that is left out. */
export type Answers = Map<Field, Answer | undefined>

/** Shows all answers and lets the user change them, until the user sends them. */
export async function review(prompt: Prompt, answers: Answers, server: ServerIdentity): Promise<void> {
  const fields = [...answers.keys()]
  showAnswers(prompt, answers, server)
  for (;;) {
    const line = (
      await prompt.ask(`${fields.length > 0 ? 'Send' : 'Agree'}? (yes${changes(fields.length)} / decline / cancel) > `)
    ).toLowerCase()
    if (line === 'y' || line === 'yes' || line === 'send') return
    if (line === 'd' || line === 'decline') throw new PromptAborted('decline')
    if (line === 'c' || line === 'cancel') throw new PromptAborted('cancel')
    const field = /^\d+$/.test(line) ? fields[Number(line) - 1] : undefined
    if (!field) {
      prompt.print(`Please type yes${fields.length > 0 ? ', the number of a field' : ''}, decline or cancel.`)
      continue
    }
    answers.set(field, await askField(prompt, field, answers.get(field)))
    showAnswers(prompt, answers, server)
  }
}

function changes(count: number): string {
  if (count === 0) return ''
  return count === 1 ? ' / 1 to change' : ` / 1-${count} to change`
}

function showAnswers(prompt: Prompt, answers: Answers, server: ServerIdentity): void {
  if (answers.size === 0) return prompt.print('')
  const { paint, width } = prompt.layout
  const labels = [...answers.keys()].map((field, index) => `${index + 1}) ${safeLine(field.label, 26)}`)
  const column = Math.min(
    labels.reduce((most, label) => Math.max(most, columnsOf(label)), 0),
    30,
  )
  const lines = [...answers].flatMap(([{ type }, answer], index) => {
    const parts = answer === undefined ? [paint.faint('left out')] : wrap(type.show(answer), width - column - 4)
    return parts.map((part, at) => `  ${padEnd(at === 0 ? labels[index]! : '', column)}  ${part}`)
  })
  const name = paint.strong(serverName(server))
  prompt.print('', `This will be sent to ${name}:`, ...lines)
}

import type { ElicitContent, ElicitResult } from '../../protocol/elicitation.ts'
import { formProblem } from '../../protocol/form.ts'
import type { AskingServer, FormQuestion } from '../handlers.ts'
import { askField } from './ask-field.ts'
import { toField } from './field.ts'
import { heading } from './heading.ts'
import type { Prompt } from './prompt.ts'
import { type Answers, review } from './review.ts'
import { safeLine } from './safe-text.ts'

/**
 * Goes through a form field by field, then shows all answers, which can be changed until they are sent (2025-11-25
 * client/elicitation: users review and modify what they answer before it goes out).
 */
export async function askForm(prompt: Prompt, form: FormQuestion, server: AskingServer): Promise<ElicitResult> {
  const { properties, required = [] } = form.requestedSchema
  const needed = new Set(required)
  const fields = Object.entries(properties).map(([name, schema]) => toField(name, schema, needed.has(name)))
  const title = fields.length > 0 ? 'A server asks you to fill in a form' : 'A server asks you to agree'
  prompt.print(...heading(title, server, form.message, prompt.layout))
  if (fields.length > 0) {
    prompt.print(prompt.layout.paint.faint('Enter takes the [default] or skips. !decline refuses, !cancel stops.'))
  }
  const answers: Answers = new Map()
  for (const field of fields) answers.set(field, await askField(prompt, field, field.fallback))
  for (;;) {
    await review(prompt, answers, server)
    const content = contentOf(answers)
    const problem = formProblem(form.requestedSchema, content)
    if (problem === undefined) return { action: 'accept', content }
    prompt.print(prompt.layout.paint.warning(`  This cannot be sent: ${safeLine(problem)}.`))
  }
}

function contentOf(answers: Answers): ElicitContent {
  const given = [...answers].flatMap(([{ name }, answer]) => (answer === undefined ? [] : [[name, answer] as const]))
  return Object.fromEntries(given)
}

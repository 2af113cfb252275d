import type { ElicitContent, ElicitResult } from '../../protocol/elicitation.ts'
import { formProblem } from '../../protocol/form.ts'
import { safeLine } from '../../util/safe-text.ts'
import type { ElicitFormRequest, ServerIdentity } from '../input/handlers.ts'
import { askField } from './ask-field.ts'
import { toField } from './field.ts'
import { heading } from './heading.ts'
import type { Prompt } from './prompt.ts'
import { type Answers, review } from './review.ts'

/**
 * Prompts for every field of a form, then shows all answers, which the user can change before they are sent (2025-11-25
 * client/elicitation).
 */
export async function askForm(prompt: Prompt, form: ElicitFormRequest, server: ServerIdentity): Promise<ElicitResult> {
  const { properties, required = [] } = form.requestedSchema
  const needed = new Set(required)
  const fields = Object.entries(properties).map(([name, schema]) => toField(name, schema, needed.has(name)))
  const title = fields.length > 0 ? 'A server asks you to fill in a form' : 'A server asks you to agree'
  prompt.print(...heading(title, server, form.message, prompt.layout))
  if (fields.length > 0) {
    prompt.print(
      prompt.layout.paint.faint('Press Enter to accept the [default] or skip. Type !decline or !cancel to stop.'),
    )
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

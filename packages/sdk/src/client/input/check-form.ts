import type { ElicitContent, ElicitSchema } from '../../protocol/elicitation.ts'
import { fillDefaults, formProblem } from '../../protocol/form.ts'
import { isObject } from '../../util/objects.ts'

/**
 * Describes what is wrong with the content of a form; undefined if nothing is. Fields with a default may be missing. Use it to
 * let the user correct the content, because a handler that returns invalid content fails the request of the server.
 *
 * @example
 * const problem = describeFormProblem(form.requestedSchema, { age: 'many' }) // field "age" must be a number
 */
export function describeFormProblem(
  form: ElicitSchema,
  content: Readonly<Record<string, unknown>>,
): string | undefined {
  if (!isObject(form.properties)) return formProblem(form, content)
  return formProblem(form, fillDefaults(form, content as ElicitContent))
}

import { McpError } from '../errors.ts'
import type { ElicitResult, ElicitSchema } from '../protocol/elicitation.ts'
import { formProblem, secretField } from '../protocol/form.ts'
import { toForm } from '../protocol/to-form.ts'
import type { AskOptions, Conversation } from '../replay/conversation.ts'
import { describeIssues } from '../schema/issues.ts'
import type { InferOutput, SchemaLike, StandardResult } from '../schema/standard.ts'
import { compileSchema, type UserSchema } from '../schema/user-schema.ts'
import { warnOnce } from '../util/warn.ts'

/** What the user made of a form. Only an accepted one has content. */
export type ElicitAnswer<T> =
  | { readonly action: 'accept'; readonly content: T }
  | { readonly action: 'decline' | 'cancel'; readonly content?: undefined }

/** What the user made of a page that they were asked to visit. */
export interface UrlAnswer {
  /** `accept` says that the user agreed to go there, not that they are done. */
  readonly action: 'accept' | 'decline' | 'cancel'
  /** Tells the client that what happens on the page is over. 2025-11-25 only; nothing elsewhere. */
  complete(): void
}

export interface UrlOptions extends AskOptions {
  /** 2025-11-25: the id that completion names, if the page must know it. Made up when absent. */
  elicitationId?: string | undefined
}

interface CompiledForm {
  readonly form: ElicitSchema
  readonly check: UserSchema
}

/** One question asked in many calls is compiled once. */
const forms = new WeakMap<object, CompiledForm>()

const noFields: ElicitSchema = { type: 'object', properties: {} }

export async function elicit<S extends SchemaLike>(
  conversation: Conversation,
  message: string,
  schema: S | undefined,
  options: AskOptions,
): Promise<ElicitAnswer<InferOutput<S>>> {
  checkMessage(message)
  lintUrls(message)
  const compiled = schema && compileForm(schema)
  const params = { mode: 'form' as const, message, requestedSchema: compiled?.form ?? noFields }
  const answer = (await conversation.ask({ method: 'elicitation/create', params }, options)) as unknown as ElicitResult
  if (answer.action !== 'accept') return { action: answer.action }
  const content = answer.content ?? {}
  const checked = compiled ? await compiled.check.validate(content) : { value: {} }
  if (!checked.issues) return { action: 'accept', content: checked.value as InferOutput<S> }
  throw new McpError('invalid-response', `The form was filled in wrongly: ${describeIssues(checked.issues)}`)
}

/** Checks answers that `Conversation.ask` did not see: against the form, then against the schema, which may be stricter. */
export function checkForm(
  { form, check }: CompiledForm,
  content: object,
): StandardResult<unknown> | Promise<StandardResult<unknown>> {
  const problem = formProblem(form, content)
  return problem === undefined ? check.validate(content) : { issues: [{ message: problem }] }
}

/** Every question is put in words (2025-06-18 elicitation). */
export function checkMessage(message: unknown): void {
  if (typeof message !== 'string' || message === '') throw new TypeError('A question needs a message for the user')
}

/** Throws on what the wire cannot express, before anything is sent. */
export function compileForm(schema: SchemaLike): CompiledForm {
  const known = forms.get(schema)
  if (known) return known
  const check = compileSchema(schema, 'input')
  const form = toForm(check.json)
  const secret = secretField(form)
  if (secret !== undefined) {
    // 2025-11-25 elicitation: forms never ask for secrets, which the client and its model would see.
    throw new TypeError(
      `The field ${JSON.stringify(secret)} looks like a secret, which no form may ask for; let the user enter it on a page of yours: ctx.elicitUrl()`,
    )
  }
  lintUrls(form)
  const compiled = { form, check }
  forms.set(schema, compiled)
  return compiled
}

/** 2025-11-25 elicitation, security: a link in a form looks like one that the client vouches for. */
function lintUrls(part: unknown): void {
  const text = typeof part === 'string' ? part : JSON.stringify(part)
  const [url] = /\bhttps?:\/\/[^\s"<>]+/i.exec(text.replaceAll('https://json-schema.org/', '')) ?? []
  if (url === undefined) return
  warnOnce('form-url', `A form contains the URL ${url}. Send users to a URL with ctx.elicitUrl() instead.`)
}

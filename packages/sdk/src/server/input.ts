import { McpError } from '../errors.ts'
import type { ElicitResult, ElicitSchema } from '../protocol/elicitation.ts'
import { formProblem, secretField } from '../protocol/form.ts'
import type { CreateMessageParams, CreateMessageResult } from '../protocol/sampling.ts'
import { samplingProblem } from '../protocol/sampling-check.ts'
import { toForm } from '../protocol/to-form.ts'
import type { AskOptions, Conversation } from '../replay/conversation.ts'
import { describeIssues } from '../schema/issues.ts'
import type { InferOutput, SchemaLike, StandardResult } from '../schema/standard.ts'
import { compileSchema, type UserSchema } from '../schema/user-schema.ts'
import { warnOnce } from '../util/warn.ts'

/** The response of the user to a form. Only an accepted form has content. */
export type ElicitAnswer<T> =
  | { readonly action: 'accept'; readonly content: T }
  | { readonly action: 'decline' | 'cancel'; readonly content?: undefined }

/** The response of the user to a URL elicitation. */
export interface UrlAnswer {
  /** `accept` means that the user agreed to open the URL, not that they are done there. */
  readonly action: 'accept' | 'decline' | 'cancel'
  /** Notifies the client that the elicitation is complete. Does nothing on revisions other than 2025-11-25. */
  complete(): void
}

/** Options of `ctx.elicitUrl()`. */
export interface UrlOptions extends AskOptions {
  /** Identifies the elicitation in the completion notification of 2025-11-25. Default: a random id. */
  elicitationId?: string | undefined
}

interface CompiledForm {
  readonly form: ElicitSchema
  readonly check: UserSchema
}

/** Cached by schema, so that a question is compiled once for all calls. */
const forms = new WeakMap<object, CompiledForm>()

const noFields: ElicitSchema = { type: 'object', properties: {} }

/** Asks the user to fill in a form, and validates the response. */
export async function elicit<S extends SchemaLike>(
  conversation: Conversation,
  message: string,
  schema: S | undefined,
  options: AskOptions,
): Promise<ElicitAnswer<InferOutput<S>>> {
  checkMessage(message)
  warnAboutUrls(message)
  const compiled = schema && compileForm(schema)
  const params = { mode: 'form' as const, message, requestedSchema: compiled?.form ?? noFields }
  const answer = (await conversation.ask({ method: 'elicitation/create', params }, options)) as unknown as ElicitResult
  if (answer.action !== 'accept') return { action: answer.action }
  const content = answer.content ?? {}
  const checked = compiled ? await compiled.check.validate(content) : { value: {} }
  if (!checked.issues) return { action: 'accept', content: checked.value as InferOutput<S> }
  throw new McpError('invalid-response', `Invalid form response: ${describeIssues(checked.issues)}`)
}

/** Checks answers that `Conversation.ask` did not see: against the form, then against the schema, which may be stricter. */
export function checkForm(
  { form, check }: CompiledForm,
  content: object,
): StandardResult<unknown> | Promise<StandardResult<unknown>> {
  const problem = formProblem(form, content)
  return problem === undefined ? check.validate(content) : { issues: [{ message: problem }] }
}

/** 2025-06-18 elicitation: every question has a message. */
export function checkMessage(message: unknown): void {
  if (typeof message !== 'string' || message === '')
    throw new TypeError('An elicitation requires a message for the user')
}

/** Converts a schema to a form. Throws if the protocol cannot express it. */
export function compileForm(schema: SchemaLike): CompiledForm {
  const known = forms.get(schema)
  if (known) return known
  const check = compileSchema(schema, 'input')
  const form = toForm(check.json)
  const secret = secretField(form)
  if (secret !== undefined) {
    // 2025-11-25 elicitation: forms must not request secrets, because the client and its model would see them.
    throw new TypeError(
      `The field ${JSON.stringify(secret)} looks like a secret, which a form must not request. Use ctx.elicitUrl() and request it on your own page.`,
    )
  }
  warnAboutUrls(form)
  const compiled = { form, check }
  forms.set(schema, compiled)
  return compiled
}

/** 2025-11-25 elicitation, security: users may trust a link in a form as if it came from the client. */
function warnAboutUrls(part: unknown): void {
  const text = typeof part === 'string' ? part : JSON.stringify(part)
  const [url] = /\bhttps?:\/\/[^\s"<>]+/i.exec(text.replaceAll('https://json-schema.org/', '')) ?? []
  if (url === undefined) return
  warnOnce('form-url', `A form contains the URL ${url}. Send users to a URL with ctx.elicitUrl() instead.`)
}

/** A message of the client's model. */
export interface SampledMessage extends CreateMessageResult {
  /** The text of all text blocks. */
  readonly text: string
}

/** Requests a completion from the client's model. */
export async function sample(
  conversation: Conversation,
  params: CreateMessageParams,
  options: AskOptions,
): Promise<SampledMessage> {
  checkSampling(params, 'sample()')
  const result = await conversation.ask({ method: 'sampling/createMessage', params }, options)
  const { content } = result as unknown as CreateMessageResult
  const text = [content].flat().flatMap((block) => (block.type === 'text' ? [block.text] : []))
  return { ...(result as unknown as CreateMessageResult), text: text.join('\n') }
}

/** Throws on invalid params, so that the author sees the error instead of the client. */
export function checkSampling(params: CreateMessageParams, where: string): void {
  const problem = samplingProblem(params)
  if (problem !== undefined) throw new TypeError(`${where}: ${problem}`)
}

import type { ElicitContent, ElicitFormParams, ElicitUrlParams } from '../protocol/elicitation.ts'
import type { InputRequest, InputRequests, InputRequiredResult, InputResponse } from '../protocol/input.ts'
import type { CreateMessageParams } from '../protocol/sampling.ts'
import type { AskOptions } from '../replay/conversation.ts'
import type { InferOutput, SchemaLike } from '../schema/standard.ts'
import { isThenable } from '../util/maybe-async.ts'
import { isObject } from '../util/objects.ts'
import { checkSafeUrl } from '../util/safe-url.ts'
import { checkForm, checkMessage, compileForm, type ElicitAnswer } from './elicit.ts'
import { checkSampling } from './sample.ts'

export type { AskOptions }

export interface InputRequiredSpec {
  inputRequests?: InputRequests | undefined
  /** Any JSON value; it is sealed on its way, and is `ctx.requestState` when the client calls again. */
  requestState?: unknown
}

/**
 * For handlers that ask by hand: return it, and run again with the answers in `ctx.inputResponses`. It works on every
 * revision. `ctx.elicit` and its like need none of this.
 */
export function inputRequired({ inputRequests, requestState }: InputRequiredSpec): InputRequiredResult {
  if (!inputRequests && requestState === undefined) {
    throw new TypeError('inputRequired() needs inputRequests, requestState or both')
  }
  return {
    resultType: 'input_required',
    ...(inputRequests && { inputRequests }),
    ...(requestState !== undefined && { requestState: requestState as string }),
  }
}

inputRequired.elicit = (
  params: Omit<ElicitFormParams, 'requestedSchema'> & { requestedSchema: SchemaLike },
): InputRequest => {
  checkMessage(params.message)
  const requestedSchema = compileForm(params.requestedSchema).form
  return { method: 'elicitation/create', params: { mode: 'form', ...params, requestedSchema } }
}

inputRequired.elicitUrl = (params: Omit<ElicitUrlParams, 'mode'>): InputRequest => {
  checkMessage(params.message)
  return { method: 'elicitation/create', params: { ...params, mode: 'url', url: checkSafeUrl(params.url) } }
}

inputRequired.createMessage = (params: CreateMessageParams): InputRequest => {
  checkSampling(params, 'inputRequired.createMessage()')
  return { method: 'sampling/createMessage', params }
}

inputRequired.listRoots = (): InputRequest => ({ method: 'roots/list' })

/** What the user made of a form, like that of `ctx.elicit`; undefined when there is no answer yet, or none that fits. */
export function elicitAnswer<S extends SchemaLike>(
  responses: Responses,
  key: string,
  schema: S,
): ElicitAnswer<InferOutput<S>> | undefined {
  const response: unknown = responses && Object.hasOwn(responses, key) ? responses[key] : undefined
  if (!isObject(response)) return undefined
  const { action } = response
  if (action === 'decline' || action === 'cancel') return { action }
  const content = acceptedContent(responses, key, schema)
  return content === undefined ? undefined : { action: 'accept', content }
}

type Responses = Readonly<Record<string, InputResponse | undefined>> | undefined

/**
 * The content of a form that was accepted; undefined when it was not, when there is no answer, and when the answer does not
 * fit the schema.
 */
export function acceptedContent<S extends SchemaLike>(
  responses: Responses,
  key: string,
  schema: S,
): InferOutput<S> | undefined
export function acceptedContent(responses: Responses, key: string): ElicitContent | undefined
export function acceptedContent(responses: Responses, key: string, schema?: SchemaLike): unknown {
  const response: unknown = responses && Object.hasOwn(responses, key) ? responses[key] : undefined
  if (!isObject(response) || response.action !== 'accept' || !isObject(response.content)) return undefined
  if (!schema) return response.content
  const checked = checkForm(compileForm(schema), response.content)
  if (isThenable(checked)) {
    throw new TypeError('acceptedContent() takes schemas that check at once; await ctx.elicit() for others')
  }
  return checked.issues ? undefined : checked.value
}

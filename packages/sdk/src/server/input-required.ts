import type { ElicitContent, ElicitFormParams, ElicitUrlParams } from '../protocol/elicitation.ts'
import type { InputRequest, InputRequests, InputRequiredResult, InputResponse } from '../protocol/input.ts'
import type { CreateMessageParams } from '../protocol/sampling.ts'
import type { AskOptions } from '../replay/conversation.ts'
import type { InferOutput, SchemaLike } from '../schema/standard.ts'
import { isThenable } from '../util/maybe-async.ts'
import { isObject } from '../util/objects.ts'
import { checkSafeUrl } from '../util/safe-url.ts'
import { checkForm, checkMessage, checkSampling, compileForm, type ElicitAnswer } from './input.ts'

export type { AskOptions }

/** Input of `inputRequired()`. */
export interface InputRequiredSpec {
  inputRequests?: InputRequests | undefined
  /** Any JSON value. It is encrypted, and available as `ctx.requestState` when the client repeats the request. */
  requestState?: unknown
}

/**
 * Creates a result that requests input from the client. Return it from a handler; the handler runs again with the responses in
 * `ctx.inputResponses`. Works on every revision. `ctx.elicit`, `ctx.sample` and `ctx.roots` do this for you.
 */
// Assigned in one pure call, so that bundlers remove it from servers that do not use it.
export const inputRequired = /* @__PURE__ */ Object.assign(createInputRequired, {
  elicit(params: Omit<ElicitFormParams, 'requestedSchema'> & { requestedSchema: SchemaLike }): InputRequest {
    checkMessage(params.message)
    const requestedSchema = compileForm(params.requestedSchema).form
    return { method: 'elicitation/create', params: { mode: 'form', ...params, requestedSchema } }
  },

  elicitUrl(params: Omit<ElicitUrlParams, 'mode'>): InputRequest {
    checkMessage(params.message)
    return { method: 'elicitation/create', params: { ...params, mode: 'url', url: checkSafeUrl(params.url) } }
  },

  createMessage(params: CreateMessageParams): InputRequest {
    checkSampling(params, 'inputRequired.createMessage()')
    return { method: 'sampling/createMessage', params }
  },

  listRoots(): InputRequest {
    return { method: 'roots/list' }
  },
})

function createInputRequired({ inputRequests, requestState }: InputRequiredSpec): InputRequiredResult {
  if (!inputRequests && requestState === undefined) {
    throw new TypeError('inputRequired() requires inputRequests, requestState or both')
  }
  return {
    resultType: 'input_required',
    ...(inputRequests && { inputRequests }),
    ...(requestState !== undefined && { requestState: requestState as string }),
  }
}

/** Returns the response to a form, like `ctx.elicit`. Undefined if there is no response yet, or if it does not match the schema. */
export function inputResponse<S extends SchemaLike>(
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

export type Responses = Readonly<Record<string, InputResponse | undefined>> | undefined

/**
 * Returns the content of an accepted form. Undefined if it was not accepted, if there is no response yet, or if it does not
 * match the schema.
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
    throw new TypeError('acceptedContent() supports synchronous schemas only. Use ctx.elicit() for asynchronous ones.')
  }
  return checked.issues ? undefined : checked.value
}

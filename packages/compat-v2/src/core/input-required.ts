import { isObject } from 'tenon/internal'
import { toJsonSchema, toForm as toRequestedSchema } from 'tenon/server'
import { isStandardSchema, type StandardSchemaV1, type StandardSchemaWithJSON } from './standard-schema.ts'
import type {
  CreateMessageRequestParams,
  CreateMessageResult,
  CreateMessageResultWithTools,
  ElicitRequestFormParams,
  ElicitRequestURLParams,
  InputRequest,
  InputRequests,
  InputRequiredResult,
  InputResponses,
  Root,
} from './types.ts'

/** A form whose schema may come from a schema library. */
export type ElicitInputParams = Omit<ElicitRequestFormParams, 'requestedSchema'> & {
  requestedSchema: ElicitRequestFormParams['requestedSchema'] | StandardSchemaWithJSON
}

/** What a handler asks for: at least one of the two. */
export interface InputRequiredSpec {
  inputRequests?: InputRequests
  /** Comes back with the repeated request. Sign it, because the client can read and change it. */
  requestState?: string
}

interface InputRequiredBuilder {
  (spec: InputRequiredSpec): InputRequiredResult
  /** A question with a form. */
  elicit(params: ElicitInputParams): InputRequest
  /** A question that sends the user to a URL. */
  elicitUrl(params: Omit<ElicitRequestURLParams, 'mode' | 'elicitationId'>): InputRequest
  createMessage(params: CreateMessageRequestParams): InputRequest
  listRoots(): InputRequest
}

/** Builds the result of a handler that needs input first. The client repeats the request with the answers. */
export const inputRequired: InputRequiredBuilder = Object.assign(build, {
  elicit: (params: ElicitInputParams): InputRequest => {
    try {
      return { method: 'elicitation/create', params: toForm(params) }
    } catch (error) {
      throw new TypeError(error instanceof Error ? error.message : String(error), { cause: error })
    }
  },
  elicitUrl: (params: Omit<ElicitRequestURLParams, 'mode' | 'elicitationId'>): InputRequest => ({
    method: 'elicitation/create',
    params: { ...params, mode: 'url' } as ElicitRequestURLParams,
  }),
  createMessage: (params: CreateMessageRequestParams): InputRequest => ({ method: 'sampling/createMessage', params }),
  listRoots: (): InputRequest => ({ method: 'roots/list' }),
})

function build({ inputRequests, requestState }: InputRequiredSpec): InputRequiredResult {
  const hasRequests = inputRequests !== undefined && Object.keys(inputRequests).length > 0
  if (!hasRequests && typeof requestState !== 'string') {
    throw new TypeError('inputRequired() requires at least one of inputRequests (with an entry) and requestState')
  }
  return {
    resultType: 'input_required',
    ...(inputRequests !== undefined && { inputRequests }),
    ...(requestState !== undefined && { requestState }),
  }
}

/** Converts a schema of a library to the flat schema that forms have. */
export function toForm(params: ElicitInputParams): ElicitRequestFormParams {
  const { requestedSchema } = params
  const schema = isStandardSchema(requestedSchema)
    ? toRequestedSchema(toJsonSchema(requestedSchema as never, 'input'))
    : requestedSchema
  return { ...params, mode: 'form', requestedSchema: schema as ElicitRequestFormParams['requestedSchema'] }
}

/** The answer to one question. */
export type InputResponseView =
  | { kind: 'missing' }
  | { kind: 'elicit'; action: 'accept' | 'decline' | 'cancel'; content?: Record<string, unknown> }
  | { kind: 'sampling'; result: CreateMessageResult | CreateMessageResultWithTools }
  | { kind: 'roots'; roots: Root[] }

type Responses = InputResponses | Record<string, unknown> | undefined

/** Returns the answer to one question, whatever its kind. */
export function inputResponse(responses: Responses, key: string): InputResponseView {
  const entry = isObject(responses) ? responses[key] : undefined
  if (!isObject(entry)) return { kind: 'missing' }
  const { action, content, roots, role } = entry
  if (action === 'accept' || action === 'decline' || action === 'cancel') {
    return { kind: 'elicit', action, ...(isObject(content) && { content }) }
  }
  if (Array.isArray(roots)) return { kind: 'roots', roots }
  if (typeof role === 'string' && content !== undefined) {
    return { kind: 'sampling', result: entry as unknown as CreateMessageResult }
  }
  return { kind: 'missing' }
}

/** Returns the content of a form that the user accepted; undefined if there is none, or if it does not match the schema. */
export function acceptedContent<T extends Record<string, unknown> = Record<string, unknown>>(
  responses: Responses,
  key: string,
): T | undefined
export function acceptedContent<S extends StandardSchemaV1>(
  responses: Responses,
  key: string,
  schema: S,
): StandardSchemaV1.InferOutput<S> | undefined
export function acceptedContent(responses: Responses, key: string, schema?: StandardSchemaV1): unknown {
  const view = inputResponse(responses, key)
  if (view.kind !== 'elicit' || view.action !== 'accept' || view.content === undefined) return undefined
  if (!schema) return view.content
  const checked = schema['~standard'].validate(view.content)
  if (checked instanceof Promise) {
    throw new TypeError('acceptedContent(responses, key, schema) requires a schema that validates synchronously')
  }
  return checked.issues === undefined ? checked.value : undefined
}

import { isObject } from 'tenon/internal'
// The messages of the protocol: their schemas and types, and what goes with them. The schemas load zod. A module that
// must load fast imports its types from here and its values from `shared/constants.ts`, `errors.ts` and `guards.ts`.

import * as schemas from './generated/protocol-schemas.ts'
import type {
  CompleteRequest,
  CreateMessageRequestParams,
  InitializedNotification,
  InitializeRequest,
  Prompt,
  PromptReference,
  Resource,
  ResourceTemplateReference,
  Tool,
} from './generated/protocol-types.ts'
import type { AuthInfo } from './server/auth/types.ts'
import { PROTOCOL_VERSION_META_KEY } from './shared/constants.ts'
import { addProtocolSchemas } from './shared/protocol-schemas.ts'
import { admit, answersWithoutInitialize } from './shared/without-initialize.ts'

export * from './generated/protocol-schemas.ts'
export type * from './generated/protocol-types.ts'
export {
  DEFAULT_NEGOTIATED_PROTOCOL_VERSION,
  JSONRPC_VERSION,
  LATEST_PROTOCOL_VERSION,
  RELATED_TASK_META_KEY,
  SUPPORTED_PROTOCOL_VERSIONS,
} from './shared/constants.ts'
export { ErrorCode, McpError, UrlElicitationRequiredError } from './shared/errors.ts'
export {
  isJSONRPCError,
  isJSONRPCErrorResponse,
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResponse,
  isJSONRPCResultResponse,
  isTaskAugmentedRequestParams,
} from './shared/guards.ts'

addProtocolSchemas(Object.values(schemas))

/**
 * Whether a message is `initialize`. Programs let it through where they keep other requests out.
 *
 * If the operator answers without `initialize`, this is true for requests of 2026-07-28 too, so that programs with a map of
 * sessions create a transport for each.
 */
export const isInitializeRequest = (value: unknown): value is InitializeRequest =>
  schemas.InitializeRequestSchema.safeParse(value).success || (answersWithoutInitialize && isAdmitted(value))

/** Whether a message is `notifications/initialized`. */
export const isInitializedNotification = (value: unknown): value is InitializedNotification =>
  schemas.InitializedNotificationSchema.safeParse(value).success

/** A completion request for a prompt. */
export type CompleteRequestPrompt = CompleteRequestFor<PromptReference>

/** A completion request for a resource template. */
export type CompleteRequestResourceTemplate = CompleteRequestFor<ResourceTemplateReference>

/** Throws unless a completion request is for a prompt. */
export function assertCompleteRequestPrompt(request: CompleteRequest): asserts request is CompleteRequestPrompt {
  const { type } = request.params.ref
  if (type !== 'ref/prompt') throw new TypeError(`Expected CompleteRequestPrompt, but got ${type}`)
}

/** Throws unless a completion request is for a resource template. */
export function assertCompleteRequestResourceTemplate(
  request: CompleteRequest,
): asserts request is CompleteRequestResourceTemplate {
  const { type } = request.params.ref
  if (type !== 'ref/resource') throw new TypeError(`Expected CompleteRequestResourceTemplate, but got ${type}`)
}

/** `sampling/createMessage` without tools. */
export type CreateMessageRequestParamsBase = Omit<CreateMessageRequestParams, 'tools' | 'toolChoice'>

/** `sampling/createMessage` with tools. */
export interface CreateMessageRequestParamsWithTools extends CreateMessageRequestParams {
  tools: Tool[]
}

/** Called when a list changed: with its items, or with an error if it could not be fetched. */
export type ListChangedCallback<T> = (error: Error | null, items: T[] | null) => void

/** How a client reacts to a list that changed. */
export type ListChangedOptions<T> = {
  /** Fetches the list before calling back. Default: true. */
  autoRefresh?: boolean | undefined
  /** Changes within this time count as one, in milliseconds. Default: 300. */
  debounceMs?: number | undefined
  onChanged: ListChangedCallback<T>
}

/** How a client reacts to each list that changed. */
export type ListChangedHandlers = {
  tools?: ListChangedOptions<Tool> | undefined
  prompts?: ListChangedOptions<Prompt> | undefined
  resources?: ListChangedOptions<Resource> | undefined
}

/** HTTP headers by lowercase name, as Node.js has them. */
export type IsomorphicHeaders = Record<string, string | string[] | undefined>

/** The HTTP request that carried a message. */
export interface RequestInfo {
  headers: IsomorphicHeaders
  url?: URL | undefined
}

/** What a transport knows about a message besides its text. */
export interface MessageExtraInfo {
  requestInfo?: RequestInfo | undefined
  authInfo?: AuthInfo | undefined
  /** Closes the stream of this request; the client reconnects to it. */
  closeSSEStream?: (() => void) | undefined
  /** Closes the stream that belongs to no request; the client reconnects to it. */
  closeStandaloneSSEStream?: (() => void) | undefined
}

type CompleteRequestFor<Reference> = Omit<CompleteRequest, 'params'> & {
  params: Omit<CompleteRequest['params'], 'ref'> & { ref: Reference }
}

/** Whether a message is a request of a revision without a handshake. */
function isAdmitted(value: unknown): boolean {
  if (!isObject(value) || typeof value.method !== 'string' || value.id === undefined) return false
  const meta = isObject(value.params) ? value.params._meta : undefined
  if (!isObject(meta) || typeof meta[PROTOCOL_VERSION_META_KEY] !== 'string') return false
  admit(value)
  return true
}

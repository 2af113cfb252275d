/**
 * The MCP vocabulary in its newest shape, as a superset of every revision we speak.
 *
 * A member without a note exists in all revisions. `Since`, `until` and `only` name the revisions that have it; the
 * steps in `revisions/` take away what a peer does not know. Objects on the wire are open: unknown members are kept.
 * Only results and `_meta` say so in their type, because an index signature on the rest would hide typing mistakes.
 */

import type { RequestId } from '../jsonrpc/message.ts'
import type { JsonObject } from '../util/objects.ts'

export type { JsonObject, RequestId }

/** The `_meta` keys with a meaning given by the specification. */
export const metaKeys = {
  protocolVersion: 'io.modelcontextprotocol/protocolVersion',
  clientInfo: 'io.modelcontextprotocol/clientInfo',
  clientCapabilities: 'io.modelcontextprotocol/clientCapabilities',
  logLevel: 'io.modelcontextprotocol/logLevel',
  serverInfo: 'io.modelcontextprotocol/serverInfo',
  subscriptionId: 'io.modelcontextprotocol/subscriptionId',
  relatedTask: 'io.modelcontextprotocol/related-task',
  modelImmediateResponse: 'io.modelcontextprotocol/model-immediate-response',
  traceparent: 'traceparent',
  tracestate: 'tracestate',
  baggage: 'baggage',
} as const

/** Log levels in rising severity, as in RFC 5424. */
export const loggingLevels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'] as const

/** How severe a log message is; see {@link loggingLevels} for the order. */
export type LoggingLevel = (typeof loggingLevels)[number]

/** Who speaks in a message, and for whom content is meant. */
export type Role = 'user' | 'assistant'

/** The name a requester gives its request so that progress can refer to it; numbers are integers. */
export type ProgressToken = string | number

/** An opaque position in a listing; the empty string is one too. */
export type Cursor = string

/** A JSON Schema document in object form. */
export interface JsonSchema {
  $schema?: string
  [keyword: string]: unknown
}

/** A JSON Schema whose root describes an object. */
export interface JsonObjectSchema extends JsonSchema {
  type: 'object'
  properties?: { [name: string]: unknown }
  required?: string[]
}

/** Free metadata; key grammar in `meta-key.ts`. */
export interface Meta {
  [key: string]: unknown
}

/** `_meta` of request params. */
export interface RequestMeta extends Meta {
  /** Asks for progress notifications under this token. */
  progressToken?: ProgressToken
  /** Since 2026-07-28, and required there. */
  [metaKeys.protocolVersion]?: string
  /** Since 2026-07-28, and required there. */
  [metaKeys.clientCapabilities]?: ClientCapabilities
  /** Since 2026-07-28. */
  [metaKeys.clientInfo]?: Implementation
  /** Since 2026-07-28, deprecated from the start; absent means no log messages. */
  [metaKeys.logLevel]?: LoggingLevel
  /** 2025-11-25 only. */
  [metaKeys.relatedTask]?: RelatedTask
  /** W3C Trace Context. Since 2026-07-28. */
  [metaKeys.traceparent]?: string
  /** W3C Trace Context. Since 2026-07-28. */
  [metaKeys.tracestate]?: string
  /** W3C Baggage. Since 2026-07-28. */
  [metaKeys.baggage]?: string
}

/** `_meta` of notification params. */
export interface NotificationMeta extends Meta {
  /** The listen request this notification belongs to. Since 2026-07-28. */
  [metaKeys.subscriptionId]?: RequestId
  /** 2025-11-25 only. */
  [metaKeys.relatedTask]?: RelatedTask
}

/** `_meta` of a result. */
export interface ResultMeta extends Meta {
  /** Since 2026-07-28. */
  [metaKeys.serverInfo]?: Implementation
  /** On the result of a listen request. Since 2026-07-28. */
  [metaKeys.subscriptionId]?: RequestId
  /** 2025-11-25 only. */
  [metaKeys.relatedTask]?: RelatedTask
  /** Text for the model while a task runs, on the answer that creates the task. 2025-11-25 only. */
  [metaKeys.modelImmediateResponse]?: string
}

/** The task a message belongs to. 2025-11-25 only. */
export interface RelatedTask {
  taskId: string
}

/** What a result is: the answer itself, or a step on the way to it. Extensions add values. */
export type ResultType = 'complete' | 'input_required' | 'task' | (string & {})

/** What every result has in common. */
export interface Result {
  _meta?: ResultMeta
  /** Since 2026-07-28, and required there; absent reads as `complete`. */
  resultType?: ResultType
  [key: string]: unknown
}

/** A result that says only that the request succeeded. */
export interface EmptyResult extends Result {}

/** What all request params have in common; enough for requests without params of their own. */
export interface RequestParams {
  _meta?: RequestMeta
}

/** What all notification params have in common; enough for notifications without params of their own. */
export interface NotificationParams {
  _meta?: NotificationMeta
}

/** Params of a request for one page of a listing. */
export interface PaginatedParams extends RequestParams {
  cursor?: Cursor
}

/** One page of a listing; without `nextCursor` it is the last. */
export interface PaginatedResult extends Result {
  nextCursor?: Cursor
}

/** How long, and for whom, a result may be kept. Since 2026-07-28, and both required where they apply. */
export interface CacheHints {
  /** Milliseconds, a non-negative integer. */
  ttlMs?: number | undefined
  cacheScope?: 'public' | 'private' | undefined
}

/** What may be added to the params of tools/call, prompts/get and resources/read when they are retried with answers. */
export interface InputResponseParams {
  /** Answers under the keys of the questions. Since 2026-07-28. */
  inputResponses?: InputResponses
  /** Exactly what the server sent with its questions. Since 2026-07-28. */
  requestState?: string
}

/** What may be added to params to run the request as a task. */
export interface TaskAugmentation {
  /** 2025-11-25 only. */
  task?: TaskRequest
}

/** The wish to run a request as a task. 2025-11-25 only. */
export interface TaskRequest {
  /** How long the task should be kept, in milliseconds. */
  ttl?: number
}

/** Name and version of a client or server program. */
export interface Implementation {
  name: string
  version: string
  /** Since 2025-06-18. */
  title?: string | undefined
  /** Since 2025-11-25. */
  description?: string | undefined
  /** Since 2025-11-25. */
  icons?: Icon[] | undefined
  /** Since 2025-11-25. */
  websiteUrl?: string | undefined
}

/** A picture to show beside a name. Since 2025-11-25. */
export interface Icon {
  /** An `https:` or `data:` URI. */
  src: string
  mimeType?: string | undefined
  /** Such as `48x48`, or `any` for a scalable picture. */
  sizes?: string[] | undefined
  /** The background the icon is drawn for. */
  theme?: 'light' | 'dark' | undefined
}

/** What a client can do for a server. */
export interface ClientCapabilities {
  experimental?: { [name: string]: JsonObject }
  /** Deprecated in 2026-07-28, where it has no members. */
  roots?: {
    /** Until 2025-11-25. */
    listChanged?: boolean
  }
  /** Deprecated in 2026-07-28. */
  sampling?: {
    /** Since 2025-11-25. */
    context?: JsonObject
    /** Since 2025-11-25. */
    tools?: JsonObject
  }
  /** Since 2025-06-18; an empty object means form mode only. */
  elicitation?: {
    /** Since 2025-11-25. */
    form?: JsonObject
    /** Since 2025-11-25. */
    url?: JsonObject
  }
  /** 2025-11-25 only. */
  tasks?: {
    list?: JsonObject
    cancel?: JsonObject
    requests?: {
      sampling?: { createMessage?: JsonObject }
      elicitation?: { create?: JsonObject }
    }
  }
  /** Settings by extension id. Since 2026-07-28; earlier peers tolerate it. */
  extensions?: { [id: string]: JsonObject }
}

/** What a server offers. */
export interface ServerCapabilities {
  experimental?: { [name: string]: JsonObject }
  /** Deprecated in 2026-07-28. */
  logging?: JsonObject
  /** Since 2025-03-26. */
  completions?: JsonObject
  prompts?: { listChanged?: boolean }
  resources?: { subscribe?: boolean; listChanged?: boolean }
  tools?: { listChanged?: boolean }
  /** 2025-11-25 only. */
  tasks?: {
    list?: JsonObject
    cancel?: JsonObject
    requests?: { tools?: { call?: JsonObject } }
  }
  /** Settings by extension id. Since 2026-07-28; earlier peers tolerate it. */
  extensions?: { [id: string]: JsonObject }
}

/** Hints on whom content is for and how much it matters. */
export interface Annotations {
  audience?: Role[] | undefined
  /** From 0 (optional) to 1 (effectively required). */
  priority?: number | undefined
  /** ISO 8601. Since 2025-06-18. */
  lastModified?: string | undefined
}

/** Text. */
export interface TextContent {
  type: 'text'
  text: string
  annotations?: Annotations
  /** Since 2025-06-18. */
  _meta?: Meta
}

/** A picture. */
export interface ImageContent {
  type: 'image'
  /** Base64. */
  data: string
  mimeType: string
  annotations?: Annotations
  /** Since 2025-06-18. */
  _meta?: Meta
}

/** Sound. Since 2025-03-26. */
export interface AudioContent {
  type: 'audio'
  /** Base64. */
  data: string
  mimeType: string
  annotations?: Annotations
  /** Since 2025-06-18. */
  _meta?: Meta
}

/** A pointer to a resource that can be read. Since 2025-06-18. */
export interface ResourceLink extends Resource {
  type: 'resource_link'
}

/** The contents of a resource, in place. */
export interface EmbeddedResource {
  type: 'resource'
  resource: ResourceContents
  annotations?: Annotations
  /** Since 2025-06-18. */
  _meta?: Meta
}

/** What tools and prompts speak in. */
export type ContentBlock = TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource

/** A model asks for a tool during sampling. Since 2025-11-25. */
export interface ToolUseContent {
  type: 'tool_use'
  id: string
  name: string
  input: JsonObject
  _meta?: Meta
}

/** The outcome of a tool a model asked for during sampling. Since 2025-11-25. */
export interface ToolResultContent {
  type: 'tool_result'
  /** The `id` of the {@link ToolUseContent} this answers. */
  toolUseId: string
  content: ContentBlock[]
  /** An object in 2025-11-25, any JSON value since 2026-07-28. */
  structuredContent?: unknown
  isError?: boolean
  _meta?: Meta
}

/** What sampling messages speak in. */
export type SamplingContent = TextContent | ImageContent | AudioContent | ToolUseContent | ToolResultContent

/** The contents of a resource as text. */
export interface TextResourceContents {
  uri: string
  text: string
  mimeType?: string
  /** Since 2025-06-18. */
  _meta?: Meta
}

/** The contents of a resource as bytes. */
export interface BlobResourceContents {
  uri: string
  /** Base64. */
  blob: string
  mimeType?: string
  /** Since 2025-06-18. */
  _meta?: Meta
}

/** The contents of a resource, or of a part of it. */
export type ResourceContents = TextResourceContents | BlobResourceContents

/** Params of `initialize`. Until 2025-11-25. */
export interface InitializeParams extends RequestParams {
  protocolVersion: string
  capabilities: ClientCapabilities
  clientInfo: Implementation
}

/** Result of `initialize`. Until 2025-11-25. */
export interface InitializeResult extends Result {
  protocolVersion: string
  capabilities: ServerCapabilities
  serverInfo: Implementation
  instructions?: string
}

/** Result of `server/discover`; the server names itself in `_meta`. Since 2026-07-28. */
export interface DiscoverResult extends Result, CacheHints {
  supportedVersions: string[]
  capabilities: ServerCapabilities
  instructions?: string
}

/** Params of `notifications/cancelled`. */
export interface CancelledParams extends NotificationParams {
  /** Optional in 2025-11-25, required in all others. */
  requestId?: RequestId
  reason?: string
}

/** Params of `notifications/progress`. */
export interface ProgressParams extends NotificationParams {
  progressToken: ProgressToken
  progress: number
  total?: number
  /** Since 2025-03-26. */
  message?: string
}

/** Something a server lets clients read. */
export interface Resource {
  uri: string
  name: string
  /** Since 2025-06-18. */
  title?: string
  description?: string
  mimeType?: string
  annotations?: Annotations
  /** Bytes before any encoding. */
  size?: number
  /** Since 2025-11-25. */
  icons?: Icon[]
  /** Since 2025-06-18. */
  _meta?: Meta
}

/** A family of resources under one URI template; the wire calls it ResourceTemplate. */
export interface ResourceTemplateInfo {
  /** RFC 6570. */
  uriTemplate: string
  name: string
  /** Since 2025-06-18. */
  title?: string
  description?: string
  mimeType?: string
  annotations?: Annotations
  /** Since 2025-11-25. */
  icons?: Icon[]
  /** Since 2025-06-18. */
  _meta?: Meta
}

/** Result of `resources/list`. */
export interface ListResourcesResult extends PaginatedResult, CacheHints {
  resources: Resource[]
}

/** Result of `resources/templates/list`. */
export interface ListResourceTemplatesResult extends PaginatedResult, CacheHints {
  resourceTemplates: ResourceTemplateInfo[]
}

/** Params of `resources/read`. */
export interface ReadResourceParams extends RequestParams, InputResponseParams {
  uri: string
}

/** Result of `resources/read`. */
export interface ReadResourceResult extends Result, CacheHints {
  contents: ResourceContents[]
}

/** Params of `resources/subscribe`. Until 2025-11-25. */
export interface SubscribeParams extends RequestParams {
  uri: string
}

/** Params of `resources/unsubscribe`. Until 2025-11-25. */
export interface UnsubscribeParams extends RequestParams {
  uri: string
}

/** Params of `notifications/resources/updated`. */
export interface ResourceUpdatedParams extends NotificationParams {
  /** May name a part of the resource that was subscribed to. */
  uri: string
}

/** A prompt a server offers. */
export interface Prompt {
  name: string
  /** Since 2025-06-18. */
  title?: string
  description?: string
  arguments?: PromptArgument[]
  /** Since 2025-11-25. */
  icons?: Icon[]
  /** Since 2025-06-18. */
  _meta?: Meta
}

/** One argument of a prompt. */
export interface PromptArgument {
  name: string
  /** Since 2025-06-18. */
  title?: string
  description?: string
  required?: boolean
}

/** One message of a filled-in prompt. */
export interface PromptMessage {
  role: Role
  content: ContentBlock
}

/** Result of `prompts/list`. */
export interface ListPromptsResult extends PaginatedResult, CacheHints {
  prompts: Prompt[]
}

/** Params of `prompts/get`. */
export interface GetPromptParams extends RequestParams, InputResponseParams {
  name: string
  arguments?: { [name: string]: string }
}

/** Result of `prompts/get`. */
export interface GetPromptResult extends Result {
  description?: string
  messages: PromptMessage[]
}

/** A tool a server offers. */
export interface Tool {
  name: string
  /** Since 2025-06-18. */
  title?: string
  description?: string
  inputSchema: JsonObjectSchema
  /** Since 2025-06-18; its root is an object until 2025-11-25, any schema since 2026-07-28. */
  outputSchema?: JsonSchema
  /** Since 2025-03-26. */
  annotations?: ToolAnnotations
  /** 2025-11-25 only. */
  execution?: ToolExecution
  /** Since 2025-11-25. */
  icons?: Icon[]
  /** Since 2025-06-18. */
  _meta?: Meta
}

/** What a tool claims about its behaviour; hints, never to be trusted for safety. Since 2025-03-26. */
export interface ToolAnnotations {
  title?: string | undefined
  /** Changes nothing. Taken as false when absent. */
  readOnlyHint?: boolean | undefined
  /** May destroy something. Taken as true when absent. */
  destructiveHint?: boolean | undefined
  /** A repeated call with the same arguments adds nothing. Taken as false when absent. */
  idempotentHint?: boolean | undefined
  /** Reaches things beyond the server. Taken as true when absent. */
  openWorldHint?: boolean | undefined
}

/** How a tool wants to be run. 2025-11-25 only. */
export interface ToolExecution {
  /** Taken as `forbidden` when absent. */
  taskSupport?: 'forbidden' | 'optional' | 'required' | undefined
}

/** Result of `tools/list`. */
export interface ListToolsResult extends PaginatedResult, CacheHints {
  tools: Tool[]
}

/** Params of `tools/call`. */
export interface CallToolParams extends RequestParams, InputResponseParams, TaskAugmentation {
  name: string
  arguments?: JsonObject
}

/** Result of `tools/call`, also when the tool itself failed. */
export interface CallToolResult extends Result {
  content: ContentBlock[]
  /** An object since 2025-06-18, any JSON value since 2026-07-28. */
  structuredContent?: unknown
  isError?: boolean
}

/** Points at a prompt whose argument is being completed. */
export interface PromptReference {
  type: 'ref/prompt'
  name: string
  /** Since 2025-06-18. */
  title?: string
}

/** Points at a resource template whose variable is being completed. */
export interface ResourceTemplateReference {
  type: 'ref/resource'
  /** The URI template, or a URI. */
  uri: string
}

/** Params of `completion/complete`. */
export interface CompleteParams extends RequestParams {
  ref: PromptReference | ResourceTemplateReference
  argument: {
    name: string
    /** What was typed so far. */
    value: string
  }
  /** Since 2025-06-18. */
  context?: {
    /** Arguments settled before this one. */
    arguments?: { [name: string]: string }
  }
}

/** Result of `completion/complete`. */
export interface CompleteResult extends Result {
  completion: {
    /** At most 100, best first. */
    values: string[]
    total?: number
    hasMore?: boolean
  }
}

/** Params of `logging/setLevel`. Until 2025-11-25. */
export interface SetLevelParams extends RequestParams {
  level: LoggingLevel
}

/** Params of `notifications/message`. */
export interface LoggingMessageParams extends NotificationParams {
  level: LoggingLevel
  logger?: string
  /** Any JSON value. */
  data: unknown
}

/** A place in the file system a server may work in. */
export interface Root {
  /** A `file:` URI. */
  uri: string
  name?: string
  /** Since 2025-06-18. */
  _meta?: Meta
}

/** Result of `roots/list`. */
export interface ListRootsResult extends Result {
  roots: Root[]
}

/** One message of a conversation with a model. */
export interface SamplingMessage {
  role: Role
  /** One block; a list since 2025-11-25. */
  content: SamplingContent | SamplingContent[]
  /** Since 2025-11-25. */
  _meta?: Meta
}

/** What a server would like from the model; the client decides. */
export interface ModelPreferences {
  /** First match wins. */
  hints?: ModelHint[]
  /** From 0 to 1. */
  costPriority?: number
  /** From 0 to 1. */
  speedPriority?: number
  /** From 0 to 1. */
  intelligencePriority?: number
}

/** Part of a model's name, such as `sonnet`. */
export interface ModelHint {
  name?: string
}

/** How a model may use the tools it is given. Since 2025-11-25. */
export interface ToolChoice {
  /** Taken as `auto` when absent. */
  mode?: 'auto' | 'required' | 'none'
}

/** Params of `sampling/createMessage`. */
export interface CreateMessageParams extends RequestParams, TaskAugmentation {
  messages: SamplingMessage[]
  maxTokens: number
  modelPreferences?: ModelPreferences
  systemPrompt?: string
  /** Values other than `none` are discouraged since 2025-11-25 and deprecated in 2026-07-28. */
  includeContext?: 'none' | 'thisServer' | 'allServers'
  temperature?: number
  stopSequences?: string[]
  /** For the model's provider. */
  metadata?: JsonObject
  /** Since 2025-11-25. */
  tools?: Tool[]
  /** Since 2025-11-25. */
  toolChoice?: ToolChoice
}

/** Result of `sampling/createMessage`. */
export interface CreateMessageResult extends Result {
  role: Role
  /** One block; a list since 2025-11-25. */
  content: SamplingContent | SamplingContent[]
  model: string
  /** `toolUse` since 2025-11-25. */
  stopReason?: 'endTurn' | 'stopSequence' | 'maxTokens' | 'toolUse' | (string & {})
}

/** A question answered by filling in a form. Since 2025-06-18. */
export interface ElicitFormParams extends RequestParams, TaskAugmentation {
  /** Since 2025-11-25; absent means form. */
  mode?: 'form'
  message: string
  requestedSchema: ElicitSchema
}

/** A question answered out of band, at a URL the user opens. Since 2025-11-25. */
export interface ElicitUrlParams extends RequestParams, TaskAugmentation {
  mode: 'url'
  message: string
  url: string
  /** 2025-11-25 only, and required there. */
  elicitationId?: string
}

/** Params of `elicitation/create`. Since 2025-06-18. */
export type ElicitParams = ElicitFormParams | ElicitUrlParams

/** Result of `elicitation/create`. Since 2025-06-18. */
export interface ElicitResult extends Result {
  action: 'accept' | 'decline' | 'cancel'
  /** Present when a form was accepted. */
  content?: ElicitContent
}

/** The fields of a filled-in form. Lists since 2025-11-25. */
export interface ElicitContent {
  [field: string]: string | number | boolean | string[]
}

/** The form of an elicitation: a flat object of simple fields. Since 2025-06-18. */
export interface ElicitSchema {
  /** Since 2025-11-25. */
  $schema?: string
  type: 'object'
  properties: { [field: string]: PrimitiveSchemaDefinition }
  required?: string[]
}

/** One field of a form. */
export type PrimitiveSchemaDefinition = StringSchema | NumberSchema | BooleanSchema | EnumSchema

/** A text field. */
export interface StringSchema {
  type: 'string'
  title?: string
  description?: string
  minLength?: number
  maxLength?: number
  format?: 'email' | 'uri' | 'date' | 'date-time'
  /** Since 2025-11-25. */
  default?: string
}

/** A number field. */
export interface NumberSchema {
  type: 'number' | 'integer'
  title?: string
  description?: string
  minimum?: number
  maximum?: number
  /** Since 2025-11-25. */
  default?: number
}

/** A yes-or-no field. */
export interface BooleanSchema {
  type: 'boolean'
  title?: string
  description?: string
  default?: boolean
}

/** A choice field. */
export type EnumSchema = SingleSelectEnumSchema | MultiSelectEnumSchema | LegacyTitledEnumSchema

/** A choice of one. */
export type SingleSelectEnumSchema = UntitledSingleSelectEnumSchema | TitledSingleSelectEnumSchema

/** A choice of any number. Since 2025-11-25. */
export type MultiSelectEnumSchema = UntitledMultiSelectEnumSchema | TitledMultiSelectEnumSchema

/** A choice of one among bare values. */
export interface UntitledSingleSelectEnumSchema {
  type: 'string'
  title?: string
  description?: string
  enum: string[]
  /** Since 2025-11-25. */
  default?: string
}

/** A choice of one among values with titles. Since 2025-11-25. */
export interface TitledSingleSelectEnumSchema {
  type: 'string'
  title?: string
  description?: string
  oneOf: EnumOption[]
  default?: string
}

/** A choice of any number among bare values. Since 2025-11-25. */
export interface UntitledMultiSelectEnumSchema {
  type: 'array'
  title?: string
  description?: string
  minItems?: number
  maxItems?: number
  items: { type: 'string'; enum: string[] }
  default?: string[]
}

/** A choice of any number among values with titles. Since 2025-11-25. */
export interface TitledMultiSelectEnumSchema {
  type: 'array'
  title?: string
  description?: string
  minItems?: number
  maxItems?: number
  items: { anyOf: EnumOption[] }
  default?: string[]
}

/** A choice of one with titles in a list of their own; the way of 2025-06-18, still understood later. */
export interface LegacyTitledEnumSchema {
  type: 'string'
  title?: string
  description?: string
  enum: string[]
  enumNames?: string[]
  /** Since 2025-11-25. */
  default?: string
}

/** One value of a choice and how to show it. Since 2025-11-25. */
export interface EnumOption {
  const: string
  title: string
}

/** Params of `notifications/elicitation/complete`. 2025-11-25 only. */
export interface ElicitationCompleteParams extends NotificationParams {
  elicitationId: string
}

/** A question to the client, carried inside a result. Since 2026-07-28. */
export type InputRequest =
  | { method: 'elicitation/create'; params: ElicitParams }
  | { method: 'sampling/createMessage'; params: CreateMessageParams }
  | { method: 'roots/list'; params?: RequestParams }

/** Open questions under keys the server chose. Since 2026-07-28. */
export interface InputRequests {
  [key: string]: InputRequest
}

/** The answer to an {@link InputRequest}. Since 2026-07-28. */
export type InputResponse = ElicitResult | CreateMessageResult | ListRootsResult

/** Answers under the keys of their questions. Since 2026-07-28. */
export interface InputResponses {
  [key: string]: InputResponse
}

/** The server needs answers first; it sends questions, state to be echoed, or both. Since 2026-07-28. */
export interface InputRequiredResult extends Result {
  resultType: 'input_required'
  inputRequests?: InputRequests
  requestState?: string
}

/** Which changes a listener wants to hear of, or will. Since 2026-07-28. */
export interface SubscriptionFilter {
  toolsListChanged?: boolean
  promptsListChanged?: boolean
  resourcesListChanged?: boolean
  /** URIs of resources. */
  resourceSubscriptions?: string[]
  /** From the tasks extension. */
  taskIds?: string[]
}

/** Params of `subscriptions/listen`. Since 2026-07-28. */
export interface ListenParams extends RequestParams {
  notifications: SubscriptionFilter
}

/** Result of `subscriptions/listen`, sent only when the stream ends in good order. Since 2026-07-28. */
export interface ListenResult extends Result {
  _meta: ResultMeta & { [metaKeys.subscriptionId]: RequestId }
}

/** Params of `notifications/subscriptions/acknowledged`. Since 2026-07-28. */
export interface SubscriptionsAcknowledgedParams extends NotificationParams {
  /** The part of the filter the server honours. */
  notifications: SubscriptionFilter
}

// Tasks have two dialects: the extension `io.modelcontextprotocol/tasks` of 2026-07-28 has the plain names, the
// experimental feature of 2025-11-25 has names that begin with Legacy where both have such a thing.

/** What clients and servers of 2026-07-28 declare that have tasks. */
export const tasksExtension = 'io.modelcontextprotocol/tasks'

/** Where a task stands; the last three are final. */
export type TaskStatus = 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled'

/** A task in the tasks extension. */
export interface Task {
  taskId: string
  status: TaskStatus
  statusMessage?: string
  /** ISO 8601. */
  createdAt: string
  /** ISO 8601. */
  lastUpdatedAt: string
  /** How long the task is kept after creation, in milliseconds; null means without limit. */
  ttlMs: number | null
  pollIntervalMs?: number
}

/** A task that still runs. */
export interface WorkingTask extends Task {
  status: 'working'
}

/** A task that waits for answers. */
export interface InputRequiredTask extends Task {
  status: 'input_required'
  inputRequests: InputRequests
}

/** A task that ended with the result of its request, which may be a tool's own failure. */
export interface CompletedTask extends Task {
  status: 'completed'
  result: JsonObject
}

/** A task whose request ended in a protocol error. */
export interface FailedTask extends Task {
  status: 'failed'
  error: { code: number; message: string; data?: unknown }
}

/** A task that was called off. */
export interface CancelledTask extends Task {
  status: 'cancelled'
}

/** A task with what its status brings along; the extension calls it DetailedTask. */
export type TaskState = WorkingTask | InputRequiredTask | CompletedTask | FailedTask | CancelledTask

/** The answer to `tools/call` that says a task was made of it, in the tasks extension. */
export interface CreateTaskResult extends Result, Task {
  resultType: 'task'
}

/** Params of `tasks/get`, in both dialects. */
export interface GetTaskParams extends RequestParams {
  taskId: string
}

/** Result of `tasks/get` in the tasks extension. */
export type GetTaskResult = Result & TaskState

/** Params of `tasks/update`, in the tasks extension. */
export interface UpdateTaskParams extends RequestParams {
  taskId: string
  inputResponses: InputResponses
}

/** Params of `tasks/cancel`, in both dialects. */
export interface CancelTaskParams extends RequestParams {
  taskId: string
}

/** Params of `notifications/tasks`, in the tasks extension. */
export type TaskNotificationParams = NotificationParams & TaskState

/** A task in 2025-11-25. */
export interface LegacyTask {
  taskId: string
  status: TaskStatus
  statusMessage?: string
  /** ISO 8601. */
  createdAt: string
  /** ISO 8601. */
  lastUpdatedAt: string
  /** How long the task is kept after creation, in milliseconds; null means without limit. */
  ttl: number | null
  /** Milliseconds. */
  pollInterval?: number
}

/** The answer to a request that carried `task`. 2025-11-25 only. */
export interface LegacyCreateTaskResult extends Result {
  task: LegacyTask
}

/** Result of `tasks/get` in 2025-11-25. */
export interface LegacyGetTaskResult extends Result, LegacyTask {}

/** Params of `tasks/result`. 2025-11-25 only. */
export interface TaskResultParams extends RequestParams {
  taskId: string
}

/** Result of `tasks/cancel` in 2025-11-25; the extension answers with an empty result. */
export interface LegacyCancelTaskResult extends Result, LegacyTask {}

/** Result of `tasks/list`. 2025-11-25 only. */
export interface ListTasksResult extends PaginatedResult {
  tasks: LegacyTask[]
}

/** Params of `notifications/tasks/status`. 2025-11-25 only. */
export interface TaskStatusParams extends NotificationParams, LegacyTask {}

/**
 * Requests a client sends, by method. `result` is the final answer: an {@link InputRequiredResult} or a created task
 * may come first, and is told apart by `resultType` or by the `task` that was asked for.
 */
export interface ClientRequests {
  /** Until 2025-11-25. */
  initialize: { params: InitializeParams; result: InitializeResult }
  /** Until 2025-11-25. */
  ping: { params: RequestParams; result: EmptyResult }
  /** Since 2026-07-28. */
  'server/discover': { params: RequestParams; result: DiscoverResult }
  'resources/list': { params: PaginatedParams; result: ListResourcesResult }
  'resources/templates/list': { params: PaginatedParams; result: ListResourceTemplatesResult }
  'resources/read': { params: ReadResourceParams; result: ReadResourceResult }
  /** Until 2025-11-25. */
  'resources/subscribe': { params: SubscribeParams; result: EmptyResult }
  /** Until 2025-11-25. */
  'resources/unsubscribe': { params: UnsubscribeParams; result: EmptyResult }
  'prompts/list': { params: PaginatedParams; result: ListPromptsResult }
  'prompts/get': { params: GetPromptParams; result: GetPromptResult }
  'tools/list': { params: PaginatedParams; result: ListToolsResult }
  'tools/call': { params: CallToolParams; result: CallToolResult }
  'completion/complete': { params: CompleteParams; result: CompleteResult }
  /** Until 2025-11-25. */
  'logging/setLevel': { params: SetLevelParams; result: EmptyResult }
  /** Since 2026-07-28. */
  'subscriptions/listen': { params: ListenParams; result: ListenResult }
  /** Both dialects. */
  'tasks/get': { params: GetTaskParams; result: GetTaskResult | LegacyGetTaskResult }
  /** Tasks extension. */
  'tasks/update': { params: UpdateTaskParams; result: EmptyResult }
  /** Both dialects. */
  'tasks/cancel': { params: CancelTaskParams; result: EmptyResult | LegacyCancelTaskResult }
  /** 2025-11-25 only; the result is that of the request the task was made of. */
  'tasks/result': { params: TaskResultParams; result: Result }
  /** 2025-11-25 only. */
  'tasks/list': { params: PaginatedParams; result: ListTasksResult }
}

/** Requests a server sends, by method. Until 2025-11-25; the first three travel as {@link InputRequest} since. */
export interface ServerRequests {
  'sampling/createMessage': { params: CreateMessageParams; result: CreateMessageResult }
  'roots/list': { params: RequestParams; result: ListRootsResult }
  /** Since 2025-06-18. */
  'elicitation/create': { params: ElicitParams; result: ElicitResult }
  ping: { params: RequestParams; result: EmptyResult }
  /** 2025-11-25 only. */
  'tasks/get': { params: GetTaskParams; result: LegacyGetTaskResult }
  /** 2025-11-25 only; the result is that of the request the task was made of. */
  'tasks/result': { params: TaskResultParams; result: Result }
  /** 2025-11-25 only. */
  'tasks/cancel': { params: CancelTaskParams; result: LegacyCancelTaskResult }
  /** 2025-11-25 only. */
  'tasks/list': { params: PaginatedParams; result: ListTasksResult }
}

/** Notifications a server sends: method to params. */
export interface ServerNotifications {
  /** In 2026-07-28 only to end a listen request. */
  'notifications/cancelled': CancelledParams
  'notifications/progress': ProgressParams
  'notifications/message': LoggingMessageParams
  'notifications/resources/list_changed': NotificationParams
  'notifications/resources/updated': ResourceUpdatedParams
  'notifications/prompts/list_changed': NotificationParams
  'notifications/tools/list_changed': NotificationParams
  /** Since 2026-07-28. */
  'notifications/subscriptions/acknowledged': SubscriptionsAcknowledgedParams
  /** 2025-11-25 only. */
  'notifications/elicitation/complete': ElicitationCompleteParams
  /** 2025-11-25 only. */
  'notifications/tasks/status': TaskStatusParams
  /** Tasks extension. */
  'notifications/tasks': TaskNotificationParams
}

/** Notifications a client sends: method to params. */
export interface ClientNotifications {
  'notifications/cancelled': CancelledParams
  /** Until 2025-11-25. */
  'notifications/progress': ProgressParams
  /** Until 2025-11-25. */
  'notifications/initialized': NotificationParams
  /** Until 2025-11-25. */
  'notifications/roots/list_changed': NotificationParams
  /** 2025-11-25 only. */
  'notifications/tasks/status': TaskStatusParams
}

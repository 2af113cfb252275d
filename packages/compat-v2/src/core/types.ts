import type {
  CallToolRequest,
  CallToolResult,
  CancelledNotification,
  ClientCapabilities,
  ClientNotification as ClientNotificationV1,
  ClientRequest as ClientRequestV1,
  CompleteRequest,
  CompleteRequestParams,
  CompleteResult,
  CreateMessageRequest,
  CreateMessageRequestParams,
  CreateMessageResult,
  CreateMessageResultWithTools,
  ElicitationCompleteNotification,
  ElicitRequest,
  ElicitResult,
  EmptyResult,
  GetPromptRequest,
  GetPromptResult,
  Implementation,
  InitializedNotification,
  InitializeRequest,
  InitializeResult,
  ListPromptsRequest,
  ListPromptsResult,
  ListResourcesRequest,
  ListResourcesResult,
  ListResourceTemplatesRequest,
  ListResourceTemplatesResult,
  ListRootsRequest,
  ListRootsResult,
  ListToolsRequest,
  ListToolsResult,
  LoggingLevel,
  LoggingMessageNotification,
  PingRequest,
  ProgressNotification,
  Prompt,
  PromptListChangedNotification,
  PromptReference,
  ReadResourceRequest,
  ReadResourceResult,
  RequestId,
  RequestMeta,
  Resource,
  ResourceListChangedNotification,
  ResourceTemplateReference,
  ResourceTemplate as ResourceTemplateV1,
  ResourceUpdatedNotification,
  Result,
  RootsListChangedNotification,
  ServerCapabilities,
  ServerNotification as ServerNotificationV1,
  ServerResult as ServerResultV1,
  SetLevelRequest,
  SubscribeRequest,
  Tool,
  ToolListChangedNotification,
  UnsubscribeRequest,
} from '@tenon/compat-v1/generated/protocol-types.js'
import type {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  LOG_LEVEL_META_KEY,
  PROTOCOL_VERSION_META_KEY,
  SUBSCRIPTION_ID_META_KEY,
} from './constants.ts'

// What revision 2025-11-25 has in common with the SDK 1.x. The types below replace those with the same name.
export type * from '@tenon/compat-v1/generated/protocol-types.js'

export type JSONValue = string | number | boolean | null | JSONObject | JSONArray
export type JSONObject = { [key: string]: JSONValue }
export type JSONArray = JSONValue[]

/** A resource template as `resources/templates/list` returns it. */
export type ResourceTemplateType = ResourceTemplateV1

export type MetaObject = Record<string, unknown>
export type RequestMetaObject = RequestMeta
export type ResultMetaObject = NonNullable<Result['_meta']>

/** What `_meta` of every request of 2026-07-28 says about its sender. */
export type RequestMetaEnvelope = {
  [PROTOCOL_VERSION_META_KEY]: string
  [CLIENT_INFO_META_KEY]?: Implementation
  [CLIENT_CAPABILITIES_META_KEY]: ClientCapabilities
  [LOG_LEVEL_META_KEY]?: LoggingLevel
}

export interface DiscoverRequest {
  method: 'server/discover'
  params?: { _meta?: RequestMeta; [key: string]: unknown }
}

/** What a server of 2026-07-28 says about itself. */
export interface DiscoverResult extends Result {
  supportedVersions: string[]
  capabilities: ServerCapabilities
  instructions?: string
  ttlMs?: number
  cacheScope?: 'public' | 'private'
}

/** The changes that a client of 2026-07-28 wants to be notified of. */
export interface SubscriptionFilter {
  toolsListChanged?: boolean
  promptsListChanged?: boolean
  resourcesListChanged?: boolean
  resourceSubscriptions?: string[]
  [key: string]: unknown
}

export interface SubscriptionsListenRequestParams {
  notifications: SubscriptionFilter
  _meta?: RequestMeta
  [key: string]: unknown
}

export interface SubscriptionsListenRequest {
  method: 'subscriptions/listen'
  params: SubscriptionsListenRequestParams
}

export interface SubscriptionsListenResultMeta {
  [SUBSCRIPTION_ID_META_KEY]: RequestId
  [key: string]: unknown
}

export interface SubscriptionsListenResult extends Result {
  _meta: SubscriptionsListenResultMeta
}

export interface SubscriptionsAcknowledgedNotificationParams {
  notifications: SubscriptionFilter
  _meta?: { [key: string]: unknown }
  [key: string]: unknown
}

export interface SubscriptionsAcknowledgedNotification {
  method: 'notifications/subscriptions/acknowledged'
  params: SubscriptionsAcknowledgedNotificationParams
}

/** A request of the server that an `input_required` result carries. */
export type InputRequest = CreateMessageRequest | ListRootsRequest | ElicitRequest
export type InputResponse = CreateMessageResult | CreateMessageResultWithTools | ListRootsResult | ElicitResult
export interface InputRequests {
  [key: string]: InputRequest
}
export interface InputResponses {
  [key: string]: InputResponse
}

/** The server needs answers of the client. The client repeats the request with them. */
export interface InputRequiredResult extends Result {
  resultType: 'input_required'
  inputRequests?: InputRequests
  requestState?: string
}

export type ClientRequest = ClientRequestV1 | DiscoverRequest | SubscriptionsListenRequest
export type ClientNotification = ClientNotificationV1
export type ServerNotification = ServerNotificationV1 | SubscriptionsAcknowledgedNotification
export type ServerResult = ServerResultV1 | DiscoverResult

export interface RequestTypeMap {
  ping: PingRequest
  initialize: InitializeRequest
  'server/discover': DiscoverRequest
  'completion/complete': CompleteRequest
  'logging/setLevel': SetLevelRequest
  'prompts/get': GetPromptRequest
  'prompts/list': ListPromptsRequest
  'resources/list': ListResourcesRequest
  'resources/templates/list': ListResourceTemplatesRequest
  'resources/read': ReadResourceRequest
  'resources/subscribe': SubscribeRequest
  'resources/unsubscribe': UnsubscribeRequest
  'subscriptions/listen': SubscriptionsListenRequest
  'tools/call': CallToolRequest
  'tools/list': ListToolsRequest
  'sampling/createMessage': CreateMessageRequest
  'elicitation/create': ElicitRequest
  'roots/list': ListRootsRequest
}

export interface ResultTypeMap {
  ping: EmptyResult
  initialize: InitializeResult
  'server/discover': DiscoverResult
  'completion/complete': CompleteResult
  'logging/setLevel': EmptyResult
  'prompts/get': GetPromptResult
  'prompts/list': ListPromptsResult
  'resources/list': ListResourcesResult
  'resources/templates/list': ListResourceTemplatesResult
  'resources/read': ReadResourceResult
  'resources/subscribe': EmptyResult
  'resources/unsubscribe': EmptyResult
  'subscriptions/listen': SubscriptionsListenResult
  'tools/call': CallToolResult
  'tools/list': ListToolsResult
  'sampling/createMessage': CreateMessageResult | CreateMessageResultWithTools
  'elicitation/create': ElicitResult
  'roots/list': ListRootsResult
}

/** What a handler may return: the methods that take input may ask for it first. */
export type HandlerResultTypeMap = {
  [M in keyof ResultTypeMap]: M extends 'tools/call' | 'prompts/get' | 'resources/read'
    ? ResultTypeMap[M] | InputRequiredResult
    : ResultTypeMap[M]
}

export interface NotificationTypeMap {
  'notifications/cancelled': CancelledNotification
  'notifications/progress': ProgressNotification
  'notifications/initialized': InitializedNotification
  'notifications/roots/list_changed': RootsListChangedNotification
  'notifications/message': LoggingMessageNotification
  'notifications/resources/updated': ResourceUpdatedNotification
  'notifications/resources/list_changed': ResourceListChangedNotification
  'notifications/tools/list_changed': ToolListChangedNotification
  'notifications/prompts/list_changed': PromptListChangedNotification
  'notifications/elicitation/complete': ElicitationCompleteNotification
  'notifications/subscriptions/acknowledged': SubscriptionsAcknowledgedNotification
}

export type RequestMethod = keyof RequestTypeMap
export type NotificationMethod = keyof NotificationTypeMap

export type CreateMessageRequestParamsBase = Omit<CreateMessageRequestParams, 'tools' | 'toolChoice'>
export interface CreateMessageRequestParamsWithTools extends CreateMessageRequestParams {
  tools: Tool[]
}

export type CompleteRequestPrompt = CompleteRequest & { params: CompleteRequestParams & { ref: PromptReference } }
export type CompleteRequestResourceTemplate = CompleteRequest & {
  params: CompleteRequestParams & { ref: ResourceTemplateReference }
}

/** The identity that an access token stands for. */
export interface AuthInfo {
  token: string
  clientId: string
  scopes: string[]
  /** Seconds since the epoch. */
  expiresAt?: number
  /** The resource that the token was issued for (RFC 8707). */
  resource?: URL
  extra?: Record<string, unknown>
}

interface JSONRPCErrorObject {
  code: number
  message: string
  data?: unknown
}
export interface ParseError extends JSONRPCErrorObject {
  code: -32700
}
export interface InvalidRequestError extends JSONRPCErrorObject {
  code: -32600
}
export interface MethodNotFoundError extends JSONRPCErrorObject {
  code: -32601
}
export interface InvalidParamsError extends JSONRPCErrorObject {
  code: -32602
}
export interface InternalError extends JSONRPCErrorObject {
  code: -32603
}

/** The data of a `MissingRequiredClientCapabilityError`. */
export interface MissingRequiredClientCapabilityErrorData {
  requiredCapabilities: ClientCapabilities
}

/** The data of an `UnsupportedProtocolVersionError`. */
export interface UnsupportedProtocolVersionErrorData {
  supported: string[]
  requested: string
}

/** Called with the new list, or with the error of fetching it. */
export type ListChangedCallback<T> = (error: Error | null, items: T[] | null) => void
export type ListChangedOptions<T> = {
  autoRefresh?: boolean
  debounceMs?: number
  onChanged: ListChangedCallback<T>
}
export type ListChangedHandlers = {
  tools?: ListChangedOptions<Tool>
  prompts?: ListChangedOptions<Prompt>
  resources?: ListChangedOptions<Resource>
}

/** The two kinds of revisions: with `initialize` (legacy), or with an envelope in each request (modern). */
export type ProtocolEra = 'legacy' | 'modern'

/** What an HTTP entry point found out about a message before it passed it on. */
export interface MessageClassification {
  era: ProtocolEra
  revision?: string
}

/** What a transport knows about a message. */
export interface MessageExtraInfo {
  request?: globalThis.Request
  classification?: MessageClassification
  authInfo?: AuthInfo
  closeSSEStream?: () => void
  closeStandaloneSSEStream?: () => void
}

/** The response of a token exchange for an identity assertion (ID-JAG). */
export interface IdJagTokenExchangeResponse {
  issued_token_type: 'urn:ietf:params:oauth:token-type:id-jag'
  access_token: string
  token_type: string
  expires_in?: number
  scope?: string
}

/** Client information together with the authorization server that issued it. */
export type StoredOAuthClientInformation = Record<string, unknown> & { client_id: string }
export type StoredOAuthTokens = Record<string, unknown> & { access_token: string; token_type: string }

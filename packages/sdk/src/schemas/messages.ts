/**
 * The messages of all revisions of the protocol, in the notation that `language.ts` reads. A definition or a field with `since` or
 * `until` exists only in these revisions; without, in all of them. A text after `#` becomes the description.
 */
export const messages = `
RequestId = string | integer # Identifies a request.
ProgressToken = string | integer # Associates progress notifications with the request they are about.
Cursor = string # An opaque position in a paginated list.
Role = 'user' | 'assistant' # The speaker of a message.
LoggingLevel = 'debug' | 'info' | 'notice' | 'warning' | 'error' | 'critical' | 'alert' | 'emergency' # The severity of a log message.
ResultType since 2026-07-28 = string # Says what a result is: "complete", "input_required" or a value of an extension.

JSONValue since 2026-07-28 = string | number | boolean | null | JSONObject | JSONArray # Any JSON value.
JSONObject since 2026-07-28 = map<JSONValue> # Any JSON object.
JSONArray since 2026-07-28 = JSONValue[] # Any JSON array.

MetaObject since 2026-07-28 = map<unknown> # Additional metadata.
RequestMetaObject since 2026-07-28 { # The metadata of a request, which says who sends it.
  progressToken?: ProgressToken # Asks for progress notifications with this token.
  'io.modelcontextprotocol/protocolVersion': string # The revision of this request.
  'io.modelcontextprotocol/clientInfo'?: Implementation
  'io.modelcontextprotocol/clientCapabilities': ClientCapabilities
  'io.modelcontextprotocol/logLevel'?: LoggingLevel # Asks for log messages of at least this level.
}
NotificationMetaObject since 2026-07-28 { # The metadata of a notification.
  'io.modelcontextprotocol/subscriptionId'?: RequestId # The subscription that the notification belongs to.
}
ResultMetaObject since 2026-07-28 { # The metadata of a result.
  'io.modelcontextprotocol/serverInfo'?: Implementation
}
SubscriptionsListenResultMetaObject since 2026-07-28 : ResultMetaObject { # The metadata of the result that ends a subscription.
  'io.modelcontextprotocol/subscriptionId': RequestId
}

RequestParams { # Params that every request has.
  _meta?: { progressToken?: ProgressToken } until 2025-11-25
  _meta: RequestMetaObject since 2026-07-28
}
NotificationParams { # Params that every notification has.
  _meta?: object until 2025-11-25
  _meta?: NotificationMetaObject since 2026-07-28
}
TaskMetadata since 2025-11-25 until 2025-11-25 { # Asks the receiver to run a request as a task.
  ttl?: integer # How long to keep the task, in milliseconds.
}
RelatedTaskMetadata since 2025-11-25 until 2025-11-25 { # Names the task that a message belongs to.
  taskId: string
}
TaskAugmentedRequestParams since 2025-11-25 until 2025-11-25 : RequestParams { # Params of requests that can run as a task.
  task?: TaskMetadata
}
InputResponseRequestParams since 2026-07-28 : RequestParams { # Params of requests that can be repeated with the answers of the client.
  inputResponses?: InputResponses
  requestState?: string # The state that the server returned, unchanged.
}

Request { # Any request, without its JSON-RPC envelope.
  method: string
  params?: { _meta?: { progressToken?: ProgressToken } } until 2025-06-18
  params?: object since 2025-11-25
}
Notification { # Any notification, without its JSON-RPC envelope.
  method: string
  params?: { _meta?: object } until 2025-06-18
  params?: object since 2025-11-25
}
Result { # Any result, without its JSON-RPC envelope.
  _meta?: object until 2025-11-25
  _meta?: ResultMetaObject since 2026-07-28
  resultType: ResultType since 2026-07-28
}
EmptyResult = Result # A result without data.
Error since 2025-11-25 { # What went wrong.
  code: integer
  message: string # A short description.
  data?: unknown # More about the error, as the sender defines it.
}
JSONRPCRequest : Request { # A request that expects a response.
  jsonrpc: '2.0'
  id: RequestId
}
JSONRPCNotification : Notification { # A message that expects no response.
  jsonrpc: '2.0'
}
JSONRPCResponse until 2025-06-18 { # A successful response.
  jsonrpc: '2.0'
  id: RequestId
  result: Result
}
JSONRPCResponse since 2025-11-25 = JSONRPCResultResponse | JSONRPCErrorResponse # Any response.
JSONRPCResultResponse since 2025-11-25 { # A successful response.
  jsonrpc: '2.0'
  id: RequestId
  result: Result
}
JSONRPCError until 2025-06-18 { # A response that reports an error.
  jsonrpc: '2.0'
  id: RequestId
  error: { code: integer; message: string; data?: unknown }
}
JSONRPCErrorResponse since 2025-11-25 { # A response that reports an error.
  jsonrpc: '2.0'
  id?: RequestId # Missing if the id of the request could not be read.
  error: Error
}
JSONRPCBatchRequest since 2025-03-26 until 2025-03-26 = (JSONRPCRequest | JSONRPCNotification)[] # Requests and notifications in one message.
JSONRPCBatchResponse since 2025-03-26 until 2025-03-26 = (JSONRPCResponse | JSONRPCError)[] # Responses in one message.
JSONRPCMessage = JSONRPCRequest | JSONRPCNotification | JSONRPCBatchRequest | JSONRPCBatchResponse | JSONRPCResponse | JSONRPCError # Any message.

ParseError since 2026-07-28 : Error { code: -32700 } # The text is not JSON.
InvalidRequestError since 2026-07-28 : Error { code: -32600 } # The message is not a request.
MethodNotFoundError since 2026-07-28 : Error { code: -32601 } # The receiver does not have the method.
InvalidParamsError since 2026-07-28 : Error { code: -32602 } # The params are invalid.
InternalError since 2026-07-28 : Error { code: -32603 } # The receiver failed.
HeaderMismatchError since 2026-07-28 { # The HTTP headers do not match the body.
  jsonrpc: '2.0'
  id?: RequestId
  error: { code: -32020; message: string; data?: unknown }
}
MissingRequiredClientCapabilityError since 2026-07-28 { # The request needs a capability that the client did not declare.
  jsonrpc: '2.0'
  id?: RequestId
  error: { code: -32021; message: string; data: { requiredCapabilities: ClientCapabilities } }
}
UnsupportedProtocolVersionError since 2026-07-28 { # The server does not have the revision of the request.
  jsonrpc: '2.0'
  id?: RequestId
  error: { code: -32022; message: string; data: { supported: string[]; requested: string } }
}
URLElicitationRequiredError since 2025-11-25 until 2025-11-25 { # The request needs an elicitation by URL first.
  jsonrpc: '2.0'
  id?: RequestId
  error: { code: -32042; message: string; data: { elicitations: ElicitRequestURLParams[] } }
}

BaseMetadata { # Has a name and a title.
  name: string # Identifier for programs.
  title?: string since 2025-06-18 # Display name for people.
}
Icon since 2025-11-25 { # An icon to display.
  src: uri # URL or "data:" URI of the icon.
  mimeType?: string
  sizes?: string[] # Sizes that the icon is for, such as "48x48", or "any".
  theme?: 'light' | 'dark' # The color theme that the icon is for.
}
Icons since 2025-11-25 { # Has icons.
  icons?: Icon[]
}
Implementation : BaseMetadata, Icons { # Name and version of a client or server.
  version: string
  description?: string since 2025-11-25
  websiteUrl?: uri since 2025-11-25
}
Annotations { # Hints on how to use or display something.
  audience?: Role[] # Whom it is for.
  priority?: number(0..1) # How important it is.
  lastModified?: string since 2025-06-18 # ISO 8601 timestamp.
}
Annotated until 2024-11-05 { # Has annotations.
  annotations?: Annotations
}

ClientCapabilities { # Features that a client supports.
  experimental?: map<object> # Features outside the specification.
  roots?: { listChanged?: boolean } until 2025-11-25
  roots?: object since 2026-07-28
  sampling?: object until 2025-06-18
  sampling?: { context?: object; tools?: object } since 2025-11-25
  elicitation?: object since 2025-06-18 until 2025-06-18
  elicitation?: { form?: object; url?: object } since 2025-11-25
  tasks?: ClientTasksCapability since 2025-11-25 until 2025-11-25
  extensions?: map<object> since 2026-07-28 # Extensions and their settings.
}
ClientTasksCapability since 2025-11-25 until 2025-11-25 { # Requests that a client can run as tasks.
  list?: object
  cancel?: object
  requests?: { sampling?: { createMessage?: object }; elicitation?: { create?: object } }
}
ServerCapabilities { # Features that a server supports.
  experimental?: map<object> # Features outside the specification.
  logging?: object
  completions?: object since 2025-03-26
  prompts?: { listChanged?: boolean }
  resources?: { subscribe?: boolean; listChanged?: boolean }
  tools?: { listChanged?: boolean }
  tasks?: ServerTasksCapability since 2025-11-25 until 2025-11-25
  extensions?: map<object> since 2026-07-28 # Extensions and their settings.
}
ServerTasksCapability since 2025-11-25 until 2025-11-25 { # Requests that a server can run as tasks.
  list?: object
  cancel?: object
  requests?: { tools?: { call?: object } }
}

client request InitializeRequest 'initialize' until 2025-11-25 # The first request of a client.
InitializeRequestParams until 2025-11-25 : RequestParams {
  protocolVersion: string # The newest revision that the client supports.
  capabilities: ClientCapabilities
  clientInfo: Implementation
}
InitializeResult until 2025-11-25 : Result { # What the server is.
  protocolVersion: string # The revision to use.
  capabilities: ServerCapabilities
  serverInfo: Implementation
  instructions?: string # How to use the server, for the model.
}
client notification InitializedNotification 'notifications/initialized' until 2025-11-25 # Tells the server that the client is ready.
client request DiscoverRequest 'server/discover' since 2026-07-28 # Asks what the server is.
DiscoverRequestParams since 2026-07-28 : RequestParams {}
DiscoverResult since 2026-07-28 : CacheableResult { # What the server is.
  supportedVersions: string[]
  capabilities: ServerCapabilities
  instructions?: string # How to use the server, for the model.
}
any request PingRequest 'ping' until 2025-11-25 -> EmptyResult # Checks that the other side responds.

any notification CancelledNotification 'notifications/cancelled' # Cancels a request that was sent before.
CancelledNotificationParams : NotificationParams {
  requestId: RequestId until 2025-06-18 # The request to cancel.
  requestId?: RequestId since 2025-11-25 until 2025-11-25 # The request to cancel.
  requestId: RequestId since 2026-07-28 # The request to cancel.
  reason?: string
}
any notification ProgressNotification 'notifications/progress' until 2025-11-25 # Reports the progress of a request.
server notification ProgressNotification 'notifications/progress' since 2026-07-28 # Reports the progress of a request.
ProgressNotificationParams : NotificationParams {
  progressToken: ProgressToken # The token of the request.
  progress: number # Increases with every notification.
  total?: number # The value of "progress" at the end.
  message?: string since 2025-03-26 # What happens now.
}

PaginatedRequest { # Any request for a list.
  jsonrpc: '2.0' since 2025-11-25
  id: RequestId since 2025-11-25
  method: string
  params?: PaginatedRequestParams until 2025-11-25
  params: PaginatedRequestParams since 2026-07-28
}
PaginatedRequestParams : RequestParams {
  cursor?: Cursor # Where to continue; missing for the first page.
}
PaginatedResult : Result { # A page of a list.
  nextCursor?: Cursor # Where the next page begins.
}
CacheableResult since 2026-07-28 : Result { # A result that a client can cache.
  ttlMs: integer(0..) # How long the result is fresh.
  cacheScope: 'public' | 'private' # Whether users may share it.
}

base Answer until 2025-11-25 : Result {} # Since 2026-07-28 the client answers inside a repeated request.
QuestionParams { # Params of requests of a server.
  _meta?: { progressToken?: ProgressToken } until 2025-11-25
  _meta?: object since 2026-07-28
}
InputRequest since 2026-07-28 = CreateMessageRequest | ListRootsRequest | ElicitRequest # What a server asks the client for.
InputRequests since 2026-07-28 = map<InputRequest> # The questions of a server by key.
InputResponse since 2026-07-28 = CreateMessageResult | ListRootsResult | ElicitResult # The answer to a question.
InputResponses since 2026-07-28 = map<InputResponse> # The answers by the keys of the questions.
InputRequiredResult since 2026-07-28 : Result { # Asks the client for input, before it repeats the request.
  inputRequests?: InputRequests
  requestState?: string # To be returned unchanged.
}

any request GetTaskRequest 'tasks/get' since 2025-11-25 until 2025-11-25 # Asks for the status of a task.
GetTaskRequestParams since 2025-11-25 until 2025-11-25 { taskId: string }
GetTaskResult since 2025-11-25 until 2025-11-25 : Result, Task {}
any request GetTaskPayloadRequest 'tasks/result' since 2025-11-25 until 2025-11-25 # Waits for the result of a task.
GetTaskPayloadRequestParams since 2025-11-25 until 2025-11-25 { taskId: string }
GetTaskPayloadResult since 2025-11-25 until 2025-11-25 : Result {}
any request CancelTaskRequest 'tasks/cancel' since 2025-11-25 until 2025-11-25 # Cancels a task.
CancelTaskRequestParams since 2025-11-25 until 2025-11-25 { taskId: string }
CancelTaskResult since 2025-11-25 until 2025-11-25 : Result, Task {}
any request ListTasksRequest 'tasks/list' PaginatedRequestParams? since 2025-11-25 until 2025-11-25 # Asks for a list of tasks.
ListTasksResult since 2025-11-25 until 2025-11-25 : PaginatedResult { tasks: Task[] }
CreateTaskResult since 2025-11-25 until 2025-11-25 : Result { task: Task } # The result of a request that runs as a task.
any notification TaskStatusNotification 'notifications/tasks/status' since 2025-11-25 until 2025-11-25 # Reports that a task changed.
TaskStatusNotificationParams since 2025-11-25 until 2025-11-25 : NotificationParams, Task {}
TaskStatus since 2025-11-25 until 2025-11-25 = 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled' # The status of a task.
Task since 2025-11-25 until 2025-11-25 { # A request that runs in the background.
  taskId: string
  status: TaskStatus
  statusMessage?: string
  createdAt: string # ISO 8601 timestamp.
  lastUpdatedAt: string # ISO 8601 timestamp.
  ttl: integer | null # How long the task is kept after its creation, in milliseconds; null means forever.
  pollInterval?: integer # Time to wait between status requests, in milliseconds.
}

client request ListResourcesRequest 'resources/list' PaginatedRequestParams # Asks for a list of resources.
ListResourcesResult : PaginatedResult, CacheableResult { resources: Resource[] }
client request ListResourceTemplatesRequest 'resources/templates/list' PaginatedRequestParams # Asks for a list of resource templates.
ListResourceTemplatesResult : PaginatedResult, CacheableResult { resourceTemplates: ResourceTemplate[] }
client request ReadResourceRequest 'resources/read' # Reads a resource.
ResourceRequestParams : RequestParams { uri: uri } # Params of requests about one resource.
ReadResourceRequestParams : ResourceRequestParams, InputResponseRequestParams {}
ReadResourceResult : Result, CacheableResult { contents: (TextResourceContents | BlobResourceContents)[] }
client request SubscribeRequest 'resources/subscribe' until 2025-11-25 -> EmptyResult # Asks to be told when a resource changes.
SubscribeRequestParams until 2025-11-25 : ResourceRequestParams {}
client request UnsubscribeRequest 'resources/unsubscribe' until 2025-11-25 -> EmptyResult # Ends a subscription.
UnsubscribeRequestParams until 2025-11-25 : ResourceRequestParams {}
server notification ResourceListChangedNotification 'notifications/resources/list_changed' # Reports that the list of resources changed.
server notification ResourceUpdatedNotification 'notifications/resources/updated' # Reports that a resource changed.
ResourceUpdatedNotificationParams : NotificationParams { uri: uri }
Resource : BaseMetadata, Icons { # A resource that a server offers.
  uri: uri
  description?: string # What it is, for the model.
  mimeType?: string
  size?: integer # In bytes.
  annotations?: Annotations
  _meta?: object since 2025-06-18
}
ResourceTemplate : BaseMetadata, Icons { # Describes resources by a URI template.
  uriTemplate: uri-template
  description?: string # What they are, for the model.
  mimeType?: string # If all of them have the same.
  annotations?: Annotations
  _meta?: object since 2025-06-18
}
ResourceContents { # Has the URI and type of the contents of a resource.
  uri: uri
  mimeType?: string
  _meta?: object since 2025-06-18
}
TextResourceContents : ResourceContents { text: string } # A resource as text.
BlobResourceContents : ResourceContents { blob: base64 } # A resource as binary data.

client request SubscriptionsListenRequest 'subscriptions/listen' since 2026-07-28 # Asks for notifications.
SubscriptionsListenRequestParams since 2026-07-28 : RequestParams { notifications: SubscriptionFilter }
SubscriptionFilter since 2026-07-28 { # Which notifications a client wants.
  toolsListChanged?: boolean
  promptsListChanged?: boolean
  resourcesListChanged?: boolean
  resourceSubscriptions?: string[] # URIs of resources.
}
SubscriptionsListenResult since 2026-07-28 : Result { _meta: SubscriptionsListenResultMetaObject } # Ends a subscription.
server notification SubscriptionsAcknowledgedNotification 'notifications/subscriptions/acknowledged' since 2026-07-28 # Begins a subscription.
SubscriptionsAcknowledgedNotificationParams since 2026-07-28 : NotificationParams { notifications: SubscriptionFilter }

client request ListPromptsRequest 'prompts/list' PaginatedRequestParams # Asks for a list of prompts.
ListPromptsResult : PaginatedResult, CacheableResult { prompts: Prompt[] }
client request GetPromptRequest 'prompts/get' # Fetches a prompt.
GetPromptRequestParams : RequestParams, InputResponseRequestParams {
  name: string
  arguments?: map<string>
}
GetPromptResult : Result {
  description?: string
  messages: PromptMessage[]
}
server notification PromptListChangedNotification 'notifications/prompts/list_changed' # Reports that the list of prompts changed.
Prompt : BaseMetadata, Icons { # A prompt that a server offers.
  description?: string
  arguments?: PromptArgument[]
  _meta?: object since 2025-06-18
}
PromptArgument : BaseMetadata { # An argument of a prompt.
  description?: string
  required?: boolean
}
PromptMessage { # A message of a prompt.
  role: Role
  content: ContentBlock
}
ContentBlock = TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource # Content of a prompt or of the result of a tool.
base Presented { # Has annotations and metadata.
  annotations?: Annotations
  _meta?: object since 2025-06-18
}
TextContent : Presented { # Text.
  type: 'text'
  text: string
}
ImageContent : Presented { # An image.
  type: 'image'
  data: base64
  mimeType: string
}
AudioContent since 2025-03-26 : Presented { # Audio.
  type: 'audio'
  data: base64
  mimeType: string
}
EmbeddedResource : Presented { # The contents of a resource.
  type: 'resource'
  resource: TextResourceContents | BlobResourceContents
}
ResourceLink since 2025-06-18 : Resource { type: 'resource_link' } # A resource that can be read.

client request ListToolsRequest 'tools/list' PaginatedRequestParams # Asks for a list of tools.
ListToolsResult : PaginatedResult, CacheableResult { tools: Tool[] }
client request CallToolRequest 'tools/call' # Calls a tool.
CallToolRequestParams : RequestParams, TaskAugmentedRequestParams, InputResponseRequestParams {
  name: string
  arguments?: map<unknown>
}
CallToolResult : Result { # The result of a call.
  content: ContentBlock[]
  structuredContent?: object since 2025-06-18 until 2025-11-25 # Matches the output schema of the tool.
  structuredContent?: unknown since 2026-07-28 # Matches the output schema of the tool.
  isError?: boolean # The call failed.
}
server notification ToolListChangedNotification 'notifications/tools/list_changed' # Reports that the list of tools changed.
Tool : BaseMetadata, Icons { # A tool that a server offers.
  description?: string # What it does, for the model.
  inputSchema: { type: 'object'; properties?: map<object>; required?: string[]; $schema?: string since 2025-11-25 } until 2025-11-25
  inputSchema: { type: 'object'; $schema?: string } since 2026-07-28
  outputSchema?: { type: 'object'; properties?: map<object>; required?: string[]; $schema?: string since 2025-11-25 } since 2025-06-18 until 2025-11-25
  outputSchema?: { $schema?: string } since 2026-07-28
  annotations?: ToolAnnotations since 2025-03-26
  execution?: ToolExecution since 2025-11-25 until 2025-11-25
  _meta?: object since 2025-06-18
}
ToolAnnotations since 2025-03-26 { # Hints about what a tool does. Do not rely on those of a server that you do not trust.
  title?: string # Display name for people.
  readOnlyHint?: boolean # The tool changes nothing.
  destructiveHint?: boolean # The tool may delete or overwrite something.
  idempotentHint?: boolean # A second call with the same arguments has no further effect.
  openWorldHint?: boolean # The tool reaches systems outside the server.
}
ToolExecution since 2025-11-25 until 2025-11-25 { # How a tool can be run.
  taskSupport?: 'forbidden' | 'optional' | 'required'
}

client request SetLevelRequest 'logging/setLevel' until 2025-11-25 -> EmptyResult # Sets the least severe level to log.
SetLevelRequestParams until 2025-11-25 : RequestParams { level: LoggingLevel }
server notification LoggingMessageNotification 'notifications/message' # A log message.
LoggingMessageNotificationParams : NotificationParams {
  level: LoggingLevel
  logger?: string
  data: unknown
}

client request CompleteRequest 'completion/complete' # Asks for completions of an argument.
CompleteRequestParams : RequestParams {
  ref: PromptReference | ResourceReference | ResourceTemplateReference
  argument: { name: string; value: string }
  context?: { arguments?: map<string> } since 2025-06-18
}
CompleteResult : Result {
  completion: { values: string[..100]; total?: integer; hasMore?: boolean }
}
PromptReference : BaseMetadata { type: 'ref/prompt' } # Refers to a prompt.
ResourceReference until 2025-03-26 { # Refers to a resource or resource template.
  type: 'ref/resource'
  uri: uri-template
}
ResourceTemplateReference since 2025-06-18 { # Refers to a resource or resource template.
  type: 'ref/resource'
  uri: uri-template
}

server request CreateMessageRequest 'sampling/createMessage' # Asks the model of the client for a completion.
CreateMessageRequestParams : QuestionParams, TaskAugmentedRequestParams {
  messages: SamplingMessage[]
  modelPreferences?: ModelPreferences
  systemPrompt?: string
  includeContext?: 'none' | 'thisServer' | 'allServers' # Context of MCP servers to add to the prompt.
  temperature?: number
  maxTokens: integer
  stopSequences?: string[]
  metadata?: object # Options of the model provider.
  tools?: Tool[] since 2025-11-25
  toolChoice?: ToolChoice since 2025-11-25
}
CreateMessageResult : Answer, SamplingMessage {
  model: string # The model that wrote the message.
  stopReason?: string
}
SamplingMessage { # A message to or from a model.
  role: Role
  content: TextContent | ImageContent | AudioContent until 2025-06-18
  content: SamplingMessageContentBlock | SamplingMessageContentBlock[] since 2025-11-25
  _meta?: object since 2025-11-25
}
SamplingMessageContentBlock since 2025-11-25 = TextContent | ImageContent | AudioContent | ToolUseContent | ToolResultContent # Content of a message to or from a model.
ToolUseContent since 2025-11-25 { # A call that a model asks for.
  type: 'tool_use'
  id: string # Identifies this call; its result has the same id.
  name: string
  input: map<unknown>
  _meta?: object
}
ToolResultContent since 2025-11-25 { # The result of a call that a model asked for.
  type: 'tool_result'
  toolUseId: string
  content: ContentBlock[]
  structuredContent?: object until 2025-11-25
  structuredContent?: unknown since 2026-07-28
  isError?: boolean
  _meta?: object
}
ToolChoice since 2025-11-25 { mode?: 'auto' | 'required' | 'none' } # Whether the model calls tools.
ModelPreferences { # Preferences of a server for a model.
  hints?: ModelHint[] # Models to prefer, best first.
  costPriority?: number(0..1)
  speedPriority?: number(0..1)
  intelligencePriority?: number(0..1)
}
ModelHint { name?: string } # A part of the name of a model.

server request ListRootsRequest 'roots/list' QuestionParams? # Asks for the roots of the client.
ListRootsResult : Answer { roots: Root[] }
client notification RootsListChangedNotification 'notifications/roots/list_changed' until 2025-11-25 # Reports that the roots changed.
Root { # A folder or file that a server may work in.
  uri: uri # A "file:" URL.
  name?: string
  _meta?: object since 2025-06-18
}

server request ElicitRequest 'elicitation/create' since 2025-06-18 # Asks the user of the client for input.
ElicitRequestParams since 2025-06-18 = ElicitRequestFormParams | ElicitRequestURLParams
ElicitRequestFormParams since 2025-06-18 : QuestionParams, TaskAugmentedRequestParams { # Asks the user to fill in a form.
  mode?: 'form' since 2025-11-25
  message: string
  requestedSchema: { type: 'object'; properties: map<PrimitiveSchemaDefinition>; required?: string[]; $schema?: string since 2025-11-25 }
}
ElicitRequestURLParams since 2025-11-25 : QuestionParams, TaskAugmentedRequestParams { # Asks the user to open a URL.
  mode: 'url'
  message: string
  elicitationId: string until 2025-11-25
  url: uri
}
ElicitResult since 2025-06-18 : Answer {
  action: 'accept' | 'decline' | 'cancel'
  content?: map<string | integer | boolean> until 2025-06-18
  content?: map<string | integer | boolean | string[]> since 2025-11-25
}
server notification ElicitationCompleteNotification 'notifications/elicitation/complete' since 2025-11-25 until 2025-11-25 # Reports that the user finished what a URL asked for.
ElicitationCompleteNotificationParams since 2025-11-25 until 2025-11-25 { elicitationId: string }
PrimitiveSchemaDefinition since 2025-06-18 = StringSchema | NumberSchema | BooleanSchema | EnumSchema # A field of a form.
base Labelled since 2025-06-18 { # Has a label.
  title?: string
  description?: string
}
StringSchema since 2025-06-18 : Labelled { # A text field.
  type: 'string'
  minLength?: integer
  maxLength?: integer
  format?: 'email' | 'uri' | 'date' | 'date-time'
  default?: string since 2025-11-25
}
NumberSchema since 2025-06-18 : Labelled { # A field for a number.
  type: 'number' | 'integer'
  minimum?: number
  maximum?: number
  default?: number since 2025-11-25
}
BooleanSchema since 2025-06-18 : Labelled { # A checkbox.
  type: 'boolean'
  default?: boolean
}
EnumSchema since 2025-06-18 until 2025-06-18 : Labelled { # A choice of one option.
  type: 'string'
  enum: string[]
  enumNames?: string[]
}
EnumSchema since 2025-11-25 = SingleSelectEnumSchema | MultiSelectEnumSchema | LegacyTitledEnumSchema # Any choice.
SingleSelectEnumSchema since 2025-11-25 = UntitledSingleSelectEnumSchema | TitledSingleSelectEnumSchema # A choice of one option.
MultiSelectEnumSchema since 2025-11-25 = UntitledMultiSelectEnumSchema | TitledMultiSelectEnumSchema # A choice of several options.
UntitledSingleSelectEnumSchema since 2025-11-25 : Labelled { # A choice of one option.
  type: 'string'
  enum: string[]
  default?: string
}
TitledSingleSelectEnumSchema since 2025-11-25 : Labelled { # A choice of one option, with titles.
  type: 'string'
  oneOf: { const: string; title: string }[]
  default?: string
}
UntitledMultiSelectEnumSchema since 2025-11-25 : Labelled { # A choice of several options.
  type: 'array'
  minItems?: integer
  maxItems?: integer
  items: { type: 'string'; enum: string[] }
  default?: string[]
}
TitledMultiSelectEnumSchema since 2025-11-25 : Labelled { # A choice of several options, with titles.
  type: 'array'
  minItems?: integer
  maxItems?: integer
  items: { anyOf: { const: string; title: string }[] }
  default?: string[]
}
LegacyTitledEnumSchema since 2025-11-25 : Labelled { # A choice of one option, with titles in a list of their own.
  type: 'string'
  enum: string[]
  enumNames?: string[]
  default?: string
}
`

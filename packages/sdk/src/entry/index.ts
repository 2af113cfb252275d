// The protocol types, and the classes and functions that newcomers need first. The subpaths have everything else.
export { Client } from '../client/client.ts'
export { connect } from '../connect/connect.ts'
export {
  CapabilityError,
  type CloseDetail,
  ClosedError,
  ErrorCode,
  HttpError,
  McpError,
  type McpErrorCode,
  PeerError,
  ProtocolError,
  type RequiredUrl,
  Suspended,
  TimeoutError,
  UrlElicitationRequiredError,
} from '../errors.ts'
export type {
  Params,
  RequestId,
  ResultObject,
  RpcErrorBody,
  RpcMessage,
  RpcNotification,
  RpcRequest,
  RpcResponse,
} from '../jsonrpc/message.ts'
export type { EmptyResult, NotificationParams, RequestParams, Result, ResultType } from '../protocol/base.ts'
export type { CacheHints } from '../protocol/caching.ts'
export type { CancelledParams } from '../protocol/cancellation.ts'
export type { ClientCapabilities, Implementation, ServerCapabilities } from '../protocol/capabilities.ts'
export type {
  CompleteParams,
  CompleteResult,
  PromptReference,
  ResourceTemplateReference,
} from '../protocol/completion.ts'
export type {
  Annotations,
  AudioContent,
  ContentBlock,
  EmbeddedResource,
  ImageContent,
  ResourceLink,
  Role,
  TextContent,
} from '../protocol/content.ts'
export type { DiscoverResult } from '../protocol/discover.ts'
export type {
  BooleanSchema,
  ElicitationCompleteParams,
  ElicitContent,
  ElicitFormParams,
  ElicitParams,
  ElicitResult,
  ElicitSchema,
  ElicitUrlParams,
  EnumOption,
  EnumSchema,
  LegacyTitledEnumSchema,
  MultiSelectEnumSchema,
  NumberSchema,
  PrimitiveSchemaDefinition,
  SingleSelectEnumSchema,
  StringSchema,
  TitledMultiSelectEnumSchema,
  TitledSingleSelectEnumSchema,
  UntitledMultiSelectEnumSchema,
  UntitledSingleSelectEnumSchema,
} from '../protocol/elicitation.ts'
export type { Icon } from '../protocol/icons.ts'
export type { InitializeParams, InitializeResult } from '../protocol/initialize.ts'
export { isInitializeRequest } from '../protocol/initialize.ts'
export type {
  InputRequest,
  InputRequests,
  InputRequiredResult,
  InputResponse,
  InputResponseParams,
  InputResponses,
} from '../protocol/input.ts'
export { answerProblem } from '../protocol/input-check.ts'
export type { LoggingLevel, LoggingMessageParams, SetLevelParams } from '../protocol/logging.ts'
export { loggingLevels } from '../protocol/logging.ts'
export type { Meta, NotificationMeta, ProgressToken, RelatedTask, RequestMeta, ResultMeta } from '../protocol/meta.ts'
export { callerMetaProblem, metaKeys } from '../protocol/meta.ts'
export type { ClientNotifications, ClientRequests, ServerNotifications, ServerRequests } from '../protocol/methods.ts'
export type { Cursor, PaginatedParams, PaginatedResult } from '../protocol/pagination.ts'
export { paramsProblem } from '../protocol/params.ts'
export type { ProgressParams } from '../protocol/progress.ts'
export type {
  GetPromptParams,
  GetPromptResult,
  ListPromptsResult,
  Prompt,
  PromptArgument,
  PromptMessage,
} from '../protocol/prompts.ts'
export type {
  BlobResourceContents,
  ListResourcesResult,
  ListResourceTemplatesResult,
  ReadResourceParams,
  ReadResourceResult,
  Resource,
  ResourceContents,
  ResourceTemplateInfo,
  ResourceUpdatedParams,
  SubscribeParams,
  TextResourceContents,
  UnsubscribeParams,
} from '../protocol/resources.ts'
export type { EraName, Revision, RevisionData, RevisionId, Step, Steps } from '../protocol/revision.ts'
export { revisionIds, revisions } from '../protocol/revisions/index.ts'
export type { ListRootsResult, Root } from '../protocol/roots.ts'
export type {
  CreateMessageParams,
  CreateMessageResult,
  ModelHint,
  ModelPreferences,
  SamplingContent,
  SamplingMessage,
  ToolChoice,
  ToolResultContent,
  ToolUseContent,
} from '../protocol/sampling.ts'
export type {
  ListenParams,
  ListenResult,
  SubscriptionFilter,
  SubscriptionsAcknowledgedParams,
} from '../protocol/subscriptions.ts'
export type { TaskAugmentation, TaskRequest } from '../protocol/task-augmentation.ts'
export type {
  CancelledTask,
  CancelTaskParams,
  CompletedTask,
  CoreCancelTaskResult,
  CoreCreateTaskResult,
  CoreGetTaskResult,
  CoreTask,
  CreateTaskResult,
  FailedTask,
  GetTaskParams,
  GetTaskResult,
  InputRequiredTask,
  ListTasksResult,
  Task,
  TaskNotificationParams,
  TaskResultParams,
  TaskState,
  TaskStatus,
  TaskStatusParams,
  UpdateTaskParams,
  WorkingTask,
} from '../protocol/tasks.ts'
export type {
  CallToolParams,
  CallToolResult,
  JsonObjectSchema,
  ListToolsResult,
  Tool,
  ToolAnnotations,
  ToolExecution,
} from '../protocol/tools.ts'
export type { JsonSchema } from '../schema/json-schema.ts'
export { serveHttp } from '../serve/http.ts'
export { createMcpHandler } from '../serve/http-handler.ts'
export { serveStdio } from '../serve/stdio.ts'
export { McpServer } from '../server/mcp-server.ts'
export type { JsonObject } from '../util/objects.ts'

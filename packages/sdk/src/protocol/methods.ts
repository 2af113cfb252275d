import type { EmptyResult, NotificationParams, RequestParams, Result } from './base.ts'
import type { CancelledParams } from './cancellation.ts'
import type { CompleteParams, CompleteResult } from './completion.ts'
import type { DiscoverResult } from './discover.ts'
import type { ElicitationCompleteParams, ElicitParams, ElicitResult } from './elicitation.ts'
import type { InitializeParams, InitializeResult } from './initialize.ts'
import type { InputRequest, InputRequiredResult } from './input.ts'
import type { LoggingMessageParams, SetLevelParams } from './logging.ts'
import type { PaginatedParams } from './pagination.ts'
import type { ProgressParams } from './progress.ts'
import type { GetPromptParams, GetPromptResult, ListPromptsResult } from './prompts.ts'
import type {
  ListResourcesResult,
  ListResourceTemplatesResult,
  ReadResourceParams,
  ReadResourceResult,
  ResourceUpdatedParams,
  SubscribeParams,
  UnsubscribeParams,
} from './resources.ts'
import type { ListRootsResult } from './roots.ts'
import type { CreateMessageParams, CreateMessageResult } from './sampling.ts'
import type { ListenParams, ListenResult, SubscriptionsAcknowledgedParams } from './subscriptions.ts'
import type {
  CancelTaskParams,
  CoreCancelTaskResult,
  CoreGetTaskResult,
  GetTaskParams,
  GetTaskResult,
  ListTasksResult,
  TaskNotificationParams,
  TaskResultParams,
  TaskStatusParams,
  UpdateTaskParams,
} from './tasks.ts'
import type { CallToolParams, CallToolResult, ListToolsResult } from './tools.ts'

/**
 * Requests a client sends, by method. `result` is the final result: an {@link InputRequiredResult} or a task may come
 * first, which `resultType` or the `task` of the request tells apart.
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
  'tasks/get': { params: GetTaskParams; result: GetTaskResult | CoreGetTaskResult }
  /** Tasks extension. */
  'tasks/update': { params: UpdateTaskParams; result: EmptyResult }
  /** Both dialects. */
  'tasks/cancel': { params: CancelTaskParams; result: EmptyResult | CoreCancelTaskResult }
  /** 2025-11-25 only; the result of the request that became the task. */
  'tasks/result': { params: TaskResultParams; result: Result }
  /** 2025-11-25 only. */
  'tasks/list': { params: PaginatedParams; result: ListTasksResult }
}

/** Requests a server sends, by method. Until 2025-11-25; since then the first three are sent as {@link InputRequest}. */
export interface ServerRequests {
  'sampling/createMessage': { params: CreateMessageParams; result: CreateMessageResult }
  'roots/list': { params: RequestParams; result: ListRootsResult }
  /** Since 2025-06-18. */
  'elicitation/create': { params: ElicitParams; result: ElicitResult }
  ping: { params: RequestParams; result: EmptyResult }
  /** 2025-11-25 only. */
  'tasks/get': { params: GetTaskParams; result: CoreGetTaskResult }
  /** 2025-11-25 only; the result of the request that became the task. */
  'tasks/result': { params: TaskResultParams; result: Result }
  /** 2025-11-25 only. */
  'tasks/cancel': { params: CancelTaskParams; result: CoreCancelTaskResult }
  /** 2025-11-25 only. */
  'tasks/list': { params: PaginatedParams; result: ListTasksResult }
}

/** Notifications a server sends: method to params. */
export interface ServerNotifications {
  /** In 2026-07-28 only to end `subscriptions/listen`. */
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

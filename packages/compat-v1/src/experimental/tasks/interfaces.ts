import type {
  CallToolResult,
  CreateTaskResult,
  GetTaskResult,
  JSONRPCErrorResponse,
  JSONRPCNotification,
  JSONRPCRequest,
  JSONRPCResultResponse,
  Request,
  RequestId,
  Result,
  ServerNotification,
  ServerRequest,
  Task,
  ToolExecution,
} from '../../generated/protocol-types.ts'
import type { RequestHandlerExtra, RequestTaskStore } from '../../shared/protocol.ts'
import type { AnySchema, ShapeOutput, ZodRawShapeCompat } from '../../shared/zod-reading.ts'

/** `extra` of a handler that creates a task. */
export interface CreateTaskRequestHandlerExtra extends RequestHandlerExtra<ServerRequest, ServerNotification> {
  taskStore: RequestTaskStore
}

/** `extra` of a handler that works on a task. */
export interface TaskRequestHandlerExtra extends RequestHandlerExtra<ServerRequest, ServerNotification> {
  taskId: string
  taskStore: RequestTaskStore
}

/** A callback of a tool: with its arguments if it has an input schema. */
export type BaseToolCallback<
  SendResultT extends Result,
  ExtraT extends RequestHandlerExtra<ServerRequest, ServerNotification>,
  Args extends undefined | ZodRawShapeCompat | AnySchema = undefined,
> = Args extends ZodRawShapeCompat
  ? (args: ShapeOutput<Args>, extra: ExtraT) => SendResultT | Promise<SendResultT>
  : Args extends AnySchema
    ? (args: unknown, extra: ExtraT) => SendResultT | Promise<SendResultT>
    : (extra: ExtraT) => SendResultT | Promise<SendResultT>

/** Creates the task of a tool call. */
export type CreateTaskRequestHandler<
  SendResultT extends Result,
  Args extends undefined | ZodRawShapeCompat | AnySchema = undefined,
> = BaseToolCallback<SendResultT, CreateTaskRequestHandlerExtra, Args>

/** Returns the status or the result of a task. */
export type TaskRequestHandler<
  SendResultT extends Result,
  Args extends undefined | ZodRawShapeCompat | AnySchema = undefined,
> = BaseToolCallback<SendResultT, TaskRequestHandlerExtra, Args>

/** The handler of a tool whose calls run as tasks. */
export interface ToolTaskHandler<Args extends undefined | ZodRawShapeCompat | AnySchema = undefined> {
  createTask: CreateTaskRequestHandler<CreateTaskResult, Args>
  getTask: TaskRequestHandler<GetTaskResult, Args>
  getTaskResult: TaskRequestHandler<CallToolResult, Args>
}

/** How a tool with a `ToolTaskHandler` runs. */
export type TaskToolExecution<TaskSupport = ToolExecution['taskSupport']> = Omit<ToolExecution, 'taskSupport'> & {
  taskSupport: TaskSupport extends 'forbidden' | undefined ? never : TaskSupport
}

/** A message that waits for the client to ask for the result of a task. It can be stored as JSON. */
export type QueuedMessage = QueuedRequest | QueuedNotification | QueuedResponse | QueuedError

export interface BaseQueuedMessage {
  type: string
  /** When it was queued, in milliseconds since 1970. */
  timestamp: number
}

export interface QueuedRequest extends BaseQueuedMessage {
  type: 'request'
  message: JSONRPCRequest
}

export interface QueuedNotification extends BaseQueuedMessage {
  type: 'notification'
  message: JSONRPCNotification
}

export interface QueuedResponse extends BaseQueuedMessage {
  type: 'response'
  message: JSONRPCResultResponse
}

export interface QueuedError extends BaseQueuedMessage {
  type: 'error'
  message: JSONRPCErrorResponse
}

/** Keeps the messages of each task in order, in memory or in a store that processes share. */
export interface TaskMessageQueue {
  /**
   * Adds a message at the end.
   * @param maxSize Throws if the queue has this many messages.
   */
  enqueue(taskId: string, message: QueuedMessage, sessionId?: string, maxSize?: number): Promise<void>
  /** Takes the first message; undefined if there is none. */
  dequeue(taskId: string, sessionId?: string): Promise<QueuedMessage | undefined>
  /** Takes all messages, when a task has ended. */
  dequeueAll(taskId: string, sessionId?: string): Promise<QueuedMessage[]>
}

/** Options of a new task. */
export interface CreateTaskOptions {
  /** How long to keep the task, in milliseconds. Null: no limit. */
  ttl?: number | null
  /** How long clients should wait between status requests, in milliseconds. */
  pollInterval?: number
  /** Anything else for the store. */
  context?: Record<string, unknown>
}

/** Stores tasks and their results. */
export interface TaskStore {
  /** Creates a task with a unique id. The store may change the `ttl`. */
  createTask(taskParams: CreateTaskOptions, requestId: RequestId, request: Request, sessionId?: string): Promise<Task>
  /** Returns a task; null if it does not exist. */
  getTask(taskId: string, sessionId?: string): Promise<Task | null>
  /** Stores the result and sets the final status. */
  storeTaskResult(taskId: string, status: 'completed' | 'failed', result: Result, sessionId?: string): Promise<void>
  getTaskResult(taskId: string, sessionId?: string): Promise<Result>
  updateTaskStatus(taskId: string, status: Task['status'], statusMessage?: string, sessionId?: string): Promise<void>
  /** Returns a page of tasks. */
  listTasks(cursor?: string, sessionId?: string): Promise<{ tasks: Task[]; nextCursor?: string }>
}

/** Whether a task with this status has ended. */
export function isTerminal(status: Task['status']): boolean {
  return status === 'completed' || status === 'failed' || status === 'cancelled'
}

import type { ResultObject } from 'tenon'
import { isObject } from 'tenon/internal'
import {
  type CreateTaskOptions,
  isTerminal,
  type QueuedMessage,
  type TaskMessageQueue,
  type TaskStore,
} from '../experimental/tasks/interfaces.ts'
import type {
  CancelTaskResult,
  ClientCapabilities,
  CreateTaskResult,
  GetTaskPayloadRequest,
  GetTaskRequest,
  GetTaskResult,
  JSONRPCErrorResponse,
  JSONRPCNotification,
  JSONRPCRequest,
  JSONRPCResultResponse,
  ListTasksResult,
  Notification,
  Progress,
  RelatedTaskMetadata,
  Request,
  RequestId,
  RequestMeta,
  Result,
  ServerCapabilities,
  Task,
  TaskCreationParams,
} from '../generated/protocol-types.ts'
import type { AuthInfo } from '../server/auth/types.ts'
import type { RequestInfo } from '../types.ts'
import { RELATED_TASK_META_KEY } from './constants.ts'
import {
  type Engine,
  type EngineCall,
  type EngineNotifyOptions,
  type EngineRequestOptions,
  relatedCall,
} from './engine.ts'
import { ErrorCode, McpError } from './errors.ts'
import { createExtra, type ExtraHost, relatedTaskIdOf } from './handler-extra.ts'
import { LinkEngine, methodNotFound, toErrorBody } from './link-engine.ts'
import { isProtocolSchema } from './protocol-schemas.ts'
import type { ResponseMessage } from './responseMessage.ts'
import { cancelTask, getTask, getTaskResult, listTasks, requestTaskStore, type TaskHost } from './task-messages.ts'
import type { Transport, TransportSendOptions } from './transport.ts'
import { uncheckedResult } from './unchecked-result.ts'
import { type AnyObjectSchema, type AnySchema, methodOf, type SchemaOutput, safeParse } from './zod-reading.ts'

/** Called with each progress notification of a request. */
export type ProgressCallback = (progress: Progress) => void

/** Options of a `Protocol`. */
export type ProtocolOptions = {
  /** Refuse to send requests that the other side did not declare a capability for. Default false. */
  enforceStrictCapabilities?: boolean
  /** Methods of notifications that are sent once if they are sent several times in the same tick. */
  debouncedNotificationMethods?: string[]
  /** Stores tasks. With it, task requests of the other side are served. */
  taskStore?: TaskStore
  /** Keeps messages of tasks until the other side asks for the result. */
  taskMessageQueue?: TaskMessageQueue
  /** How long to wait between looks at a task that names no interval, in milliseconds. Default 1000. */
  defaultTaskPollInterval?: number
  /** How many messages of one task may wait. Default: no limit. */
  maxTaskQueueSize?: number
}

/** How long a request waits for its response by default, in milliseconds. */
export const DEFAULT_REQUEST_TIMEOUT_MSEC = 60_000

/** Options of one request. */
export type RequestOptions = {
  /** Requests progress, and is called with it. For a task it is called until the task ends. */
  onprogress?: ProgressCallback
  /** Cancels the request. */
  signal?: AbortSignal
  /** How long to wait for the response, in milliseconds. Default `DEFAULT_REQUEST_TIMEOUT_MSEC`. */
  timeout?: number
  /** Whether progress starts the timeout again. Default false. */
  resetTimeoutOnProgress?: boolean
  /** How long to wait in total, even with progress, in milliseconds. Default: no limit. */
  maxTotalTimeout?: number
  /** Runs the request as a task. */
  task?: TaskCreationParams
  /** The task that the request belongs to. */
  relatedTask?: RelatedTaskMetadata
} & TransportSendOptions

/** Options of one notification. */
export type NotificationOptions = {
  /** The request that the notification belongs to. */
  relatedRequestId?: RequestId
  /** The task that the notification belongs to. */
  relatedTask?: RelatedTaskMetadata
}

/** Options of a request in a handler, whose task is known. */
export type TaskRequestOptions = Omit<RequestOptions, 'relatedTask'>

/** The task store, bound to one request and its session. */
export interface RequestTaskStore {
  createTask(taskParams: CreateTaskOptions): Promise<Task>
  /** Throws if the task does not exist. */
  getTask(taskId: string): Promise<Task>
  storeTaskResult(taskId: string, status: 'completed' | 'failed', result: Result): Promise<void>
  getTaskResult(taskId: string): Promise<Result>
  updateTaskStatus(taskId: string, status: Task['status'], statusMessage?: string): Promise<void>
  listTasks(cursor?: string): Promise<{ tasks: Task[]; nextCursor?: string }>
}

/** What a handler gets besides its request. */
export type RequestHandlerExtra<SendRequestT extends Request, SendNotificationT extends Notification> = {
  /** Aborts when the sender cancels the request or the connection closes. */
  signal: AbortSignal
  /** What the access token of the sender says. */
  authInfo?: AuthInfo
  /** The session id of the transport. */
  sessionId?: string
  /** `_meta` of the request. */
  _meta?: RequestMeta
  /** The JSON-RPC id of the request. */
  requestId: RequestId
  /** The task that the request belongs to. */
  taskId?: string
  /** The task store, if the program has one. */
  taskStore?: RequestTaskStore
  /** How long the sender wants the task of this request to be kept, in milliseconds. */
  taskRequestedTtl?: number
  /** The HTTP request. */
  requestInfo?: RequestInfo
  /** Sends a notification that belongs to this request. */
  sendNotification: (notification: SendNotificationT) => Promise<void>
  /** Sends a request that belongs to this one. */
  sendRequest: <U extends AnySchema>(
    request: SendRequestT,
    resultSchema: U,
    options?: TaskRequestOptions,
  ) => Promise<SchemaOutput<U>>
  /** Closes the stream of this request; the client reconnects to it. Only with an event store. */
  closeSSEStream?: () => void
  /** Closes the stream that belongs to no request; the client reconnects to it. Only with an event store. */
  closeStandaloneSSEStream?: () => void
}

type HandlerOf<SendRequestT extends Request, SendNotificationT extends Notification, SendResultT extends Result> = (
  request: JSONRPCRequest,
  extra: RequestHandlerExtra<SendRequestT, SendNotificationT>,
) => Promise<SendResultT>

/**
 * Requests, responses and notifications over a transport. The messages themselves are carried by an engine; this class has the
 * handlers and the call shapes of SDK 1.x.
 */
export abstract class Protocol<
  SendRequestT extends Request,
  SendNotificationT extends Notification,
  SendResultT extends Result,
> {
  private _transport?: Transport | undefined
  private readonly _options: ProtocolOptions | undefined
  private readonly _requestHandlers: Map<string, HandlerOf<SendRequestT, SendNotificationT, SendResultT>> = new Map()
  private readonly _notificationHandlers: Map<string, (notification: JSONRPCNotification) => Promise<void>> = new Map()
  private readonly _taskStore: TaskStore | undefined
  private readonly _taskMessageQueue: TaskMessageQueue | undefined
  private readonly _tenonEngine: Engine
  /** Set by `connect`, from the object that it is called on: a program may have wrapped this one. */
  private _tenonExtraHost: ExtraHost | undefined
  private readonly _tenonDebounced = new Set<string>()
  /** Progress callbacks of requests that became tasks, by progress token, and the tokens by task. */
  private readonly _tenonTaskProgress = new Map<unknown, ProgressCallback>()
  private readonly _tenonTaskTokens = new Map<string, number>()
  /** Requests that wait in the queue of a task, and what rejects them. */
  private readonly _tenonQueued = new Map<RequestId, (error: unknown) => void>()

  /** Called when the connection has closed, also by `close`. */
  onclose?: () => void
  /** Called with errors that end neither a request nor the connection. */
  onerror?: (error: Error) => void
  /** Handles requests that have no handler. */
  fallbackRequestHandler?: (
    request: JSONRPCRequest,
    extra: RequestHandlerExtra<SendRequestT, SendNotificationT>,
  ) => Promise<SendResultT>
  /** Handles notifications that have no handler. */
  fallbackNotificationHandler?: (notification: Notification) => Promise<void>

  /** @param engine Carries the messages. Default: a bare JSON-RPC link. */
  constructor(options?: ProtocolOptions, engine: Engine = new LinkEngine()) {
    this._options = options
    this._taskStore = options?.taskStore
    this._taskMessageQueue = options?.taskMessageQueue
    this._tenonEngine = engine
    this._tenonSetHandler('ping', () => ({}) as SendResultT)
    if (this._taskStore) this._tenonSetTaskHandlers(this._taskStore)
  }

  /** Starts a transport and receives its messages. The transport belongs to this object from now on. */
  async connect(transport: Transport): Promise<void> {
    if (this._transport) {
      throw new Error(
        'Already connected to a transport. Call close() before connecting to a new transport, or use a separate Protocol instance per connection.',
      )
    }
    this._transport = transport
    this._tenonExtraHost = this._tenonCreateExtraHost()
    await this._tenonEngine.connect(transport, {
      request: (request, call) => this._tenonServe(request, call),
      notification: (notification) => this._tenonNotified(notification),
      closed: () => {
        if (this._transport === transport) this._tenonClosed()
      },
      error: (error) => this.onerror?.(error),
    })
  }

  private _tenonCreateExtraHost(): ExtraHost {
    return {
      request: (request, schema, options) => this.request(request as SendRequestT, schema, options),
      notification: (notification, options) => this.notification(notification as SendNotificationT, options),
      taskStoreFor: (request, sessionId) => this._tenonTaskStoreFor(request, sessionId),
    }
  }

  /** The connected transport. */
  get transport(): Transport | undefined {
    return this._transport
  }

  /** Closes the connection. */
  async close(): Promise<void> {
    if (this._transport) await this._tenonEngine.close()
  }

  /** Throws if the other side did not declare the capability that a request needs. */
  protected abstract assertCapabilityForMethod(method: SendRequestT['method']): void

  /** Throws if this side did not declare the capability that a notification needs. */
  protected abstract assertNotificationCapability(method: SendNotificationT['method']): void

  /** Throws if this side did not declare the capability that a request handler needs. */
  protected abstract assertRequestHandlerCapability(method: string): void

  /** Throws if the other side cannot run a request as a task. */
  protected abstract assertTaskCapability(method: string): void

  /** Throws if this side cannot run a request as a task. */
  protected abstract assertTaskHandlerCapability(method: string): void

  /** Sends a request and resolves with its checked result. */
  request<T extends AnySchema>(
    request: SendRequestT,
    resultSchema: T,
    options?: RequestOptions,
  ): Promise<SchemaOutput<T>> {
    return this._request(request, resultSchema, options) as Promise<SchemaOutput<T>>
  }

  private async _request(
    request: SendRequestT,
    resultSchema: AnySchema | undefined,
    options: RequestOptions | undefined,
  ): Promise<unknown> {
    if (!this._transport) throw new Error('Not connected')
    if (this._options?.enforceStrictCapabilities === true) {
      this.assertCapabilityForMethod(request.method)
      if (options?.task) this.assertTaskCapability(request.method)
    }
    options?.signal?.throwIfAborted()
    const params = withTask(request.params, options)
    const result = await this._tenonSend(request.method, params, options)
    if (resultSchema === undefined || (this._tenonEngine.checksResults && isProtocolSchema(resultSchema))) return result
    const parsed = safeParse(resultSchema, result)
    if (!parsed.success) throw parsed.error
    return parsed.data
  }

  private async _tenonSend(
    method: string,
    params: object | undefined,
    options: RequestOptions = {},
  ): Promise<ResultObject> {
    const { onprogress, relatedTask } = options
    let token: number | undefined
    const engineOptions: EngineRequestOptions = {
      signal: options.signal,
      timeout: options.timeout ?? DEFAULT_REQUEST_TIMEOUT_MSEC,
      maxTotalTimeout: options.maxTotalTimeout,
      resetTimeoutOnProgress: options.resetTimeoutOnProgress,
      onprogress: onprogress as EngineRequestOptions['onprogress'],
      onSent: (id) => {
        token = id
      },
      ...transportOptionsOf(options),
    }
    const result = relatedTask
      ? await this._tenonSendInTask(method, params, engineOptions, relatedTask.taskId)
      : await this._tenonEngine.request(method, params, engineOptions)
    if (onprogress && token !== undefined) this._tenonKeepProgress(result, token, onprogress)
    return result
  }

  /** Puts a request into the queue of its task. It is sent when the other side asks for the result of the task. */
  private _tenonSendInTask(
    method: string,
    params: object | undefined,
    options: EngineRequestOptions,
    taskId: string,
  ): Promise<ResultObject> {
    return new Promise((resolve, reject) => {
      const enqueue = (message: JSONRPCRequest) => {
        this._tenonQueued.set(message.id, reject)
        this._enqueueTaskMessage(taskId, { type: 'request', message, timestamp: Date.now() }).catch(reject)
      }
      this._tenonEngine.request(method, params, { ...options, enqueue }).then(resolve, reject)
    })
  }

  /** Progress of a task continues after the response that created it. */
  private _tenonKeepProgress({ task }: ResultObject, token: number, onprogress: ProgressCallback): void {
    const { taskId } = (task ?? {}) as Partial<Task>
    if (typeof taskId !== 'string') return
    this._tenonTaskTokens.set(taskId, token)
    this._tenonTaskProgress.set(token, onprogress)
  }

  /** Sends a request as a task, and yields its status until it ends with a result or an error. */
  protected async *requestStream<T extends AnySchema>(
    request: SendRequestT,
    resultSchema: T,
    options?: RequestOptions,
  ): AsyncGenerator<ResponseMessage<SchemaOutput<T> & Result>, void, void> {
    type Output = SchemaOutput<T> & Result
    try {
      if (!options?.task) {
        yield { type: 'result', result: (await this.request(request, resultSchema, options)) as Output }
        return
      }
      const created = await this.request(request, uncheckedResult, options)
      const { task } = created as Partial<CreateTaskResult>
      if (!task) throw new McpError(ErrorCode.InternalError, 'Task creation did not return a task')
      yield { type: 'taskCreated', task }
      yield* this._tenonFollowTask<Output>(task.taskId, resultSchema, options)
    } catch (error) {
      yield {
        type: 'error',
        error: error instanceof McpError ? error : new McpError(ErrorCode.InternalError, String(error)),
      }
    }
  }

  private async *_tenonFollowTask<Output extends Result>(
    taskId: string,
    resultSchema: AnySchema,
    options: RequestOptions,
  ): AsyncGenerator<ResponseMessage<Output>, void, void> {
    for (;;) {
      const task = await this.getTask({ taskId }, options)
      yield { type: 'taskStatus', task }
      if (task.status === 'failed') throw new McpError(ErrorCode.InternalError, `Task ${taskId} failed`)
      if (task.status === 'cancelled') throw new McpError(ErrorCode.InternalError, `Task ${taskId} was cancelled`)
      // The other side has questions, which it sends while it is asked for the result.
      if (task.status === 'completed' || task.status === 'input_required') {
        yield { type: 'result', result: (await this.getTaskResult({ taskId }, resultSchema, options)) as Output }
        return
      }
      const interval = task.pollInterval ?? this._options?.defaultTaskPollInterval ?? 1_000
      await new Promise((resolve) => setTimeout(resolve, interval))
      options.signal?.throwIfAborted()
    }
  }

  /** Returns the status of a task. */
  protected async getTask(params: GetTaskRequest['params'], options?: RequestOptions): Promise<GetTaskResult> {
    return this._tenonTaskRequest('tasks/get', params, options)
  }

  /** Returns the result of a task, when it has ended. */
  protected async getTaskResult<T extends AnySchema>(
    params: GetTaskPayloadRequest['params'],
    resultSchema: T,
    options?: RequestOptions,
  ): Promise<SchemaOutput<T>> {
    return this.request({ method: 'tasks/result', params } as unknown as SendRequestT, resultSchema, options)
  }

  /** Returns a page of tasks. */
  protected async listTasks(params?: { cursor?: string }, options?: RequestOptions): Promise<ListTasksResult> {
    return this._tenonTaskRequest('tasks/list', params, options)
  }

  /** Cancels a task. */
  protected async cancelTask(params: { taskId: string }, options?: RequestOptions): Promise<CancelTaskResult> {
    return this._tenonTaskRequest('tasks/cancel', params, options)
  }

  private _tenonTaskRequest<R>(
    method: string,
    params: object | undefined,
    options: RequestOptions | undefined,
  ): Promise<R> {
    const request = { method, params } as unknown as SendRequestT
    return this.request(request, uncheckedResult, options) as Promise<R>
  }

  /** Sends a notification. */
  async notification(notification: SendNotificationT, options?: NotificationOptions): Promise<void> {
    if (!this._transport) throw new Error('Not connected')
    this.assertNotificationCapability(notification.method)
    const { method, params } = notification
    const taskId = options?.relatedTask?.taskId
    if (taskId) {
      const message = { jsonrpc: '2.0' as const, method, params: withRelatedTask(params, options!.relatedTask!) }
      await this._enqueueTaskMessage(taskId, { type: 'notification', message, timestamp: Date.now() })
    } else if (this._tenonCanDebounce(notification, options)) this._tenonNotifySoon(method, options)
    else await this._tenonEngine.notify(method, params, options as EngineNotifyOptions | undefined)
  }

  private _tenonCanDebounce({ method, params }: Notification, options: NotificationOptions | undefined): boolean {
    const methods = this._options?.debouncedNotificationMethods
    return methods?.includes(method) === true && !params && options?.relatedRequestId === undefined
  }

  private _tenonNotifySoon(method: string, options: NotificationOptions | undefined): void {
    if (this._tenonDebounced.has(method)) return
    this._tenonDebounced.add(method)
    queueMicrotask(() => {
      if (!this._tenonDebounced.delete(method) || !this._transport) return
      this._tenonEngine
        .notify(method, undefined, options as EngineNotifyOptions)
        .catch((error) => this.onerror?.(error))
    })
  }

  /** Sets the handler of a request method. Replaces an earlier handler. */
  setRequestHandler<T extends AnyObjectSchema>(
    requestSchema: T,
    handler: (
      request: SchemaOutput<T>,
      extra: RequestHandlerExtra<SendRequestT, SendNotificationT>,
    ) => SendResultT | Promise<SendResultT>,
  ): void {
    const method = methodOf(requestSchema)
    this.assertRequestHandlerCapability(method)
    const isChecked = this._tenonEngine.checksParams && isProtocolSchema(requestSchema)
    this._tenonEngine.setChecked?.(method, isChecked)
    if (isChecked) this._tenonSetHandler(method, handler as never)
    else this._tenonSetCheckedHandler(method, requestSchema, handler as never)
  }

  /** @internal Sets the handler of a method whose params need no check here. */
  _tenonSetHandler(
    method: string,
    handler: (
      request: Request,
      extra: RequestHandlerExtra<SendRequestT, SendNotificationT>,
    ) => SendResultT | Promise<SendResultT>,
  ): void {
    this._requestHandlers.set(method, (request, extra) =>
      toPromise(handler({ method: request.method, params: request.params }, extra)),
    )
  }

  /** @internal The handler of a method. Programs also change the map directly. */
  _tenonHandlerOf(method: string): unknown {
    return this._requestHandlers.get(method)
  }

  private _tenonSetCheckedHandler(
    method: string,
    schema: AnyObjectSchema,
    handler: (
      request: unknown,
      extra: RequestHandlerExtra<SendRequestT, SendNotificationT>,
    ) => SendResultT | Promise<SendResultT>,
  ): void {
    this._requestHandlers.set(method, (request, extra) => {
      const parsed = safeParse(schema, request)
      if (!parsed.success) throw parsed.error
      return toPromise(handler(parsed.data, extra))
    })
  }

  /** Removes the handler of a request method. */
  removeRequestHandler(method: string): void {
    this._requestHandlers.delete(method)
  }

  /** Throws if a request method has a handler. */
  assertCanSetRequestHandler(method: string): void {
    if (!this._requestHandlers.has(method)) return
    throw new Error(`A request handler for ${method} already exists, which would be overridden`)
  }

  /** Sets the handler of a notification method. Replaces an earlier handler. */
  setNotificationHandler<T extends AnyObjectSchema>(
    notificationSchema: T,
    handler: (notification: SchemaOutput<T>) => void | Promise<void>,
  ): void {
    this._notificationHandlers.set(methodOf(notificationSchema), async (notification) => {
      const parsed = safeParse(notificationSchema, notification)
      if (!parsed.success) throw parsed.error
      await handler(parsed.data)
    })
  }

  /** @internal Sets the handler of a notification whose params need no check here. */
  _tenonSetNotificationHandler(method: string, handler: () => void): void {
    this._notificationHandlers.set(method, async () => handler())
  }

  /** Removes the handler of a notification method. */
  removeNotificationHandler(method: string): void {
    this._notificationHandlers.delete(method)
  }

  private _tenonServe(request: JSONRPCRequest, call: EngineCall): Promise<ResultObject> {
    const taskId = relatedTaskIdOf(request)
    if (taskId !== undefined && this._taskMessageQueue) return this._tenonServeInTask(request, call, taskId)
    return this._tenonHandle(request, call)
  }

  private _tenonHandle(request: JSONRPCRequest, call: EngineCall): Promise<SendResultT> {
    const handler = this._requestHandlers.get(request.method) ?? this.fallbackRequestHandler
    if (handler === undefined) throw methodNotFound()
    if (request.params?.task !== undefined) this.assertTaskHandlerCapability(request.method)
    const extra = createExtra(this._tenonExtraHost!, request, call)
    return handler(request, extra as RequestHandlerExtra<SendRequestT, SendNotificationT>)
  }

  /** The response to a request of a task goes into the queue of the task. */
  private async _tenonServeInTask(request: JSONRPCRequest, call: EngineCall, taskId: string): Promise<ResultObject> {
    const { id } = request
    if (call.sessionId !== undefined) await this._tenonRequireTask(taskId, call.sessionId)
    let queued: QueuedMessage
    try {
      const message = { jsonrpc: '2.0', id, result: await this._tenonHandle(request, call) } as JSONRPCResultResponse
      queued = { type: 'response', message, timestamp: Date.now() }
    } catch (error) {
      const message: JSONRPCErrorResponse = { jsonrpc: '2.0', id, error: toErrorBody(error) }
      queued = { type: 'error', message, timestamp: Date.now() }
    }
    try {
      if (!call.cancelled) await this._enqueueTaskMessage(taskId, queued, call.sessionId)
    } catch (error) {
      this.onerror?.(new Error(`Failed to send response: ${error}`))
    }
    call.end()
    return {}
  }

  /** A session can name the tasks of another, which it must not reach. */
  private async _tenonRequireTask(taskId: string, sessionId: string): Promise<void> {
    if (!this._taskStore || (await this._taskStore.getTask(taskId, sessionId))) return
    throw new McpError(ErrorCode.InvalidParams, `Task not found: ${taskId}`)
  }

  private _tenonNotified(notification: JSONRPCNotification): void {
    const { method } = notification
    const handler = this._notificationHandlers.get(method) ?? this.fallbackNotificationHandler
    const isOurs = method === 'notifications/progress' || method === 'notifications/tasks/status'
    if (!handler && !isOurs) return
    Promise.resolve()
      .then(() => {
        if (method === 'notifications/progress') this._tenonProgressed(notification)
        else if (isOurs) this._tenonTaskChanged(notification)
        return handler?.(notification)
      })
      .catch((error) => this.onerror?.(new Error(`Uncaught error in notification handler: ${error}`)))
  }

  /** The progress of requests that wait is handled by the engine. */
  private _tenonProgressed({ params = {} }: JSONRPCNotification): void {
    const { progressToken, ...progress } = params
    if (typeof progress.progress !== 'number') throw new TypeError('params.progress must be a number')
    this._tenonTaskProgress.get(progressToken)?.(progress as unknown as Progress)
  }

  private _tenonTaskChanged({ params = {} }: JSONRPCNotification): void {
    const { taskId, status } = params as Partial<Task>
    if (taskId !== undefined && status !== undefined && isTerminal(status)) this._tenonEndProgress(taskId)
  }

  private _tenonClosed(): void {
    this._transport = undefined
    this._tenonDebounced.clear()
    this._tenonTaskProgress.clear()
    this._tenonTaskTokens.clear()
    this._tenonQueued.clear()
    this.onclose?.()
  }

  private _tenonSetTaskHandlers(store: TaskStore): void {
    const host = this._tenonTaskHost(store)
    const set = (
      method: string,
      handler: (params: { taskId: string; cursor?: string }, extra: never) => Promise<Result>,
    ) =>
      this._tenonSetHandler(
        method,
        ({ params }, extra) => handler((params ?? {}) as never, extra as never) as Promise<SendResultT>,
      )
    set('tasks/get', ({ taskId }, extra) => getTask(host, taskId, extra))
    set('tasks/result', ({ taskId }, extra) => getTaskResult(host, taskId, extra))
    set('tasks/list', ({ cursor }, extra) => listTasks(host, cursor, extra))
    set('tasks/cancel', ({ taskId }, extra) => cancelTask(host, taskId, extra))
  }

  private _tenonTaskHost(store: TaskStore): TaskHost {
    return {
      store,
      queue: this._taskMessageQueue,
      pollInterval: this._options?.defaultTaskPollInterval,
      deliver: (message, relatedRequestId) => this._tenonEngine.send(message, { relatedRequestId }),
      receive: (message) => this._tenonEngine.receive(message),
      notify: (notification) => this.notification(notification as SendNotificationT),
      dropped: (messages) => this._tenonDropped(messages),
      ended: (taskId) => this._tenonEndProgress(taskId),
    }
  }

  private _tenonTaskStoreFor(request: JSONRPCRequest, sessionId: string | undefined): RequestTaskStore | undefined {
    return this._taskStore && requestTaskStore(this._tenonTaskHost(this._taskStore), request, sessionId)
  }

  private _tenonEndProgress(taskId: string): void {
    this._tenonTaskProgress.delete(this._tenonTaskTokens.get(taskId))
    this._tenonTaskTokens.delete(taskId)
  }

  private _tenonDropped(messages: readonly QueuedMessage[]): void {
    for (const { type, message } of messages) {
      if (type !== 'request') continue
      this._tenonQueued.get(message.id)?.(new McpError(ErrorCode.InternalError, 'Task cancelled or completed'))
      this._tenonQueued.delete(message.id)
    }
  }

  private async _enqueueTaskMessage(taskId: string, message: QueuedMessage, sessionId?: string): Promise<void> {
    if (!this._taskStore || !this._taskMessageQueue) {
      throw new Error('Cannot enqueue task message: taskStore and taskMessageQueue are not configured')
    }
    const session = sessionId ?? this._transport?.sessionId
    await this._taskMessageQueue.enqueue(taskId, message, session, this._options?.maxTaskQueueSize)
  }
}

/** The options that transports and engines know. */
function transportOptionsOf(options: RequestOptions): EngineNotifyOptions {
  const { relatedRequestId, resumptionToken, onresumptiontoken } = options
  return {
    relatedRequestId,
    resumptionToken,
    onresumptiontoken,
    [relatedCall]: (options as EngineNotifyOptions)[relatedCall],
  } as EngineNotifyOptions
}

/** Adds what says that a request runs as a task, or belongs to one. */
function withTask(params: object | undefined, options: RequestOptions | undefined): object | undefined {
  if (!options?.task && !options?.relatedTask) return params
  const { task, relatedTask } = options
  const withCreation = task ? { ...params, task } : params
  return relatedTask ? withRelatedTask(withCreation, relatedTask) : withCreation
}

function withRelatedTask(params: { _meta?: RequestMeta | undefined } = {}, relatedTask: RelatedTaskMetadata) {
  return { ...params, _meta: { ...params._meta, [RELATED_TASK_META_KEY]: relatedTask } }
}

function toPromise<T>(value: T | Promise<T>): Promise<T> {
  return value instanceof Promise ? value : Promise.resolve(value)
}

/** Joins capabilities: members that both have are merged. */
export function mergeCapabilities(base: ServerCapabilities, additional: Partial<ServerCapabilities>): ServerCapabilities
export function mergeCapabilities(base: ClientCapabilities, additional: Partial<ClientCapabilities>): ClientCapabilities
export function mergeCapabilities(base: object, additional: object): object {
  const merged: Record<string, unknown> = { ...base }
  for (const [name, value] of Object.entries(additional)) {
    if (value === undefined) continue
    const before = merged[name]
    merged[name] = isObject(before) && isObject(value) ? { ...before, ...value } : value
  }
  return merged
}

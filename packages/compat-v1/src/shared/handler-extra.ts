import type { Notification, Request, RequestId, RequestMeta } from '../generated/protocol-types.ts'
import type { AuthInfo } from '../server/auth/types.ts'
import type { JSONRPCRequest, RequestInfo } from '../types.ts'
import { RELATED_TASK_META_KEY } from './constants.ts'
import { type EngineCall, relatedCall } from './engine.ts'
import { ErrorCode, McpError } from './errors.ts'
import type {
  NotificationOptions,
  RequestHandlerExtra,
  RequestOptions,
  RequestTaskStore,
  TaskRequestOptions,
} from './protocol.ts'
import type { AnySchema } from './zod-reading.ts'

/** The `Protocol` of a handler, as far as `extra` needs it. */
export interface ExtraHost {
  request(request: Request, schema: AnySchema, options: RequestOptions): Promise<unknown>
  notification(notification: Notification, options: NotificationOptions): Promise<void>
  /** Undefined if the program has no task store. */
  taskStoreFor(request: JSONRPCRequest, sessionId: string | undefined): RequestTaskStore | undefined
}

/**
 * Creates the `extra` of a handler. Its members are made when they are read, because most handlers read few of them. The
 * proxy makes them own members, so that programs can spread it: `{ ...extra, user }`.
 */
export function createExtra(
  host: ExtraHost,
  request: JSONRPCRequest,
  call: EngineCall,
): RequestHandlerExtra<Request, Notification> {
  return new Proxy(new ExtraMembers(host, request, call), ownMembers) as unknown as RequestHandlerExtra<
    Request,
    Notification
  >
}

/** The id of the task that a message belongs to. */
export function relatedTaskIdOf(message: {
  params?: { _meta?: RequestMeta | undefined } | undefined
}): string | undefined {
  const meta = message.params?._meta
  return meta === undefined ? undefined : meta[RELATED_TASK_META_KEY]?.taskId
}

const members = [
  'signal',
  'sessionId',
  '_meta',
  'sendNotification',
  'sendRequest',
  'authInfo',
  'requestId',
  'requestInfo',
  'taskId',
  'taskStore',
  'taskRequestedTtl',
  'closeSSEStream',
  'closeStandaloneSSEStream',
] as const

const memberNames: ReadonlySet<PropertyKey> = new Set(members)

const ownMembers: ProxyHandler<ExtraMembers> = {
  get: (target, key) => Reflect.get(target, key, target),
  set: (target, key, value) => Reflect.defineProperty(target, key, { value, ...plain }),
  has: (target, key) => memberNames.has(key) || Reflect.has(target, key),
  ownKeys: (target) => [...new Set<string | symbol>([...members, ...Reflect.ownKeys(target)])],
  getOwnPropertyDescriptor: (target, key) =>
    memberNames.has(key)
      ? { value: Reflect.get(target, key, target), ...plain }
      : Reflect.getOwnPropertyDescriptor(target, key),
}

const plain = { writable: true, enumerable: true, configurable: true } as const

class ExtraMembers {
  private readonly _host: ExtraHost
  private readonly _request: JSONRPCRequest
  private readonly _call: EngineCall
  private _taskStore: RequestTaskStore | undefined

  constructor(host: ExtraHost, request: JSONRPCRequest, call: EngineCall) {
    this._host = host
    this._request = request
    this._call = call
  }

  get signal(): AbortSignal {
    return this._call.signal
  }

  get sessionId(): string | undefined {
    return this._call.sessionId
  }

  get _meta(): RequestMeta | undefined {
    return this._request.params?._meta
  }

  get requestId(): RequestId {
    return this._request.id
  }

  get authInfo(): AuthInfo | undefined {
    return this._call.authInfo
  }

  get requestInfo(): RequestInfo | undefined {
    return this._call.requestInfo
  }

  get taskId(): string | undefined {
    return relatedTaskIdOf(this._request)
  }

  get taskStore(): RequestTaskStore | undefined {
    this._taskStore ??= this._host.taskStoreFor(this._request, this._call.sessionId)
    return this._taskStore
  }

  get taskRequestedTtl(): number | undefined {
    return (this._request.params?.task as { ttl?: number } | undefined)?.ttl
  }

  get closeSSEStream(): (() => void) | undefined {
    return this._call.closeSSEStream
  }

  get closeStandaloneSSEStream(): (() => void) | undefined {
    return this._call.closeStandaloneSSEStream
  }

  get sendNotification(): (notification: Notification) => Promise<void> {
    return (notification) => this._notify(notification)
  }

  get sendRequest(): (request: Request, schema: AnySchema, options?: TaskRequestOptions) => Promise<unknown> {
    return (request, schema, options) => this._ask(request, schema, options)
  }

  private async _notify(notification: Notification): Promise<void> {
    if (this._call.cancelled) return
    await this._host.notification(notification, this._relation() as NotificationOptions)
  }

  private async _ask(request: Request, schema: AnySchema, options: TaskRequestOptions | undefined): Promise<unknown> {
    if (this._call.cancelled) throw new McpError(ErrorCode.ConnectionClosed, 'Request was cancelled')
    const requestOptions = { ...this._relation(), ...options, relatedRequestId: this.requestId } as RequestOptions
    const taskId = requestOptions.relatedTask?.taskId
    if (taskId) await this.taskStore?.updateTaskStatus(taskId, 'input_required')
    return this._host.request(request, schema, requestOptions)
  }

  /** Names this request, and the task it belongs to. */
  private _relation(): object {
    const { taskId } = this
    return {
      relatedRequestId: this.requestId,
      [relatedCall]: this._call,
      ...(taskId !== undefined && { relatedTask: { taskId } }),
    }
  }
}

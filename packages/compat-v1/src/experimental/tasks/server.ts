import type {
  CancelTaskResult,
  CreateMessageRequestParams,
  CreateMessageResult,
  ElicitRequestFormParams,
  ElicitRequestURLParams,
  ElicitResult,
  GetTaskResult,
  ListTasksResult,
  Notification,
  Request,
  Result,
  ServerRequest,
} from '../../generated/protocol-types.ts'
import { checkSampling } from '../../server/client-answers.ts'
import type { Server } from '../../server/index.ts'
import type { RequestOptions } from '../../shared/protocol.ts'
import type { ResponseMessage } from '../../shared/responseMessage.ts'
import { uncheckedResult } from '../../shared/unchecked-result.ts'
import type { AnySchema, SchemaOutput } from '../../shared/zod-reading.ts'

/** The task methods of `Protocol`, which only subclasses may call. */
interface TaskMethods {
  requestStream(request: object, schema: AnySchema, options?: RequestOptions): AsyncGenerator<never, void, void>
  getTask(params: { taskId: string }, options?: RequestOptions): Promise<GetTaskResult>
  getTaskResult(params: { taskId: string }, schema: AnySchema, options?: RequestOptions): Promise<unknown>
  listTasks(params: { cursor: string } | undefined, options?: RequestOptions): Promise<ListTasksResult>
  cancelTask(params: { taskId: string }, options?: RequestOptions): Promise<CancelTaskResult>
}

/** Requests to the client that run as tasks, and the tasks of the client: `server.experimental.tasks`. */
export class ExperimentalServerTasks<
  RequestT extends Request = Request,
  NotificationT extends Notification = Notification,
  ResultT extends Result = Result,
> {
  private readonly _server: Server<RequestT, NotificationT, ResultT>

  constructor(server: Server<RequestT, NotificationT, ResultT>) {
    this._server = server
  }

  /** Sends a request, and yields the status of its task until it ends with a result or an error. */
  requestStream<T extends AnySchema>(
    request: ServerRequest | RequestT,
    resultSchema: T,
    options?: RequestOptions,
  ): AsyncGenerator<ResponseMessage<SchemaOutput<T> & Result>, void, void> {
    return this._tenonMethods.requestStream(request, resultSchema, options)
  }

  /** Requests a completion from the model of the client, as a task. */
  createMessageStream(
    params: CreateMessageRequestParams,
    options?: RequestOptions,
  ): AsyncGenerator<ResponseMessage<CreateMessageResult>, void, void> {
    checkSampling(params, this._server.getClientCapabilities())
    return this._tenonMethods.requestStream({ method: 'sampling/createMessage', params }, uncheckedResult, options)
  }

  /** Asks the user to fill in a form or to open a URL, as a task. */
  elicitInputStream(
    params: ElicitRequestFormParams | ElicitRequestURLParams,
    options?: RequestOptions,
  ): AsyncGenerator<ResponseMessage<ElicitResult>, void, void> {
    const mode = params.mode ?? 'form'
    if (!this._server.getClientCapabilities()?.elicitation?.[mode]) {
      throw new Error(`Client does not support ${mode} elicitation.`)
    }
    const request = { method: 'elicitation/create', params: params.mode ? params : { ...params, mode } }
    return this._tenonMethods.requestStream(request, uncheckedResult, options)
  }

  /** Returns the status of a task. */
  async getTask(taskId: string, options?: RequestOptions): Promise<GetTaskResult> {
    return this._tenonMethods.getTask({ taskId }, options)
  }

  /** Returns the result of a task, when it has ended. */
  async getTaskResult<T extends AnySchema>(
    taskId: string,
    resultSchema?: T,
    options?: RequestOptions,
  ): Promise<SchemaOutput<T>> {
    return this._tenonMethods.getTaskResult({ taskId }, resultSchema ?? uncheckedResult, options) as Promise<
      SchemaOutput<T>
    >
  }

  /** Returns a page of tasks. */
  async listTasks(cursor?: string, options?: RequestOptions): Promise<ListTasksResult> {
    return this._tenonMethods.listTasks(cursor ? { cursor } : undefined, options)
  }

  /** Cancels a task. */
  async cancelTask(taskId: string, options?: RequestOptions): Promise<CancelTaskResult> {
    return this._tenonMethods.cancelTask({ taskId }, options)
  }

  private get _tenonMethods(): TaskMethods {
    return this._server as unknown as TaskMethods
  }
}

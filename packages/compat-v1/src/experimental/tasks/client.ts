import type { Client } from '../../client/index.ts'
import type {
  CallToolRequest,
  CallToolResult,
  CancelTaskResult,
  ClientRequest,
  GetTaskResult,
  ListTasksResult,
  Notification,
  Request,
  Result,
} from '../../generated/protocol-types.ts'
import type { McpError } from '../../shared/errors.ts'
import type { RequestOptions } from '../../shared/protocol.ts'
import type { ResponseMessage } from '../../shared/responseMessage.ts'
import type { AnyObjectSchema, AnySchema, SchemaOutput } from '../../shared/zod-reading.ts'
import { CallToolResultSchema, type CompatibilityCallToolResultSchema } from '../../types.ts'

type AnyResponse = ResponseMessage<Result>

/** The members of `Client` that only subclasses may use. */
interface ClientMembers {
  requestStream(request: object, schema: AnySchema, options?: RequestOptions): AsyncGenerator<AnyResponse, void, void>
  getTask(params: { taskId: string }, options?: RequestOptions): Promise<GetTaskResult>
  getTaskResult(params: { taskId: string }, schema?: AnySchema, options?: RequestOptions): Promise<unknown>
  listTasks(params?: { cursor: string }, options?: RequestOptions): Promise<ListTasksResult>
  cancelTask(params: { taskId: string }, options?: RequestOptions): Promise<CancelTaskResult>
  _tenonIsToolTask(name: string): boolean
  _tenonToolOutputProblem(name: string, result: CallToolResult): McpError | undefined
}

/** Calls that run as tasks, and the tasks of the server: `client.experimental.tasks`. */
export class ExperimentalClientTasks<
  RequestT extends Request = Request,
  NotificationT extends Notification = Notification,
  ResultT extends Result = Result,
> {
  private readonly _client: Client<RequestT, NotificationT, ResultT>

  constructor(client: Client<RequestT, NotificationT, ResultT>) {
    this._client = client
  }

  /**
   * Calls a tool, as a task if the tool supports that, and yields its status. The last message is the result or an error.
   * Structured content is checked against the output schema of the tool.
   */
  async *callToolStream<T extends typeof CallToolResultSchema | typeof CompatibilityCallToolResultSchema>(
    params: CallToolRequest['params'],
    resultSchema: T = CallToolResultSchema as T,
    options?: RequestOptions,
  ): AsyncGenerator<ResponseMessage<SchemaOutput<T> & Result>, void, void> {
    const client = this._tenonMembers
    const task = options?.task ?? (client._tenonIsToolTask(params.name) ? {} : undefined)
    const sent = task ? { ...options, task } : options
    for await (const message of client.requestStream({ method: 'tools/call', params }, resultSchema, sent)) {
      const problem =
        message.type === 'result' && client._tenonToolOutputProblem(params.name, message.result as CallToolResult)
      if (problem) {
        yield { type: 'error', error: problem }
        return
      }
      yield message as ResponseMessage<SchemaOutput<T> & Result>
    }
  }

  /** Returns the status of a task. */
  async getTask(taskId: string, options?: RequestOptions): Promise<GetTaskResult> {
    return this._tenonMembers.getTask({ taskId }, options)
  }

  /** Returns the result of a task, when it has ended. */
  async getTaskResult<T extends AnyObjectSchema>(
    taskId: string,
    resultSchema?: T,
    options?: RequestOptions,
  ): Promise<SchemaOutput<T>> {
    return this._tenonMembers.getTaskResult({ taskId }, resultSchema, options) as Promise<SchemaOutput<T>>
  }

  /** Returns a page of tasks. */
  async listTasks(cursor?: string, options?: RequestOptions): Promise<ListTasksResult> {
    return this._tenonMembers.listTasks(cursor ? { cursor } : undefined, options)
  }

  /** Cancels a task. */
  async cancelTask(taskId: string, options?: RequestOptions): Promise<CancelTaskResult> {
    return this._tenonMembers.cancelTask({ taskId }, options)
  }

  /** Sends a request, and yields the status of its task until it ends with a result or an error. */
  requestStream<T extends AnyObjectSchema>(
    request: ClientRequest | RequestT,
    resultSchema: T,
    options?: RequestOptions,
  ): AsyncGenerator<ResponseMessage<SchemaOutput<T> & Result>, void, void> {
    return this._tenonMembers.requestStream(request, resultSchema, options) as AsyncGenerator<
      ResponseMessage<SchemaOutput<T> & Result>,
      void,
      void
    >
  }

  private get _tenonMembers(): ClientMembers {
    return this._client as unknown as ClientMembers
  }
}

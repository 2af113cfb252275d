import type { Params, ResultObject, RpcErrorBody, RpcRequest } from '../jsonrpc/message.ts'
import type { RequestOptions } from '../jsonrpc/pending.ts'
import type { ReplyStream, Transport } from '../jsonrpc/transport.ts'

/** A request while it is served: an `Exchange`, or what stands for one while a task runs. */
export interface Call {
  readonly request: RpcRequest
  /** Aborts when nobody wants the result any more. */
  readonly signal: AbortSignal
  /** True once nothing more may be sent for it. */
  readonly ended: boolean
  /** Where it came from, where the transport can tell. */
  readonly stream: Pick<ReplyStream, 'request' | 'disconnect'> | undefined
  readonly link: CallLink
  /** Set while it runs as a task. */
  readonly task?: TaskControl | undefined
  notify(method: string, params?: Params): void
  ask(method: string, params: Params | undefined, options: RequestOptions): Promise<ResultObject>
  refuseLate(method: string): Promise<never>
  fail(error: RpcErrorBody): void
  onEnd(callback: () => void): void
}

/** What a handler may know of, and do with, the connection that brought its call. */
export interface CallLink {
  readonly transport: Pick<Transport, 'sessionId' | 'disconnect' | 'auth' | 'principal' | 'isLocalUser'>
  notify(method: string, params?: Params): void
}

/** What a handler can do with the task that it runs as. */
export interface TaskControl {
  readonly id: string
  /** Says how it stands, for whoever asks. */
  status(message: string): void
  /** Says how far it is. Told as progress where the caller asked for that (2025-11-25), and in words everywhere. */
  progress(progress: number, details?: { total?: number | undefined; message?: string | undefined }): void
}

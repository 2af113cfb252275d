import type { Params, ResultObject, RpcErrorBody, RpcRequest } from '../jsonrpc/message.ts'
import type { SendOptions } from '../jsonrpc/pending.ts'
import type { RequestStream, ServerTransport } from '../protocol/transport.ts'

/** A request that is being served: an `Exchange`, or the call of a task. */
export interface Call {
  readonly request: RpcRequest
  /** Aborts when the result is not needed any more. */
  readonly signal: AbortSignal
  /** True once nothing more can be sent for it. */
  readonly ended: boolean
  /** The HTTP request and its stream; undefined on other transports. */
  readonly stream: Partial<RequestStream> | undefined
  readonly link: CallLink
  /** Set if it runs as a task. */
  readonly task?: TaskControl | undefined
  /** Makes the call a task now, if it is not one yet. Undefined if it cannot become one. */
  becomeTask?(): void
  notify(method: string, params?: Params): void
  /** Sends a request to the client on the stream of this call. */
  ask(method: string, params: Params | undefined, options: SendOptions): Promise<ResultObject>
  /** Rejects a question that comes after the end. */
  refuseLate(method: string): Promise<never>
  /** Ends the call with an error, without waiting for its handler. */
  fail(error: RpcErrorBody): void
  onEnd(callback: () => void): void
}

/** Why the signal of a call aborts if another process continues the call, so that nothing should be undone. */
export class HandedOver extends Error {
  override name = 'HandedOver'
}

/** The part of a connection that handlers can use. */
export interface CallLink {
  readonly transport: Partial<ServerTransport>
  notify(method: string, params?: Params): void
}

/** The task that a call runs as: `ctx.task`. */
export interface TaskControl {
  /** The id that clients use. */
  readonly id: string
  /** Sets the status message of the task. */
  status(message: string): void
  /** Sets the status message to the progress, and sends a progress notification if a 2025-11-25 client requested them. */
  progress(progress: number, details?: { total?: number | undefined; message?: string | undefined }): void
}

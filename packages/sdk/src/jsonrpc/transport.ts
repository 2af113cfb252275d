import type { CloseDetail } from '../errors.ts'
import { isThenable } from '../util/maybe-async.ts'
import type {
  Fault,
  Params,
  Prepared,
  ReceivedKind,
  RequestId,
  RpcErrorBody,
  RpcMessage,
  RpcResponse,
} from './message.ts'
import type { SendOptions } from './pending.ts'

/**
 * The port to any channel that carries JSON-RPC messages both ways. Implement these members to write a transport of your own;
 * the optional traits below and in `protocol/transport.ts` make it faster or more informative.
 */
export interface Transport {
  /** Starts to receive. Called once, after the handlers below are set. */
  start(): Promise<void>
  /** Sends one message, or a batch. May throw or reject if the message cannot be delivered. */
  send(message: RpcMessage | RpcMessage[]): Promise<void> | void
  close(): Promise<void>
  /** Call it with each parsed message, or an array that may be a batch. `kind` saves the receiver from classifying it again. */
  onmessage?: ((message: unknown, stream?: ReplyStream, kind?: ReceivedKind) => void) | undefined
  /** Call it with errors that do not end the connection. */
  onerror?: ((error: Error) => void) | undefined
  /** Call it when the connection has ended. */
  onclose?: ((detail?: CloseDetail) => void) | undefined
}

/** Trait: sends messages that are JSON text already, so that they need not be built as objects first. */
export interface TextSender {
  sendText(text: string): void
}

/** Trait: sends each request on its own, as HTTP does. A rejection fails that request only; responses arrive by `onmessage`. */
export interface RequestSender {
  sendRequest(text: string, request: OutgoingRequest): Promise<void> | void
}

/** Trait: sends several requests as one batch, where a batch is not sent like any other message. */
export interface BatchSender {
  sendBatch(requests: RpcMessage[]): Promise<void>
}

/** Trait: cancels a request by closing its stream. Returns false if the peer has to be notified instead. */
export interface CancelsByClosing {
  cancelRequest(id: number): boolean
}

/** Trait: events beyond messages, errors and the end of the connection. */
export interface TransportEvents {
  /** Call it with input that is not a message: not JSON, not UTF-8, or too long. */
  onfault?: ((fault: Fault, stream?: ReplyStream) => void) | undefined
  /** Call it when messages that belong to no request may have been lost. */
  ongap?: (() => void) | undefined
  /** Call it when the peer sends no more, but can still be answered. */
  onend?: (() => void) | undefined
  /** Call it before waiting for a person. No request times out until the function that it returns is called. */
  onwait?: (() => () => void) | undefined
}

/** A transport with every trait that a link uses; all of them are optional. */
export interface LinkTransport
  extends Transport,
    TransportEvents,
    Partial<TextSender>,
    Partial<RequestSender>,
    Partial<BatchSender>,
    Partial<CancelsByClosing> {}

/** A request that a `RequestSender` sends. */
export interface OutgoingRequest {
  readonly id: number
  readonly method: string
  readonly params: Params | undefined
  /** As the caller of `Link.request` passed them. */
  readonly options: SendOptions | undefined
}

/**
 * Carries everything that belongs to one request of the peer: on HTTP, the response to its POST. Transports with a single
 * channel for all messages have none.
 */
export interface ReplyStream {
  /**
   * Sends a message. Returns false if only the response can be sent.
   * @param error The error in `text`, if it is an error response.
   */
  sendText(text: string, isLast: boolean, error?: RpcErrorBody): boolean
  /** Sends a message as an object, where the transport below takes objects. Used in place of `sendText` if it is there. */
  sendMessage?(message: RpcMessage, isLast: boolean): boolean
  /** Responds with a result that is JSON text already. Returns false to be given the whole response as text instead. */
  sendPrepared?(id: RequestId, result: Prepared): boolean
  /** Explains a `false` of `sendText` and `begin`, for the error message. */
  readonly noStreamReason?: string | undefined
  /** Opens the stream for messages before the response. Returns false if there can be none. */
  begin?(): boolean
  /** Nothing more will be sent, not even a response: the request was cancelled. */
  end(): void
}

/**
 * Whether a program replaced `send` to watch the messages, on the object or by a `Proxy`. It must see every one, so `sendText` is
 * not used then.
 */
export function isWatched(transport: Transport): boolean {
  return Object.hasOwn(transport, 'send') || transport.send !== Object.getPrototypeOf(transport).send
}

/** Whether messages can be sent as text. */
export function sendsText(transport: LinkTransport): transport is LinkTransport & TextSender {
  return transport.sendText !== undefined && !isWatched(transport)
}

/**
 * Sends a message on a stream, or on the transport if there is none. Throws if that fails.
 * @param onFailure Called with a failure that happens later.
 */
export function sendMessage(
  transport: LinkTransport,
  message: RpcMessage | RpcMessage[],
  stream: ReplyStream | undefined,
  onFailure: (error: unknown) => void,
): void {
  if (stream?.sendMessage && !Array.isArray(message)) return void stream.sendMessage(message, isResponse(message))
  if (stream) return void stream.sendText(JSON.stringify(message), isResponse(message), errorOf(message))
  if (sendsText(transport)) return transport.sendText(JSON.stringify(message))
  const sent = transport.send(message)
  if (isThenable(sent)) sent.then(undefined, onFailure)
}

export function errorResponse(id: RequestId | null, code: number, message: string): RpcResponse {
  return { jsonrpc: '2.0', id, error: { code, message } }
}

/** The error of a response. A batch has one only if every member is an invalid request. */
export function errorOf(message: RpcMessage | RpcMessage[]): RpcErrorBody | undefined {
  if (!Array.isArray(message)) return 'error' in message ? message.error : undefined
  const [first] = message
  return first && message.every((member) => errorOf(member)?.code === -32600) ? errorOf(first) : undefined
}

/** Responses are the last message on a stream; notifications and our own requests are not. */
function isResponse(message: RpcMessage | RpcMessage[]): boolean {
  return Array.isArray(message) || !('method' in message)
}

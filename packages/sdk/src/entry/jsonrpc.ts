// JSON-RPC without MCP: one peer, its requests and ours. For programs that speak a protocol of their own over a transport.
export { type CloseDetail, ClosedError, McpError, PeerError, TimeoutError } from '../errors.ts'
export { Exchange } from '../jsonrpc/exchange.ts'
export { type HandlersBefore, handlersOf, Link } from '../jsonrpc/link.ts'
export {
  type Batch,
  type BatchMember,
  classify,
  Fault as TransportFault,
  isRequestId,
  type MessageKind,
  type Params,
  Prepared,
  type ReceivedKind,
  type RequestId,
  type ResultObject,
  type RpcErrorBody,
  type RpcMessage,
  type RpcNotification,
  type RpcRequest,
  type RpcResponse,
} from '../jsonrpc/message.ts'
export type { Progress, RequestOptions, SendOptions } from '../jsonrpc/pending.ts'
export type { Cancellation, ControlMethods, LinkLimits, Receiver } from '../jsonrpc/receiver.ts'
export type {
  CancelsByClosing,
  LinkTransport,
  OutgoingRequest,
  ReplyStream,
  RequestSender,
  TextSender,
  Transport,
  TransportEvents,
} from '../jsonrpc/transport.ts'
export { isWatched } from '../jsonrpc/transport.ts'
export { controlMethods } from '../protocol/control-methods.ts'
export type { JsonObject } from '../util/objects.ts'

export { chooseModel, type ModelChoice } from '../client/choose-model.ts'
export {
  Client,
  type ClientEvents,
  type ClientOptions,
  type ServerDescription,
  type TaskCallOptions,
  type ToolCallRecord,
} from '../client/client.ts'
export { type CompleterOptions, createCompleter } from '../client/completer.ts'
export type { ClientState, SessionRenewed, StateChange, Subscription } from '../client/connection.ts'
export type {
  Asking,
  AskingServer,
  ClientHandlers,
  ElicitOutcome,
  FormQuestion,
  RootList,
  UrlQuestion,
  UrlResult,
} from '../client/handlers.ts'
export type { ListCall, ListPage } from '../client/list-call.ts'
export type { ToolResult } from '../client/results.ts'
export type { ToolCallOptions } from '../client/structured-output.ts'
export type { ClientSideTasksOptions } from '../client/tasks/client-side-tasks.ts'
export type { TaskChange } from '../client/tasks/client-tasks.ts'
export type { TaskHandle } from '../client/tasks/handle.ts'
export type { TaskSnapshot } from '../client/tasks/snapshot.ts'
export { displayName, hintsOf } from '../client/tool-display.ts'
export {
  type Connectable,
  type ConnectOptions,
  type ConnectServerOptions,
  connect,
  type Target,
  type TestIdentity,
} from '../connect/connect.ts'
export {
  CapabilityError,
  ClosedError,
  HttpError,
  type HttpErrorDetail,
  type HttpOutcome,
  isResourceNotFound,
  McpError,
  PeerError,
  ProtocolError,
  RpcCode,
  TimeoutError,
} from '../errors.ts'
export type { PingOptions } from '../jsonrpc/heartbeat.ts'
export type { Cancellation } from '../jsonrpc/link.ts'
export type { Progress, RequestOptions } from '../jsonrpc/pending.ts'
export type { Transport } from '../jsonrpc/transport.ts'
export type { ElicitResult } from '../protocol/elicitation.ts'
export type { RevisionId } from '../protocol/revision.ts'
export type { Root } from '../protocol/roots.ts'
export type { CreateMessageParams, CreateMessageResult } from '../protocol/sampling.ts'
export type { HeadersLike, HttpClientOptions } from '../transport/http/client/config.ts'
export type { FetchInit, FetchLike } from '../transport/http/client/fetch.ts'
export {
  StreamableHTTPClientTransport,
  type StreamableHTTPClientTransportOptions,
} from '../transport/http/client/transport.ts'
export { InMemoryTransport } from '../transport/memory/memory.ts'
export { SSEClientTransport, type SSEClientTransportOptions } from '../transport/sse/client.ts'
export { StdioClientTransport, type StdioServerParameters } from '../transport/stdio/client.ts'
export type { KnownTask, TaskIdStore } from '../util/task-ids.ts'
export { type FetchResourceOptions, fetchResource } from '../web/fetch-resource.ts'
export type { ImageType } from '../web/image.ts'
export { type LoadedIcon, type LoadIconOptions, loadIcon } from '../web/load-icon.ts'

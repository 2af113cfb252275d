export { type Challenge, parseChallenges } from '../auth/client/challenge.ts'
export type { AuthRefusal, AuthRequest, ClientAuth } from '../auth/client/client-auth.ts'
export { Client, type ServerDescription } from '../client/client.ts'
export type { ClientState, SessionRenewed, StateChange } from '../client/connection.ts'
export type { ClientEvents, ToolCallRecord } from '../client/events.ts'
export { type CompleterOptions, createCompleter } from '../client/features/completion.ts'
export type { Subscription } from '../client/features/subscriptions.ts'
export type { TaskCallOptions } from '../client/features/tasks.ts'
export type { StructuredOutput, ToolCallOptions, ToolResult } from '../client/features/tool-result.ts'
export { getDisplayName, hintsOf } from '../client/features/tool-result.ts'
export {
  type IncludedResources,
  type IncludeRule,
  includeResources,
  type SkippedResource,
} from '../client/include-resources.ts'
export { describeFormProblem } from '../client/input/check-form.ts'
export { chooseModel, type ModelChoice } from '../client/input/choose-model.ts'
export type {
  ClientHandlers,
  ElicitFormRequest,
  ElicitFormResult,
  ElicitUrlRequest,
  ElicitUrlResult,
  InputContext,
  RootList,
  ServerIdentity,
} from '../client/input/handlers.ts'
export type { ClientRequestHandler, IncomingRequest } from '../client/input/server-requests.ts'
export type { ListCall, ListPage } from '../client/list-call.ts'
export type { ClientConnectOptions, ClientOptions, ClientRequestOptions } from '../client/options.ts'
export type { BatchRequest } from '../client/requester.ts'
export type { ClientSideTaskEvent, ClientSideTasksOptions } from '../client/tasks/client-side-tasks.ts'
export type { TaskStatusChange } from '../client/tasks/client-tasks.ts'
export type { TaskHandle } from '../client/tasks/handle.ts'
export type { TaskSnapshot } from '../client/tasks/snapshot.ts'
export {
  type Connectable,
  type ConnectOptions,
  type ConnectServerOptions,
  connect,
  type Target,
  type TestIdentity,
} from '../connect/connect.ts'
export type { NegotiationOrder } from '../era/negotiate.ts'
export {
  CapabilityError,
  ClosedError,
  ErrorCode,
  HttpError,
  type HttpErrorDetail,
  type HttpOutcome,
  isResourceNotFound,
  McpError,
  PeerError,
  ProtocolError,
  RevisionError,
  TimeoutError,
} from '../errors.ts'
export type { PingOptions } from '../jsonrpc/heartbeat.ts'
export type { Progress, RequestOptions } from '../jsonrpc/pending.ts'
export type { Cancellation } from '../jsonrpc/receiver.ts'
export type { OutgoingRequest, Transport } from '../jsonrpc/transport.ts'
export type { FetchInit, FetchLike, ReadHeader, ResponseHead } from '../net/send.ts'
export type { ElicitResult } from '../protocol/elicitation.ts'
export { toolHeaders } from '../protocol/mirrored-headers.ts'
export type { RevisionId } from '../protocol/revision.ts'
export type { Root } from '../protocol/roots.ts'
export type { CreateMessageParams, CreateMessageResult } from '../protocol/sampling.ts'
export type {
  HttpPurpose,
  Traceable,
  Traced,
  TracedFault,
  TracedHttp,
  TracedHttpEnd,
  TracedHttpRequest,
  TracedHttpResponse,
  TracedMessage,
  TracedStderr,
  TraceEvent,
  TraceListener,
  Tracer,
  UntimedTraceEvent,
} from '../protocol/trace.ts'
export type {
  CarriesCredentials,
  CarriesHeaders,
  ClientTransport,
  Described,
  HandshakeOnly,
  KeepsOutput,
  ListensQuietly,
  Restartable,
  VersionAware,
} from '../protocol/transport.ts'
export { type TemplateValue, UriTemplate } from '../protocol/uri-template.ts'
export { headerAnnotationProblem } from '../protocol/x-mcp-header.ts'
export type { JsonSchema, JsonSchemaCheck, JsonSchemaCompiler, SchemaIssue } from '../schema/json-schema.ts'
export { compileJsonSchema } from '../schema/json-schema.ts'
export type { KnownTask, TaskIdStore } from '../store/ports.ts'
export type { HeadersLike, HttpClientOptions, ReconnectionScheduler } from '../transport/http/client/config.ts'
export type { ProviderOption } from '../transport/http/client/provider-auth.ts'
export {
  type HttpMessageOptions,
  StreamableHTTPClientTransport,
  type StreamableHTTPClientTransportOptions,
} from '../transport/http/client/transport.ts'
export { InMemoryTransport } from '../transport/memory/memory.ts'
export { SSEClientTransport, type SSEClientTransportOptions } from '../transport/sse/client.ts'
export { StdioClientTransport, type StdioServerParameters } from '../transport/stdio/client.ts'
export type { Backoff } from '../util/backoff.ts'
export type { WebOptions } from '../web/fetch.ts'
export { type FetchResourceOptions, fetchResource } from '../web/fetch-resource.ts'
export type { ImageType } from '../web/image.ts'
export { type LoadedIcon, type LoadIconOptions, loadIcon } from '../web/load-icon.ts'

export type { AuthInfo, AuthOptions } from '../auth/resource/options.ts'
export type { QuestionTaskChange } from '../era/handshake/client-task.ts'
export {
  CapabilityError,
  ErrorCode,
  McpError,
  ProtocolError,
  type RequiredUrl,
  Suspended,
  UrlElicitationRequiredError,
} from '../errors.ts'
export type { Exchange } from '../jsonrpc/exchange.ts'
export type { PingOptions } from '../jsonrpc/heartbeat.ts'
export type { HandlersBefore, Link } from '../jsonrpc/link.ts'
export type {
  Batch,
  BatchMember,
  Fault as TransportFault,
  MessageKind,
  Prepared,
  ReceivedKind,
} from '../jsonrpc/message.ts'
export type { SendOptions } from '../jsonrpc/pending.ts'
export type { Cancellation, ControlMethods, LinkLimits, Receiver } from '../jsonrpc/receiver.ts'
export type {
  BatchSender,
  CancelsByClosing,
  LinkTransport,
  ReplyStream,
  RequestSender,
  TextSender,
  Transport,
  TransportEvents,
} from '../jsonrpc/transport.ts'
export type { Caller } from '../protocol/caller.ts'
export type { HttpRequest } from '../protocol/http-request.ts'
export type { InputRequest } from '../protocol/input.ts'
export type { Askable } from '../protocol/input-check.ts'
export {
  findMirroredArguments,
  type HeaderReader,
  type MirroredArgument,
  mirroredArgumentsProblem,
} from '../protocol/mirrored-headers.ts'
export type { Revision, RevisionId } from '../protocol/revision.ts'
export type { Root } from '../protocol/roots.ts'
export type { CreateMessageParams, CreateMessageResult } from '../protocol/sampling.ts'
export { toForm } from '../protocol/to-form.ts'
export type {
  CarriesManyPeers,
  DiesSilently,
  Disconnectable,
  HasIdentity,
  HasSession,
  LocalUser,
  MessageHandler,
  RequestStream,
  ServerTransport,
} from '../protocol/transport.ts'
export { type TemplateValue, UriTemplate } from '../protocol/uri-template.ts'
export { headerAnnotationProblem } from '../protocol/x-mcp-header.ts'
export type { AskOptions } from '../replay/conversation.ts'
export type { UsedStates } from '../replay/used-states.ts'
export type {
  CompileOptions,
  JsonSchema,
  JsonSchemaCheck,
  JsonSchemaCompiler,
  SchemaIssue,
} from '../schema/json-schema.ts'
export { compileJsonSchema, SchemaError } from '../schema/json-schema.ts'
export { type RemoteRefOptions, resolveRemoteRefs } from '../schema/remote-refs.ts'
export type {
  InferInput,
  InferOutput,
  SchemaLike,
  SchemaShape,
  StandardIssue,
  StandardResult,
  StandardSchema,
} from '../schema/standard.ts'
export {
  createValidator,
  type Direction,
  toJsonSchema,
  type Validate,
} from '../schema/user-schema.ts'
export { type ServeHttpOptions, type ServingHttp, serveHttp } from '../serve/http.ts'
export { createMcpHandler, type McpHandler } from '../serve/http-handler.ts'
export type { HttpInspector } from '../serve/http-inspector.ts'
export { type ServeStdioOptions, serveStdio } from '../serve/stdio.ts'
export { type ServeTasksOptions, serveTasks, type TaskWorker } from '../serve/tasks.ts'
export type { CallRate, ServerLimits } from '../server/call-limits.ts'
export type { Ability, Context } from '../server/context.ts'
export type { Middleware, MiddlewareRequest } from '../server/dispatch.ts'
export {
  type ElicitationLinks,
  type ElicitationLinksOptions,
  elicitationLinks,
  type PageUser,
} from '../server/elicitation-links.ts'
export {
  type Completer,
  type CompleterLike,
  type CompletionContext,
  completable,
  type SuggestionPage,
  type Suggestions,
} from '../server/features/completion.ts'
export type { AccessOptions, Awaitable, InputRequired } from '../server/features/feature.ts'
export type {
  PromptChanges,
  PromptConfig,
  PromptHandler,
  PromptOutput,
  PromptReturn,
  RegisteredPrompt,
} from '../server/features/prompts.ts'
export type { Registered, Updatable } from '../server/features/registry.ts'
export {
  type ListedResources,
  type ReaderFor,
  type ReadOutput,
  type ReadResource,
  type ReadReturn,
  type ReadTemplate,
  type RegisteredFor,
  type RegisteredResource,
  type RegisteredResourceTemplate,
  type ResourceChanges,
  type ResourceConfig,
  ResourceTemplate,
  type TemplateChanges,
  type TemplateOptions,
  type TemplateVariables,
  type VariablesOf,
} from '../server/features/resource-entry.ts'
export type {
  RegisteredTool,
  ToolChanges,
  ToolConfig,
  ToolHandler,
  ToolOutput,
  ToolReturn,
  WithoutTypos,
} from '../server/features/tool-entry.ts'
export type { ElicitAnswer, SampledMessage, UrlAnswer, UrlOptions } from '../server/input.ts'
export {
  acceptedContent,
  type InputRequiredSpec,
  inputRequired,
  inputResponse,
  type Responses,
} from '../server/input-required.ts'
export type { Log, LogFilter, LogMethod } from '../server/log.ts'
export { McpServer, type McpServerOptions } from '../server/mcp-server.ts'
export type { QuestionOptions, Sanitize, SanitizeOptions, ServerOptions } from '../server/options.ts'
export {
  type FallbackNotificationHandler,
  type NotificationHandler,
  type NotificationSource,
  type RequestHandlerOptions,
  Server,
} from '../server/server.ts'
export type { StateKey } from '../server/state-handles.ts'
export { processStateKey, type StateHandles, type StateHandlesOptions, stateHandles } from '../server/state-handles.ts'
export { ToolError, type ToolErrorOptions } from '../server/tool-error.ts'
export { isWithinRoots } from '../server/within-roots.ts'
export { MemoryBus, type MemoryBusOptions } from '../store/memory/bus.ts'
export { MemoryEventStore, type MemoryEventStoreOptions } from '../store/memory/events.ts'
export { MemorySessionStore, type MemorySessionStoreOptions } from '../store/memory/sessions.ts'
export {
  type Bus,
  type EventReceiver,
  type EventStore,
  type SessionRecord,
  type SessionStore,
  UnknownEventError,
} from '../store/ports.ts'
export {
  StreamableHTTPServerTransport,
  type StreamableHTTPServerTransportOptions,
} from '../transport/http/server/classic/transport.ts'
export type { CorsOptions, GuardOptions, RateLimitOptions } from '../transport/http/server/guard.ts'
export type { HttpMetrics } from '../transport/http/server/handler.ts'
export type { IncomingLimits } from '../transport/http/server/incoming-bodies.ts'
export type { HttpOptions, SsePaths } from '../transport/http/server/options.ts'
export { type PostProblem, statelessPostProblem } from '../transport/http/server/parsed-post.ts'
export type { RawEventStore, RawHttpOptions, RawSendOptions } from '../transport/http/server/raw/options.ts'
export { RawHttpTransport } from '../transport/http/server/raw/transport.ts'
export type { SessionLimits, SessionMetrics } from '../transport/http/server/sessions/session-table.ts'
export type { StreamLimits } from '../transport/http/server/streams/open-streams.ts'
export type { UnsentOutputLimits } from '../transport/http/server/unsent-output.ts'
export type { FetchExtras, FrameworkContext } from '../transport/http/server/web.ts'
export { InMemoryTransport } from '../transport/memory/memory.ts'
export { SSEServerTransport, type SSEServerTransportOptions } from '../transport/sse/server.ts'
export { type Source, type StdioServerOptions, StdioServerTransport } from '../transport/stdio/server.ts'
export type { Sink } from '../transport/stdio/writer.ts'
export { sanitizeText } from '../util/sanitize.ts'
export type { Secret } from '../util/sealer.ts'

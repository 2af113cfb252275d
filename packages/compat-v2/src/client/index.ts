// The API of @modelcontextprotocol/client 2.x.
export { checkResourceAllowed, resourceUrlFromServerUrl } from '@tenon/compat-v1/shared/auth-utils.js'
export { isJsonContentType } from '@tenon/compat-v1/shared/mediaType.js'
export { getDisplayName } from '@tenon/compat-v1/shared/metadataUtils.js'
export { deserializeMessage, ReadBuffer, serializeMessage } from '@tenon/compat-v1/shared/stdio.js'
export { UriTemplate, type Variables } from '@tenon/compat-v1/shared/uriTemplate.js'
export {
  BAGGAGE_META_KEY,
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  DEFAULT_NEGOTIATED_PROTOCOL_VERSION,
  DEFAULT_REQUEST_TIMEOUT_MSEC,
  INTERNAL_ERROR,
  INVALID_PARAMS,
  INVALID_REQUEST,
  JSONRPC_VERSION,
  LATEST_PROTOCOL_VERSION,
  LOG_LEVEL_META_KEY,
  METHOD_NOT_FOUND,
  PARSE_ERROR,
  PROTOCOL_VERSION_META_KEY,
  RELATED_TASK_META_KEY,
  SERVER_INFO_META_KEY,
  STDIO_DEFAULT_MAX_BUFFER_SIZE,
  SUBSCRIPTION_ID_META_KEY,
  SUPPORTED_PROTOCOL_VERSIONS,
  TRACEPARENT_META_KEY,
  TRACESTATE_META_KEY,
} from '../core/constants.ts'
export type {
  BaseContext,
  ClientContext,
  NotificationOptions,
  ProgressCallback,
  ProtocolOptions,
  RequestOptions,
  RequestStateAccessor,
  ServerContext,
} from '../core/context.ts'
export {
  MissingRequiredClientCapabilityError,
  OAuthError,
  OAuthErrorCode,
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  type SdkHttpErrorData,
  UnsupportedProtocolVersionError,
  UrlElicitationRequiredError,
} from '../core/errors.ts'
export {
  assertCompleteRequestPrompt,
  assertCompleteRequestResourceTemplate,
  isCallToolResult,
  isInitializedNotification,
  isInitializeRequest,
  isInputRequiredResult,
  isJSONRPCErrorResponse,
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResponse,
  isJSONRPCResultResponse,
  isTaskAugmentedRequestParams,
  parseJSONRPCMessage,
} from '../core/guards.ts'
export { InMemoryTransport } from '../core/in-memory.ts'
export {
  fromJsonSchema,
  type JsonSchemaType,
  type JsonSchemaValidator,
  type JsonSchemaValidatorResult,
  type jsonSchemaValidator,
} from '../core/json-schema.ts'
export { isSpecType, preloadSchemas, type SpecTypeName, type SpecTypes, specTypeSchemas } from '../core/spec-types.ts'
export type { StandardSchemaV1, StandardSchemaV1Sync, StandardSchemaWithJSON } from '../core/standard-schema.ts'
export { createFetchWithInit, type FetchLike, type Transport, type TransportSendOptions } from '../core/transport.ts'
export type * from '../core/types.ts'
export * from './auth.ts'
export * from './authErrors.ts'
export * from './authExtensions.ts'
export {
  type CacheableRequestOptions,
  type CallToolRequestOptions,
  Client,
  type ClientOptions,
  type ConnectOptions,
} from './client.ts'
export * from './crossAppAccess.ts'
export * from './dpop.ts'
export { getSupportedElicitationModes } from './elicitation.ts'
export { type InputRequiredOptions, withInputRequired } from './input-required.ts'
export * from './middleware.ts'
export { mergeCapabilities, Protocol, type RequestHandlerSchemas } from './protocol.ts'
export {
  type CacheEntry,
  type CacheKey,
  type CacheMode,
  type CacheScope,
  InMemoryResponseCacheStore,
  type InMemoryResponseCacheStoreOptions,
  MAX_CACHE_TTL_MS,
  type MaybePromise,
  type ResponseCacheStore,
} from './response-cache.ts'
export { SSEClientTransport, type SSEClientTransportOptions, SseError } from './sse.ts'
export {
  type ReconnectionScheduler,
  type StartSSEOptions,
  StreamableHTTPClientTransport,
  type StreamableHTTPClientTransportOptions,
  type StreamableHTTPReconnectionOptions,
} from './streamable-http.ts'
export type { McpSubscription } from './subscription.ts'
export type {
  PriorDiscovery,
  VersionNegotiationMode,
  VersionNegotiationOptions,
  VersionNegotiationProbeOptions,
} from './version-negotiation.ts'

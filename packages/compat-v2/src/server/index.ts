// The API of `@modelcontextprotocol/server`.
export * from '../core/index.ts'
export { type CompletableSchema, type CompleteCallback, completable, isCompletable } from './completable.ts'
export {
  type CreateMcpHandlerOptions,
  createMcpHandler,
  type IsLegacyRequestOptions,
  isLegacyRequest,
  type LegacyHttpHandler,
  type LegacyStatelessFallbackOptions,
  legacyStatelessFallback,
  type McpHandlerRequestOptions,
  type McpHttpHandler,
} from './create-mcp-handler.ts'
export type { McpRequestContext, McpServerFactory } from './factory.ts'
export { McpServer, type McpServerOptions } from './mcp.ts'
export {
  type BearerAuthOptions,
  bearerAuthChallengeResponse,
  type OAuthTokenVerifier,
  requireBearerAuth,
  type VerifyBearerTokenOptions,
  verifyBearerToken,
} from './middleware/bearer-auth.ts'
export {
  type HostHeaderValidationResult,
  hostHeaderValidationResponse,
  localhostAllowedHostnames,
  validateHostHeader,
} from './middleware/host-validation.ts'
export {
  type AuthMetadataOptions,
  buildOAuthProtectedResourceMetadata,
  getOAuthProtectedResourceMetadataUrl,
  oauthMetadataResponse,
} from './middleware/oauth-metadata.ts'
export {
  localhostAllowedOrigins,
  type OriginValidationResult,
  originValidationResponse,
  validateOriginHeader,
} from './middleware/origin-validation.ts'
export {
  PerRequestHTTPServerTransport,
  type PerRequestHTTPServerTransportOptions,
  type PerRequestMessageExtra,
  type PerRequestResponseMode,
} from './per-request-transport.ts'
export type {
  AnyToolHandler,
  BaseToolCallback,
  ListResourcesCallback,
  PromptCallback,
  ReadResourceCallback,
  ReadResourceTemplateCallback,
  RegisteredPrompt,
  RegisteredResource,
  RegisteredResourceTemplate,
  RegisteredTool,
  ResourceMetadata,
  ToolCallback,
} from './registered.ts'
export { DEFAULT_MAX_REQUEST_BODY_SIZE, isJsonContentType, readRequestBody } from './request-body.ts'
export {
  createRequestStateCodec,
  type RequestStateCodec,
  type RequestStateCodecOptions,
} from './request-state-codec.ts'
export { type CompleteResourceTemplateCallback, ResourceTemplate } from './resource-template.ts'
export { requireScopes, type ScopeChallenge, type ScopeChallengeHandler } from './scope-challenge.ts'
export { Server, type ServerOptions } from './server.ts'
export {
  InMemoryServerEventBus,
  type ServerEvent,
  type ServerEventBus,
  type ServerNotifier,
} from './server-events.ts'
export {
  type EventId,
  type EventStore,
  type HandleRequestOptions,
  type StreamId,
  WebStandardStreamableHTTPServerTransport,
  type WebStandardStreamableHTTPServerTransportOptions,
} from './web-transport.ts'

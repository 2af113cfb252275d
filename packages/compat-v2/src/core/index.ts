// What both sides share. Errors and constants exist once, so that `instanceof` works between a server and a client.
export type {
  AuthorizationServerMetadata,
  OAuthClientInformation,
  OAuthClientInformationFull,
  OAuthClientInformationMixed,
  OAuthClientMetadata,
  OAuthClientRegistrationError,
  OAuthErrorResponse,
  OAuthMetadata,
  OAuthProtectedResourceMetadata,
  OAuthTokenRevocationRequest,
  OAuthTokens,
  OpenIdProviderDiscoveryMetadata,
  OpenIdProviderMetadata,
} from '@tenon/compat-v1/shared/auth.js'
export { checkResourceAllowed, resourceUrlFromServerUrl } from '@tenon/compat-v1/shared/auth-utils.js'
export { getDisplayName } from '@tenon/compat-v1/shared/metadataUtils.js'
export { deserializeMessage, ReadBuffer, serializeMessage } from '@tenon/compat-v1/shared/stdio.js'
export { UriTemplate, type Variables } from '@tenon/compat-v1/shared/uriTemplate.js'
export type { CacheHint, CacheScope } from './cache-hints.ts'
export * from './constants.ts'
export type {
  BaseContext,
  ClientContext,
  NotificationOptions,
  ProgressCallback,
  ProtocolOptions,
  RequestOptions,
  RequestStateAccessor,
  ServerContext,
} from './context.ts'
export * from './errors.ts'
export * from './guards.ts'
export { InMemoryTransport } from './in-memory.ts'
export {
  classifyInboundRequest,
  type InboundClassificationOutcome,
  type InboundHttpRequest,
  type InboundLadderRejection,
  type InboundLegacyRoute,
  type InboundLegacyRouteReason,
  type InboundModernRoute,
  type InboundValidationRung,
} from './inbound.ts'
export {
  acceptedContent,
  type ElicitInputParams,
  type InputRequiredSpec,
  type InputResponseView,
  inputRequired,
  inputResponse,
} from './input-required.ts'
export {
  fromJsonSchema,
  type JsonSchemaType,
  type JsonSchemaValidator,
  type JsonSchemaValidatorResult,
  type jsonSchemaValidator,
} from './json-schema.ts'
export { mergeCapabilities, Protocol, type RequestHandlerSchemas } from './protocol.ts'
export { isSpecType, preloadSchemas, type SpecTypeName, type SpecTypes, specTypeSchemas } from './spec-types.ts'
export type { StandardSchemaV1, StandardSchemaV1Sync, StandardSchemaWithJSON } from './standard-schema.ts'
export { createFetchWithInit, type FetchLike, type Transport, type TransportSendOptions } from './transport.ts'
export type * from './types.ts'

// The types of the protocol as the specification defines them: messages are in their JSON-RPC envelope.

import type {
  CreateMessageResultWithTools,
  ElicitRequestURLParams,
  JSONRPCErrorResponse,
} from './generated/protocol-types.ts'

export type * from './generated/protocol-types.ts'
export type {
  CallToolRequest,
  CancelledNotification,
  CancelTaskRequest,
  ClientNotification,
  ClientRequest,
  CompleteRequest,
  CreateMessageRequest,
  ElicitationCompleteNotification,
  ElicitRequest,
  GetPromptRequest,
  GetTaskPayloadRequest,
  GetTaskRequest,
  InitializedNotification,
  InitializeRequest,
  ListPromptsRequest,
  ListResourcesRequest,
  ListResourceTemplatesRequest,
  ListRootsRequest,
  ListTasksRequest,
  ListToolsRequest,
  LoggingMessageNotification,
  PaginatedRequest,
  PingRequest,
  ProgressNotification,
  PromptListChangedNotification,
  ReadResourceRequest,
  ResourceListChangedNotification,
  ResourceUpdatedNotification,
  RootsListChangedNotification,
  ServerNotification,
  ServerRequest,
  SetLevelRequest,
  SubscribeRequest,
  TaskStatusNotification,
  ToolListChangedNotification,
  UnsubscribeRequest,
} from './generated/wire-types.ts'

/** The revision that these types describe. */
export const LATEST_PROTOCOL_VERSION = 'DRAFT-2026-v1'
export { JSONRPC_VERSION } from './shared/constants.ts'

export const PARSE_ERROR = -32700
export const INVALID_REQUEST = -32600
export const METHOD_NOT_FOUND = -32601
export const INVALID_PARAMS = -32602
export const INTERNAL_ERROR = -32603
export const URL_ELICITATION_REQUIRED = -32042

/** The error of a response. */
export type Error = JSONRPCErrorResponse['error']

/** The response to a request that needs the user to open a URL first. */
export interface URLElicitationRequiredError extends Omit<JSONRPCErrorResponse, 'error'> {
  error: Error & {
    code: typeof URL_ELICITATION_REQUIRED
    data: { elicitations: ElicitRequestURLParams[]; [key: string]: unknown }
  }
}

/** The result of `sampling/createMessage`, with or without tools. */
export type CreateMessageResult = CreateMessageResultWithTools

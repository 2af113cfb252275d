// The API of `@modelcontextprotocol/node`.

export { NodeStreamableHTTPServerTransport, type StreamableHTTPServerTransportOptions } from './streamable-http.ts'
export {
  type FetchLikeMcpHandler,
  type NodeIncomingMessageLike,
  type NodeMcpRequestHandler,
  type NodeServerResponseLike,
  type ToNodeHandlerOptions,
  type ToWebRequestOptions,
  toNodeHandler,
  toWebRequest,
} from './to-node-handler.ts'
export {
  hostHeaderValidation,
  localhostHostValidation,
  localhostOriginValidation,
  originValidation,
} from './validation.ts'

/** The newest revision that `initialize` can negotiate. */
export const LATEST_PROTOCOL_VERSION = '2025-11-25'
/** The revision that a Streamable HTTP request without a version header is treated as. */
export const DEFAULT_NEGOTIATED_PROTOCOL_VERSION = '2025-03-26'
/** The revisions that `initialize` can negotiate, newest first. */
export const SUPPORTED_PROTOCOL_VERSIONS: string[] = [
  LATEST_PROTOCOL_VERSION,
  '2025-06-18',
  '2025-03-26',
  '2024-11-05',
  '2024-10-07',
]
/** The first revision without `initialize`: each request carries its own envelope. */
export const MODERN_PROTOCOL_VERSION = '2026-07-28'

/** Names the task that a message belongs to. */
export const RELATED_TASK_META_KEY = 'io.modelcontextprotocol/related-task'
/** The revision of a request. Required on 2026-07-28. */
export const PROTOCOL_VERSION_META_KEY = 'io.modelcontextprotocol/protocolVersion'
/** The name and version of the client that sent a request. */
export const CLIENT_INFO_META_KEY = 'io.modelcontextprotocol/clientInfo'
/** The name and version of the server that sent a result. */
export const SERVER_INFO_META_KEY = 'io.modelcontextprotocol/serverInfo'
/** The capabilities of the client for one request. Required on 2026-07-28. */
export const CLIENT_CAPABILITIES_META_KEY = 'io.modelcontextprotocol/clientCapabilities'
/** The subscription that a notification belongs to. */
export const SUBSCRIPTION_ID_META_KEY = 'io.modelcontextprotocol/subscriptionId'
/** The lowest level of log messages that the client wants for one request. */
export const LOG_LEVEL_META_KEY = 'io.modelcontextprotocol/logLevel'
/** The W3C trace context of a message. */
export const TRACEPARENT_META_KEY = 'traceparent'
/** The vendor part of the W3C trace context. */
export const TRACESTATE_META_KEY = 'tracestate'
/** The W3C baggage of a message. */
export const BAGGAGE_META_KEY = 'baggage'

export const JSONRPC_VERSION = '2.0'
export const PARSE_ERROR = -32700
export const INVALID_REQUEST = -32600
export const METHOD_NOT_FOUND = -32601
export const INVALID_PARAMS = -32602
export const INTERNAL_ERROR = -32603

/** How long a request waits for its response, unless its options say otherwise. */
export const DEFAULT_REQUEST_TIMEOUT_MSEC = 60_000
/** Bytes of input that a stdio transport holds while a message is incomplete. */
export const STDIO_DEFAULT_MAX_BUFFER_SIZE = 10 * 1024 * 1024

// Constants of the protocol. They are not in `types.ts`, because that module loads zod.

/** The newest revision that clients and servers with a handshake negotiate. */
export const LATEST_PROTOCOL_VERSION = '2025-11-25'

/** The revision of an HTTP request that names none. */
export const DEFAULT_NEGOTIATED_PROTOCOL_VERSION = '2025-03-26'

/** Every revision with a handshake, newest first. */
export const SUPPORTED_PROTOCOL_VERSIONS: string[] = [
  LATEST_PROTOCOL_VERSION,
  '2025-06-18',
  '2025-03-26',
  '2024-11-05',
  '2024-10-07',
]

/** The key in `_meta` that names the task a message belongs to. */
export const RELATED_TASK_META_KEY = 'io.modelcontextprotocol/related-task'

/** The version of JSON-RPC that every message names. */
export const JSONRPC_VERSION = '2.0'

/** The key in `_meta` that names the revision of a request, since 2026-07-28. */
export const PROTOCOL_VERSION_META_KEY = 'io.modelcontextprotocol/protocolVersion'

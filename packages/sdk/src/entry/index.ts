// What newcomers look for here first; the rest of it is in the subpaths.
export { Client } from '../client/client.ts'
export { connect } from '../connect/connect.ts'
export {
  CapabilityError,
  type CloseDetail,
  ClosedError,
  HttpError,
  McpError,
  type McpErrorCode,
  PeerError,
  ProtocolError,
  type RequiredUrl,
  RpcCode,
  Suspended,
  TimeoutError,
  UrlElicitationRequiredError,
} from '../errors.ts'
export { isInitializeRequest } from '../protocol/initialize.ts'
export type { Revision, RevisionId } from '../protocol/revision.ts'
export { revisionIds } from '../protocol/revisions/index.ts'
export type * from '../protocol/types.ts'
export { loggingLevels, metaKeys } from '../protocol/types.ts'
export { serveHttp } from '../serve/http.ts'
export { createMcpHandler } from '../serve/http-handler.ts'
export { serveStdio } from '../serve/stdio.ts'
export { McpServer } from '../server/mcp-server.ts'

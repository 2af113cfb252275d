// What newcomers look for here first; the rest of it is in the subpaths.
export { Client } from '../client/client.ts'
export { connect } from '../doors/connect.ts'
export { createMcpHandler } from '../doors/http-handler.ts'
export { serveHttp } from '../doors/serve-http.ts'
export { serveStdio } from '../doors/serve-stdio.ts'
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
export { McpServer } from '../server/mcp-server.ts'

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

// Tasks: calls that outlive their request.
export type {
  BaseResponseMessage,
  ErrorMessage,
  ResponseMessage,
  ResultMessage,
  TaskCreatedMessage,
  TaskStatusMessage,
} from '../../shared/responseMessage.ts'
export { takeResult, toArrayAsync } from '../../shared/responseMessage.ts'
export * from './client.ts'
export * from './helpers.ts'
export * from './interfaces.ts'
export * from './mcp-server.ts'
export * from './server.ts'
export * from './stores/in-memory.ts'
export * from './types.ts'

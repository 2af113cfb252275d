// The API of `@modelcontextprotocol/hono`.
export { type CreateMcpHonoAppOptions, createMcpHonoApp } from './app.ts'
export {
  hostHeaderValidation,
  localhostHostValidation,
  localhostOriginValidation,
  originValidation,
} from './validation.ts'

// The API of `@modelcontextprotocol/express`.

export type { OAuthTokenVerifier } from '../server/middleware/bearer-auth.ts'
export type { AuthMetadataOptions } from '../server/middleware/oauth-metadata.ts'
export { getOAuthProtectedResourceMetadataUrl } from '../server/middleware/oauth-metadata.ts'
export { type CreateMcpExpressAppOptions, createMcpExpressApp } from './app.ts'
export { type BearerAuthMiddlewareOptions, mcpAuthMetadataRouter, requireBearerAuth } from './auth.ts'
export {
  hostHeaderValidation,
  localhostHostValidation,
  localhostOriginValidation,
  originValidation,
} from './validation.ts'

export { type ServeStdioOptions, serveStdio } from '../doors/serve-stdio.ts'
export type { Caller } from '../era/server.ts'
export { McpError, ProtocolError, RpcCode } from '../errors.ts'
export type { Link } from '../jsonrpc/link.ts'
export type { Transport } from '../jsonrpc/transport.ts'
export type { Revision, RevisionId } from '../protocol/revision.ts'
export type { JsonSchema } from '../schema/json-schema.ts'
export type { InferInput, InferOutput, SchemaLike, SchemaShape, StandardSchema } from '../schema/standard.ts'
export type { Ability, Context } from '../server/context.ts'
export type { Middleware, MiddlewareRequest } from '../server/dispatch.ts'
export { type Completer, type CompletionContext, completable, type Suggestions } from '../server/features/completion.ts'
export type { PromptConfig, PromptHandler, PromptReturn, RegisteredPrompt } from '../server/features/prompts.ts'
export {
  type ReadResource,
  type ReadReturn,
  type ReadTemplate,
  type RegisteredResource,
  type RegisteredResourceTemplate,
  type ResourceConfig,
  ResourceTemplate,
  type TemplateOptions,
  type TemplateVariables,
} from '../server/features/resources.ts'
export type { RegisteredTool, ToolConfig, ToolHandler, ToolReturn } from '../server/features/tools.ts'
export type { Log } from '../server/log.ts'
export { McpServer, type McpServerOptions } from '../server/mcp-server.ts'
export { Server, type ServerOptions } from '../server/server.ts'
export { ToolError } from '../server/tool-error.ts'
export { InMemoryTransport } from '../transport/memory/memory.ts'
export { type StdioServerOptions, StdioServerTransport } from '../transport/stdio/server.ts'

import { messageOf, paramsTypeOf } from './methods.ts'

/** Where a name of an official package is found in Tenon. */
export interface NewName {
  readonly from: string
  readonly name: string
  /** A type only, which is imported with `type`. */
  readonly isType?: boolean
}

/** Protocol types that have the same name in `tenon`. */
const sameTypes = new Set(
  `Annotations AudioContent BlobResourceContents BooleanSchema CallToolResult ClientCapabilities CompleteResult ContentBlock
  CreateMessageResult Cursor ElicitResult EmbeddedResource EmptyResult EnumSchema GetPromptResult Icon ImageContent
  Implementation InitializeResult LegacyTitledEnumSchema ListPromptsResult ListResourcesResult ListResourceTemplatesResult
  ListRootsResult ListToolsResult LoggingLevel ModelHint ModelPreferences MultiSelectEnumSchema NumberSchema PaginatedResult
  PrimitiveSchemaDefinition ProgressToken Prompt PromptArgument PromptMessage PromptReference ReadResourceResult RequestId
  Resource ResourceContents ResourceLink ResourceTemplateReference Result Role Root SamplingContent SamplingMessage
  ServerCapabilities SingleSelectEnumSchema StringSchema TextContent TextResourceContents TitledMultiSelectEnumSchema
  TitledSingleSelectEnumSchema Tool ToolAnnotations ToolChoice ToolExecution ToolResultContent ToolUseContent
  UntitledMultiSelectEnumSchema UntitledSingleSelectEnumSchema`.split(/\s+/),
)

/** Protocol types that have another name in `tenon`. */
const renamedTypes: Readonly<Record<string, string>> = {
  BaseMetadata: 'Implementation',
  CompatibilityCallToolResult: 'CallToolResult',
  CreateMessageResultWithTools: 'CreateMessageResult',
  ElicitRequestFormParams: 'ElicitFormParams',
  ElicitRequestURLParams: 'ElicitUrlParams',
  JSONRPCMessage: 'RpcMessage',
  JSONRPCNotification: 'RpcNotification',
  JSONRPCRequest: 'RpcRequest',
  JSONRPCResponse: 'RpcResponse',
  PaginatedRequestParams: 'PaginatedParams',
  SamplingMessageContentBlock: 'SamplingContent',
  // Programs use the union of all results for those of tools.
  ServerResult: 'CallToolResult',
}

const values: Readonly<Record<string, NewName>> = {
  ...inModule('tenon/server', [
    'McpServer',
    'Server',
    'ResourceTemplate',
    'completable',
    'StdioServerTransport',
    'serveStdio',
    'createMcpHandler',
    'StreamableHTTPServerTransport',
    'SSEServerTransport',
    'UriTemplate',
    'inputRequired',
    'acceptedContent',
  ]),
  ...inModule('tenon/client', [
    'Client',
    'StdioClientTransport',
    'StreamableHTTPClientTransport',
    'SSEClientTransport',
    'getDisplayName',
  ]),
  ...inModule('tenon', ['ErrorCode', 'isInitializeRequest', 'UrlElicitationRequiredError', 'ProtocolError']),
  ...inModule('tenon/auth/server', ['mcpAuthRouter', 'mcpAuthMetadataRouter', 'requireBearerAuth']),
  InMemoryTransport: { from: 'tenon/server', name: 'InMemoryTransport' },
  ProtocolErrorCode: { from: 'tenon', name: 'ErrorCode' },
  NodeStreamableHTTPServerTransport: { from: 'tenon/server', name: 'StreamableHTTPServerTransport' },
}

const types: Readonly<Record<string, NewName>> = {
  ...typesIn('tenon/server', {
    RegisteredTool: 'RegisteredTool',
    RegisteredPrompt: 'RegisteredPrompt',
    RegisteredResource: 'RegisteredResource',
    RegisteredResourceTemplate: 'RegisteredResourceTemplate',
    ToolCallback: 'ToolHandler',
    PromptCallback: 'PromptHandler',
    ReadResourceCallback: 'ReadResource',
    ReadResourceTemplateCallback: 'ReadTemplate',
    ResourceMetadata: 'ResourceConfig',
    ServerOptions: 'ServerOptions',
    McpServerOptions: 'McpServerOptions',
    RequestHandlerExtra: 'Context',
    ServerContext: 'Context',
    Transport: 'Transport',
    StreamableHTTPServerTransportOptions: 'StreamableHTTPServerTransportOptions',
    SSEServerTransportOptions: 'SSEServerTransportOptions',
    AuthInfo: 'AuthInfo',
    Variables: 'TemplateVariables',
    CompleteResourceTemplateCallback: 'Completer',
    CompleteCallback: 'Completer',
    EventStore: 'EventStore',
  }),
  ...typesIn('tenon/client', {
    ClientOptions: 'ClientOptions',
    StdioServerParameters: 'StdioServerParameters',
    StreamableHTTPClientTransportOptions: 'StreamableHTTPClientTransportOptions',
    SSEClientTransportOptions: 'SSEClientTransportOptions',
    RequestOptions: 'RequestOptions',
    Progress: 'Progress',
    FetchLike: 'FetchLike',
  }),
  ...typesIn('tenon/auth/client', { OAuthClientProvider: 'OAuthClientProvider' }),
  ...typesIn('tenon/auth/server', {
    OAuthServerProvider: 'OAuthServerProvider',
    OAuthTokenVerifier: 'OAuthTokenVerifier',
    OAuthRegisteredClientsStore: 'OAuthRegisteredClientsStore',
    AuthorizationParams: 'AuthorizationParams',
  }),
}

/** FastMCP has names of its own, some of which mean something else in the official packages. */
const fastMcpNames: Readonly<Record<string, NewName>> = {
  FastMCP: { from: 'tenon/server', name: 'McpServer' },
  UserError: { from: 'tenon/server', name: 'ToolError' },
  ...typesIn('tenon/server', { Context: 'Context', ToolParameters: 'StandardSchema' }),
  ...typesIn('tenon', {
    AudioContent: 'AudioContent',
    Content: 'ContentBlock',
    ContentResult: 'CallToolResult',
    Icon: 'Icon',
    ImageContent: 'ImageContent',
    LoggingLevel: 'LoggingLevel',
    ResourceContent: 'EmbeddedResource',
    ResourceLink: 'ResourceLink',
    TextContent: 'TextContent',
  }),
}

/** Finds the place of a name in Tenon. Names that need more than another import are not here: `McpError`, schemas. */
export function findNewName(oldModule: string, name: string): NewName | undefined {
  if (oldModule === 'fastmcp') return Object.hasOwn(fastMcpNames, name) ? fastMcpNames[name] : undefined
  // It checks requests of the web platform and returns the identity, where the middleware of Tenon returns nothing.
  if (name === 'requireBearerAuth' && oldModule === '@modelcontextprotocol/server') return undefined
  const isProtocolModule = /\/types(\.js)?$/.test(oldModule)
  if (name === 'ResourceTemplate' && isProtocolModule) return type('tenon', 'ResourceTemplateInfo')
  if (name === 'ResourceTemplateType') return type('tenon', 'ResourceTemplateInfo')
  if (Object.hasOwn(values, name)) return values[name]
  if (Object.hasOwn(types, name)) return types[name]
  if (sameTypes.has(name)) return type('tenon', name)
  const renamed = Object.hasOwn(renamedTypes, name) ? renamedTypes[name] : paramsTypeOf(name)
  return renamed === undefined ? undefined : type('tenon', renamed)
}

/** Returns the text of the type in Tenon for a message type, which Tenon does not name: `CallToolRequest`. */
export function messageTypeText(name: string, quote: string): { text: string; params: string | undefined } | undefined {
  const message = messageOf(name)
  if (!message || name.endsWith('Schema')) return undefined
  const { method, params } = message
  const optional = params === undefined || params === 'PaginatedParams' ? '?' : ''
  const text = `{ method: ${quote}${method}${quote}; params${optional}: ${params ?? 'Record<string, unknown>'} }`
  return { text, params }
}

function inModule(from: string, names: readonly string[]): Record<string, NewName> {
  return Object.fromEntries(names.map((name) => [name, { from, name }]))
}

function typesIn(from: string, names: Readonly<Record<string, string>>): Record<string, NewName> {
  return Object.fromEntries(Object.entries(names).map(([old, name]) => [old, type(from, name)]))
}

function type(from: string, name: string): NewName {
  return { from, name, isType: true }
}

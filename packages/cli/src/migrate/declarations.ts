// The types that rules look for, declared with the members that matter. With them the compiler finds servers, clients and
// contexts in any expression, whether or not the packages of the project are installed.

const v1 = `
  export class V1McpServer {
    constructor(info: any, options?: any)
    readonly server: V1Server
    tool(name: string, ...rest: any[]): any
    prompt(name: string, ...rest: any[]): any
    resource(name: string, ...rest: any[]): any
    registerTool(name: string, config: any, handler: any): any
    registerPrompt(name: string, config: any, handler: any): any
    registerResource(name: string, where: any, config: any, handler: any): any
    connect(transport: any): Promise<void>
    close(): Promise<void>
    isConnected(): boolean
    sendLoggingMessage(params: any, sessionId?: string): Promise<void>
    sendToolListChanged(): void
    sendPromptListChanged(): void
    sendResourceListChanged(): void
    readonly experimental: any
  }
  export class V1Server {
    constructor(info: any, options?: any)
    setRequestHandler(schema: any, handler: (request: V1Request, extra: V1Extra) => any): void
    setNotificationHandler(schema: any, handler: (notification: V1Request) => any): void
    connect(transport: any): Promise<void>
    close(): Promise<void>
    elicitInput(params: any, options?: any): Promise<any>
    createMessage(params: any, options?: any): Promise<any>
    listRoots(params?: any, options?: any): Promise<any>
    ping(): Promise<any>
    request(request: any, schema?: any, options?: any): Promise<any>
    notification(notification: any, options?: any): Promise<void>
    sendLoggingMessage(params: any, sessionId?: string): Promise<void>
    sendResourceUpdated(params: any): Promise<void>
    sendToolListChanged(): Promise<void>
    sendPromptListChanged(): Promise<void>
    sendResourceListChanged(): Promise<void>
    getClientCapabilities(): any
    getClientVersion(): any
    registerCapabilities(capabilities: any): void
    assertCanSetRequestHandler(method: string): void
    removeRequestHandler(method: string): void
    createElicitationCompletionNotifier(id: string, options?: any): () => Promise<void>
    fallbackRequestHandler: any
    fallbackNotificationHandler: any
    oninitialized?: () => void
    onclose?: () => void
    onerror?: (error: Error) => void
    readonly transport: any
    readonly experimental: any
  }
  export class V1Client {
    constructor(info: any, options?: any)
    setRequestHandler(schema: any, handler: (request: V1Request, extra: any) => any): void
    setNotificationHandler(schema: any, handler: (notification: V1Request) => any): void
    request(request: any, schema?: any, options?: any): Promise<any>
    notification(notification: any): Promise<void>
    connect(transport: any, options?: any): Promise<void>
    close(): Promise<void>
    callTool(params: any, schema?: any, options?: any): Promise<any>
    complete(params: any, options?: any): Promise<any>
    ping(options?: any): Promise<any>
    sendRootsListChanged(): Promise<void>
    registerCapabilities(capabilities: any): void
    onclose?: () => void
    onerror?: (error: Error) => void
    fallbackRequestHandler: any
    fallbackNotificationHandler: any
    readonly transport: any
    readonly experimental: any
    [member: string]: any
  }
  export interface V1Request { method: string; params: any }
  export interface V1Extra<A = any, B = any> {
    signal: AbortSignal
    authInfo: any
    requestId: string | number
    sessionId?: string
    _meta?: any
    requestInfo?: any
    taskId?: string
    taskStore?: any
    taskRequestedTtl?: number
    closeSSEStream?: () => void
    closeStandaloneSSEStream?: () => void
    sendNotification(notification: any): Promise<void>
    sendRequest(request: any, schema: any, options?: any): Promise<any>
  }
  export class V1McpError extends Error {
    constructor(code: number, message: string, data?: unknown)
    readonly code: number
    readonly data: any
  }
  export class V1StdioServerTransport { constructor(...args: any[]) ; onclose?: any; onerror?: any; onmessage?: any; close(): Promise<void>; start(): Promise<void>; send(message: any): Promise<void> }
`

const v2 = `
  export class V2McpServer {
    constructor(info: any, options?: any)
    readonly server: V2Server
    registerTool(name: string, config: any, handler: any): any
    registerPrompt(name: string, config: any, handler: any): any
    registerResource(name: string, where: any, config: any, handler: any): any
    connect(transport: any): Promise<void>
    close(): Promise<void>
    isConnected(): boolean
    sendLoggingMessage(params: any, sessionId?: string): Promise<void>
    sendToolListChanged(): void
    sendPromptListChanged(): void
    sendResourceListChanged(): void
    readonly experimental: any
  }
  export class V2Server {
    constructor(info: any, options?: any)
    setRequestHandler(method: string, handler: (request: V1Request, ctx: V2Context) => any): void
    setNotificationHandler(method: string, handler: (notification: V1Request) => any): void
    connect(transport: any): Promise<void>
    close(): Promise<void>
    elicitInput(params: any, options?: any): Promise<any>
    createMessage(params: any, options?: any): Promise<any>
    listRoots(params?: any, options?: any): Promise<any>
    ping(): Promise<any>
    request(request: any, options?: any): Promise<any>
    notification(notification: any, options?: any): Promise<void>
    sendLoggingMessage(params: any, sessionId?: string): Promise<void>
    sendResourceUpdated(params: any): Promise<void>
    getClientCapabilities(): any
    getClientVersion(): any
    registerCapabilities(capabilities: any): void
    createElicitationCompletionNotifier(id: string, options?: any): () => Promise<void>
    fallbackRequestHandler: any
    fallbackNotificationHandler: any
    oninitialized?: () => void
    onclose?: () => void
    onerror?: (error: Error) => void
    readonly transport: any
    readonly experimental: any
  }
  export class V2Client {
    constructor(info: any, options?: any)
    setRequestHandler(method: string, handler: (request: V1Request, ctx: any) => any): void
    setNotificationHandler(method: string, handler: (notification: V1Request) => any): void
    request(request: any, options?: any): Promise<any>
    notification(notification: any): Promise<void>
    connect(transport: any, options?: any): Promise<void>
    close(): Promise<void>
    callTool(params: any, options?: any): Promise<any>
    complete(params: any, options?: any): Promise<any>
    sendRootsListChanged(): Promise<void>
    registerCapabilities(capabilities: any): void
    onclose?: () => void
    onerror?: (error: Error) => void
    fallbackRequestHandler: any
    fallbackNotificationHandler: any
    readonly transport: any
    [member: string]: any
  }
  export interface V2Context {
    sessionId?: string
    mcpReq: V2McpReq
    http?: V2Http
    task?: any
  }
  export interface V2McpReq {
    id: string | number
    method: string
    _meta?: any
    envelope?: any
    inputResponses?: any
    requestState: any
    signal: AbortSignal
    send(request: any, ...rest: any[]): Promise<any>
    notify(notification: any): Promise<void>
    log(level: string, data: unknown, logger?: string): Promise<void>
    elicitInput(params: any, options?: any): Promise<any>
    requestSampling(params: any, options?: any): Promise<any>
  }
  export interface V2Http { authInfo?: any; req?: any; closeSSE?: () => void; closeStandaloneSSE?: () => void }
  export class V2ProtocolError extends Error {
    constructor(code: number, message: string, data?: unknown)
    readonly code: number
    readonly data: any
  }
`

const fastmcp = `
  export class FastServer<T = any> {
    constructor(options: any)
    addTool(tool: any): void
    addTools(tools: any): void
    addResource(resource: any): void
    addResources(resources: any): void
    addResourceTemplate(template: any): void
    addResourceTemplates(templates: any): void
    addPrompt(prompt: any): void
    addPrompts(prompts: any): void
    start(options?: any): Promise<void>
    stop(): Promise<void>
    on(name: string, listener: any): void
    getApp(): any
    embedded(uri: string): Promise<any>
    readonly sessions: any[]
    readonly [member: string]: any
  }
  export interface FastContext<T = any> {
    client: any
    log: FastLog
    reportProgress(progress: any): Promise<void>
    requestId?: string
    session: T
    sessionId?: string
    signal: AbortSignal
    streamContent(content: any): Promise<void>
    elicit(params: any, options?: any): Promise<any>
  }
  export interface FastLog {
    debug(message: string, data?: any): void
    error(message: string, data?: any): void
    info(message: string, data?: any): void
    warn(message: string, data?: any): void
  }
`

/** Which of the types above a name of an official package is. */
const declared: Readonly<Record<'v1' | 'v2' | 'fastmcp', Readonly<Record<string, string>>>> = {
  v1: {
    McpServer: 'V1McpServer',
    Server: 'V1Server',
    Client: 'V1Client',
    RequestHandlerExtra: 'V1Extra',
    McpError: 'V1McpError',
    StdioServerTransport: 'V1StdioServerTransport',
  },
  v2: {
    McpServer: 'V2McpServer',
    Server: 'V2Server',
    Client: 'V2Client',
    ServerContext: 'V2Context',
    ProtocolError: 'V2ProtocolError',
    StdioServerTransport: 'V1StdioServerTransport',
  },
  fastmcp: { FastMCP: 'FastServer', Context: 'FastContext' },
}

const hidden = 'tenon-migrate'

/** The official package that a module belongs to, if it is one that is migrated. */
export function sourceOf(module: string): 'v1' | 'v2' | 'fastmcp' | undefined {
  if (/^@modelcontextprotocol\/sdk(\/|$)/.test(module)) return 'v1'
  if (/^@modelcontextprotocol\/(server|client|node|express|hono|core)(\/|$)/.test(module)) return 'v2'
  return module === 'fastmcp' ? 'fastmcp' : undefined
}

/** Returns declarations for modules, with the names that programs import from them. */
export function declareModules(imports: ReadonlyMap<string, ReadonlySet<string>>): string {
  const modules = [...imports].map(([module, names]) => {
    const source = sourceOf(module)
    const known = source ? declared[source] : {}
    const lines = [...names].map((name) =>
      Object.hasOwn(known, name)
        ? `  export { ${known[name]} as ${name} } from '${hidden}'`
        : `  export const ${name}: any\n  export type ${name}<A = any, B = any> = any`,
    )
    return `declare module '${module}' {\n${lines.join('\n')}\n}`
  })
  return `declare module '${hidden}' {${v1}${v2}${fastmcp}}\n${modules.join('\n')}\n`
}

/** The messages of MCP 2025-11-25 as version 1 of the official SDK names and checks them. See `schema-language.ts`. */

import {
  type Fields,
  is,
  loose,
  type Noun,
  type Nouns,
  strict,
  strip,
  type TypeNode,
  tagged,
} from './schema-language.ts'

const meta = { '_meta?': 'map<unknown> # Additional metadata.' }
const looseMeta = { '_meta?': loose({}) }
const presentation = { 'annotations?': 'Annotations # Hints for clients on how to use or display this.', ...meta }

const noun = (doc: string, type: TypeNode | string, more?: Partial<Noun>): Noun => ({
  doc,
  type: typeof type === 'string' ? is(type) : type,
  ...more,
})

/** A message: its method, and the noun that its params are; `?` at the end of the name makes the params optional. */
function message(doc: string, method: string, params: string): Noun {
  const optional = params.endsWith('?')
  const fields: Fields = { method: `'${method}'`, [optional ? 'params?' : 'params']: params.replace('?', '') }
  return noun(doc, strip(fields))
}

/** Params of a request. */
const params = (doc: string, fields: Fields, base = 'RequestParams') => noun(doc, strip(fields, base))

/** The result of a request. Results keep fields they do not name, because later revisions add some. */
const result = (doc: string, fields: Fields, base = 'Result') => noun(doc, loose(fields, base))

const union = (doc: string, names: string) => noun(doc, names.trim().replaceAll(/\s+/g, ' | '))

const alias = (aliasOf: string, doc: string, deprecated?: string): Noun =>
  noun(doc, aliasOf, { aliasOf, ...(deprecated && { deprecated }) })

const jsonrpc: Nouns = {
  ProgressToken: noun('Associates progress notifications with the request they are about.', 'string | integer'),
  Cursor: noun('An opaque position in a paginated list.', 'string'),
  TaskCreationParams: noun(
    'Parameters for running a request as a task.',
    loose({
      'ttl?': 'number # How long to keep the task after its creation, in milliseconds.',
      'pollInterval?': 'number # Time to wait between status requests, in milliseconds.',
    }),
  ),
  TaskMetadata: noun('Asks the receiver to run a request as a task.', strip({ 'ttl?': 'number' })),
  RelatedTaskMetadata: noun('Names the task that a message belongs to.', strip({ taskId: 'string' })),
  RequestMeta: noun(
    'The `_meta` field of requests and notifications.',
    loose({
      'progressToken?': 'ProgressToken # Asks the receiver for progress notifications with this token.',
      'io.modelcontextprotocol/related-task?': 'RelatedTaskMetadata # The task that this message belongs to.',
    }),
    { exports: 'type' },
  ),
  RequestParams: noun('Params that every request has.', strip({ '_meta?': 'RequestMeta' }), {
    exports: 'type',
    schemaName: 'BaseRequestParamsSchema',
  }),
  TaskAugmentedRequestParams: params('Params of requests that can run as a task.', {
    'task?': 'TaskMetadata # Runs this request as a task; the result is fetched later with `tasks/result`.',
  }),
  Request: noun(
    'Any request, without its JSON-RPC envelope.',
    strip({ method: 'string', 'params?': loose({}, 'RequestParams') }),
  ),
  NotificationParams: noun('Params that every notification has.', strip({ '_meta?': 'RequestMeta' }), {
    exports: 'type',
    schemaName: 'NotificationsParamsSchema',
  }),
  Notification: noun(
    'Any notification, without its JSON-RPC envelope.',
    strip({ method: 'string', 'params?': loose({}, 'NotificationParams') }),
  ),
  Result: noun('Any result, without its JSON-RPC envelope.', loose({ '_meta?': 'RequestMeta' })),
  RequestId: noun('Identifies a request.', 'string | integer'),
  JSONRPCRequest: noun(
    'A request that expects a response.',
    strict({ jsonrpc: "'2.0'", id: 'RequestId', method: 'string', 'params?': loose({}, 'RequestParams') }),
  ),
  JSONRPCNotification: noun(
    'A message that expects no response.',
    strict({ jsonrpc: "'2.0'", method: 'string', 'params?': loose({}, 'NotificationParams') }),
  ),
  JSONRPCResultResponse: noun(
    'A successful response to a request.',
    strict({ jsonrpc: "'2.0'", id: 'RequestId', result: 'Result' }),
  ),
  JSONRPCErrorResponse: noun(
    'A response that reports an error.',
    strict({
      jsonrpc: "'2.0'",
      'id?': 'RequestId',
      error: strip({
        code: 'integer # The kind of error.',
        message: 'string # A short description of the error.',
        'data?': 'unknown # More about the error, as defined by the sender.',
      }),
    }),
  ),
  JSONRPCError: alias('JSONRPCErrorResponse', 'A response that reports an error.', 'Use `JSONRPCErrorResponse`.'),
  JSONRPCMessage: union(
    'Any message of the protocol.',
    'JSONRPCRequest JSONRPCNotification JSONRPCResultResponse JSONRPCErrorResponse',
  ),
  JSONRPCResponse: union('Any response.', 'JSONRPCResultResponse JSONRPCErrorResponse'),
  EmptyResult: noun('A successful result without data.', strict({}, 'Result')),
  CancelledNotificationParams: params(
    'Params of `notifications/cancelled`.',
    {
      'requestId?': 'RequestId # The request to cancel.',
      'reason?': 'string # Why the request was cancelled.',
    },
    'NotificationParams',
  ),
  CancelledNotification: message(
    'Cancels a request that was sent before.',
    'notifications/cancelled',
    'CancelledNotificationParams',
  ),
}

const metadata: Nouns = {
  Icon: noun(
    'An icon to display.',
    strip({
      src: 'string # URL or `data:` URI of the icon.',
      'mimeType?': 'string # MIME type of the icon.',
      'sizes?': 'string[] # Sizes the icon is for, such as `48x48`, or `any`.',
      'theme?': "'light' | 'dark' # The color theme the icon is for.",
    }),
  ),
  Icons: noun('Has icons.', strip({ 'icons?': 'Icon[] # Icons that a client can display.' })),
  BaseMetadata: noun(
    'Has a name and a title.',
    strip({ name: 'string # Identifier for programs.', 'title?': 'string # Display name for people.' }),
  ),
  Implementation: noun(
    'Name and version of a client or server.',
    strip(
      {
        version: 'string',
        'websiteUrl?': 'string # Website of this implementation.',
        'description?': 'string # What this implementation does.',
      },
      'BaseMetadata',
      'Icons',
    ),
  ),
}

const initialization: Nouns = {
  FormElicitationCapability: noun(
    'Options of form elicitation that a client supports.',
    {
      kind: 'code',
      code: {
        schema:
          'z.intersection(z.object({ applyDefaults: z.boolean().optional() }), z.record(z.string(), z.unknown()))',
        schemaType:
          'z.ZodIntersection<z.ZodObject<{ applyDefaults: z.ZodOptional<z.ZodBoolean> }, z.core.$strip>, z.ZodRecord<z.ZodString, z.ZodUnknown>>',
        type: '{ [key: string]: unknown; applyDefaults?: boolean | undefined }',
      },
    },
    { exports: 'none' },
  ),
  ElicitationCapability: noun(
    'Modes of elicitation that a client supports. An empty object means form elicitation.',
    {
      kind: 'code',
      code: {
        schema:
          'z.preprocess(formUnlessNamed, z.intersection(z.object({ form: FormElicitationCapabilitySchema.optional(), url: z.custom<object>(isObject).optional() }), z.record(z.string(), z.unknown()).optional()))',
        schemaType:
          'z.ZodPipe<z.core.$ZodTransform<unknown, unknown>, z.ZodIntersection<z.ZodObject<{ form: z.ZodOptional<typeof FormElicitationCapabilitySchema>; url: z.ZodOptional<z.ZodCustom<object, object>> }, z.core.$strip>, z.ZodOptional<z.ZodRecord<z.ZodString, z.ZodUnknown>>>>',
        type: '{ [key: string]: unknown; form?: FormElicitationCapability | undefined; url?: object | undefined }',
      },
    },
    { exports: 'none' },
  ),
  ClientTasksCapability: noun(
    'Requests that a client can run as tasks.',
    loose({
      'list?': 'object',
      'cancel?': 'object',
      'requests?': loose({
        'sampling?': loose({ 'createMessage?': 'object' }),
        'elicitation?': loose({ 'create?': 'object' }),
      }),
    }),
    { exports: 'schema' },
  ),
  ServerTasksCapability: noun(
    'Requests that a server can run as tasks.',
    loose({
      'list?': 'object',
      'cancel?': 'object',
      'requests?': loose({ 'tools?': loose({ 'call?': 'object' }) }),
    }),
    { exports: 'schema' },
  ),
  ClientCapabilities: noun(
    'Features that a client supports.',
    strip({
      'experimental?': 'map<object> # Features outside the specification.',
      'sampling?': strip({ 'context?': 'object', 'tools?': 'object' }),
      'elicitation?': 'ElicitationCapability # Asking the user.',
      'roots?': strip({ 'listChanged?': 'boolean' }),
      'tasks?': 'ClientTasksCapability # Requests that can run as tasks.',
      'extensions?': 'map<object> # Extensions and their settings.',
    }),
  ),
  InitializeRequestParams: params('Params of `initialize`.', {
    protocolVersion: 'string # The newest protocol revision that the client supports.',
    capabilities: 'ClientCapabilities',
    clientInfo: 'Implementation',
  }),
  InitializeRequest: message('The first request of a client.', 'initialize', 'InitializeRequestParams'),
  ServerCapabilities: noun(
    'Features that a server supports.',
    strip({
      'experimental?': 'map<object> # Features outside the specification.',
      'logging?': 'object # Sends log messages.',
      'completions?': 'object # Completes arguments.',
      'prompts?': strip({ 'listChanged?': 'boolean' }),
      'resources?': strip({ 'subscribe?': 'boolean', 'listChanged?': 'boolean' }),
      'tools?': strip({ 'listChanged?': 'boolean' }),
      'tasks?': 'ServerTasksCapability # Requests that can run as tasks.',
      'extensions?': 'map<object> # Extensions and their settings.',
    }),
  ),
  InitializeResult: result('The result of `initialize`.', {
    protocolVersion: 'string # The protocol revision to use.',
    capabilities: 'ServerCapabilities',
    serverInfo: 'Implementation',
    'instructions?': 'string # How to use the server, for the model.',
  }),
  InitializedNotification: message(
    'Tells the server that the client is ready.',
    'notifications/initialized',
    'NotificationParams?',
  ),
  PingRequest: message('Checks that the other side responds.', 'ping', 'RequestParams?'),
}

const progressAndPages: Nouns = {
  Progress: noun(
    'How far a request has come.',
    strip({
      progress: 'number # Increases with every notification.',
      'total?': 'number # The value of `progress` at the end.',
      'message?': 'string # What happens now.',
    }),
  ),
  ProgressNotificationParams: noun(
    'Params of `notifications/progress`.',
    strip({ progressToken: 'ProgressToken # The token of the request.' }, 'NotificationParams', 'Progress'),
  ),
  ProgressNotification: message(
    'Reports the progress of a request.',
    'notifications/progress',
    'ProgressNotificationParams',
  ),
  PaginatedRequestParams: params('Params of requests for a list.', {
    'cursor?': 'Cursor # Where to continue; absent for the first page.',
  }),
  PaginatedRequest: noun('Any request for a list.', strip({ method: 'string', 'params?': 'PaginatedRequestParams' })),
  PaginatedResult: result('A page of a list.', { 'nextCursor?': 'Cursor # Where the next page begins.' }),
}

const taskParams = strip({ taskId: 'string' }, 'RequestParams')
const taskMessage = (doc: string, method: string) => noun(doc, strip({ method: `'${method}'`, params: taskParams }))

const tasks: Nouns = {
  TaskStatus: noun('The status of a task.', "'working' | 'input_required' | 'completed' | 'failed' | 'cancelled'"),
  Task: noun(
    'A request that runs in the background.',
    strip({
      taskId: 'string',
      status: 'TaskStatus',
      ttl: 'number | null # How long the task is kept after its creation, in milliseconds; null means forever.',
      createdAt: 'string # ISO 8601 timestamp.',
      lastUpdatedAt: 'string # ISO 8601 timestamp.',
      'pollInterval?': 'number # Time to wait between status requests, in milliseconds.',
      'statusMessage?': 'string # More about the status.',
    }),
  ),
  CreateTaskResult: result('The result of a request that runs as a task.', { task: 'Task' }),
  TaskStatusNotificationParams: noun(
    'Params of `notifications/tasks/status`.',
    strip({}, 'NotificationParams', 'Task'),
  ),
  TaskStatusNotification: message(
    'Reports that the status of a task changed.',
    'notifications/tasks/status',
    'TaskStatusNotificationParams',
  ),
  GetTaskRequest: taskMessage('Asks for the status of a task.', 'tasks/get'),
  GetTaskResult: noun('The result of `tasks/get`.', strip({}, 'Result', 'Task')),
  GetTaskPayloadRequest: taskMessage('Waits for the result of a task.', 'tasks/result'),
  GetTaskPayloadResult: noun('The result of the request that ran as a task.', loose({}, 'Result')),
  ListTasksRequest: message('Asks for a list of tasks.', 'tasks/list', 'PaginatedRequestParams?'),
  ListTasksResult: result('The result of `tasks/list`.', { tasks: 'Task[]' }, 'PaginatedResult'),
  CancelTaskRequest: taskMessage('Cancels a task.', 'tasks/cancel'),
  CancelTaskResult: noun('The result of `tasks/cancel`.', strip({}, 'Result', 'Task')),
}

const resources: Nouns = {
  ResourceContents: noun(
    'Has the URI and type of the contents of a resource.',
    strip({ uri: 'string', 'mimeType?': 'string', ...meta }),
  ),
  TextResourceContents: noun('A resource as text.', strip({ text: 'string' }, 'ResourceContents')),
  BlobResourceContents: noun(
    'A resource as binary data.',
    strip({ blob: 'base64 # The data in base64.' }, 'ResourceContents'),
  ),
  Role: noun('The speaker of a message.', "'user' | 'assistant'"),
  Annotations: noun(
    'Hints for clients on how to use or display something.',
    strip({
      'audience?': 'Role[] # Whom it is for.',
      'priority?': 'fraction # How important it is, from 0 to 1.',
      'lastModified?': 'datetime # When it was last changed.',
    }),
  ),
  Resource: noun(
    'A resource that a server offers.',
    strip(
      {
        uri: 'string',
        'description?': 'string # What the resource is, for the model.',
        'mimeType?': 'string',
        'size?': 'number # Size of the contents in bytes.',
        'annotations?': 'Annotations',
        ...looseMeta,
      },
      'BaseMetadata',
      'Icons',
    ),
  ),
  ResourceTemplate: noun(
    'Describes resources by a URI template.',
    strip(
      {
        uriTemplate: 'string # Template as defined in RFC 6570.',
        'description?': 'string # What the resources are, for the model.',
        'mimeType?': 'string # MIME type, if all of them have the same.',
        'annotations?': 'Annotations',
        ...looseMeta,
      },
      'BaseMetadata',
      'Icons',
    ),
  ),
  ListResourcesRequest: message('Asks for a list of resources.', 'resources/list', 'PaginatedRequestParams?'),
  ListResourcesResult: result('The result of `resources/list`.', { resources: 'Resource[]' }, 'PaginatedResult'),
  ListResourceTemplatesRequest: message(
    'Asks for a list of resource templates.',
    'resources/templates/list',
    'PaginatedRequestParams?',
  ),
  ListResourceTemplatesResult: result(
    'The result of `resources/templates/list`.',
    { resourceTemplates: 'ResourceTemplate[]' },
    'PaginatedResult',
  ),
  ResourceRequestParams: params('Params of requests about one resource.', { uri: 'string' }),
  ReadResourceRequestParams: alias('ResourceRequestParams', 'Params of `resources/read`.'),
  ReadResourceRequest: message('Reads a resource.', 'resources/read', 'ReadResourceRequestParams'),
  ReadResourceResult: result('The result of `resources/read`.', {
    contents: '(TextResourceContents | BlobResourceContents)[]',
  }),
  ResourceListChangedNotification: message(
    'Reports that the list of resources changed.',
    'notifications/resources/list_changed',
    'NotificationParams?',
  ),
  SubscribeRequestParams: alias('ResourceRequestParams', 'Params of `resources/subscribe`.'),
  SubscribeRequest: message(
    'Asks to be told when a resource changes.',
    'resources/subscribe',
    'SubscribeRequestParams',
  ),
  UnsubscribeRequestParams: alias('ResourceRequestParams', 'Params of `resources/unsubscribe`.'),
  UnsubscribeRequest: message('Ends a subscription.', 'resources/unsubscribe', 'UnsubscribeRequestParams'),
  ResourceUpdatedNotificationParams: params(
    'Params of `notifications/resources/updated`.',
    { uri: 'string' },
    'NotificationParams',
  ),
  ResourceUpdatedNotification: message(
    'Reports that a resource changed.',
    'notifications/resources/updated',
    'ResourceUpdatedNotificationParams',
  ),
}

const prompts: Nouns = {
  PromptArgument: noun(
    'An argument of a prompt.',
    strip({ name: 'string', 'description?': 'string', 'required?': 'boolean' }),
  ),
  Prompt: noun(
    'A prompt that a server offers.',
    strip({ 'description?': 'string', 'arguments?': 'PromptArgument[]', ...looseMeta }, 'BaseMetadata', 'Icons'),
  ),
  ListPromptsRequest: message('Asks for a list of prompts.', 'prompts/list', 'PaginatedRequestParams?'),
  ListPromptsResult: result('The result of `prompts/list`.', { prompts: 'Prompt[]' }, 'PaginatedResult'),
  GetPromptRequestParams: params('Params of `prompts/get`.', { name: 'string', 'arguments?': 'map<string>' }),
  GetPromptRequest: message('Fetches a prompt.', 'prompts/get', 'GetPromptRequestParams'),
  TextContent: noun('Text.', strip({ type: "'text'", text: 'string', ...presentation })),
  ImageContent: noun(
    'An image.',
    strip({ type: "'image'", data: 'base64 # The image in base64.', mimeType: 'string', ...presentation }),
  ),
  AudioContent: noun(
    'Audio.',
    strip({ type: "'audio'", data: 'base64 # The audio in base64.', mimeType: 'string', ...presentation }),
  ),
  ToolUseContent: noun(
    'A tool call that a model asks for.',
    strip({
      type: "'tool_use'",
      name: 'string # The tool to call.',
      id: 'string # Identifies this call; its result carries the same id.',
      input: 'map<unknown> # The arguments.',
      ...meta,
    }),
  ),
  EmbeddedResource: noun(
    'The contents of a resource.',
    strip({ type: "'resource'", resource: 'TextResourceContents | BlobResourceContents', ...presentation }),
  ),
  ResourceLink: noun(
    'A resource that can be read with `resources/read`.',
    strip({ type: "'resource_link'" }, 'Resource'),
  ),
  ContentBlock: union(
    'Content of a prompt or of the result of a tool.',
    'TextContent ImageContent AudioContent ResourceLink EmbeddedResource',
  ),
  PromptMessage: noun('A message of a prompt.', strip({ role: 'Role', content: 'ContentBlock' })),
  GetPromptResult: result('The result of `prompts/get`.', { 'description?': 'string', messages: 'PromptMessage[]' }),
  PromptListChangedNotification: message(
    'Reports that the list of prompts changed.',
    'notifications/prompts/list_changed',
    'NotificationParams?',
  ),
}

const objectSchema = loose({ type: "'object'", 'properties?': 'map<object>', 'required?': 'string[]' })

const tools: Nouns = {
  ToolAnnotations: noun(
    'Hints about what a tool does. Do not rely on those of a server you do not trust.',
    strip({
      'title?': 'string # Display name for people.',
      'readOnlyHint?': 'boolean # The tool changes nothing.',
      'destructiveHint?': 'boolean # The tool may delete or overwrite something.',
      'idempotentHint?': 'boolean # A second call with the same arguments has no further effect.',
      'openWorldHint?': 'boolean # The tool reaches systems outside the server.',
    }),
  ),
  ToolExecution: noun(
    'How a tool can be run.',
    strip({ 'taskSupport?': "'required' | 'optional' | 'forbidden' # Whether the tool runs as a task." }),
  ),
  Tool: noun(
    'A tool that a server offers.',
    strip(
      {
        'description?': 'string # What the tool does, for the model.',
        inputSchema: objectSchema,
        'outputSchema?': objectSchema,
        'annotations?': 'ToolAnnotations',
        'execution?': 'ToolExecution',
        ...meta,
      },
      'BaseMetadata',
      'Icons',
    ),
  ),
  ListToolsRequest: message('Asks for a list of tools.', 'tools/list', 'PaginatedRequestParams?'),
  ListToolsResult: result('The result of `tools/list`.', { tools: 'Tool[]' }, 'PaginatedResult'),
  CallToolResult: result('The result of `tools/call`.', {
    content: 'ContentBlock[] = [] # What the tool says.',
    'structuredContent?': 'map<unknown> # The result as data that matches the output schema of the tool.',
    'isError?': 'boolean # The call failed.',
  }),
  ToolResultOf2024: noun(
    'The result of `tools/call` of revision 2024-10-07.',
    loose({ toolResult: 'unknown' }, 'Result'),
    {
      exports: 'none',
    },
  ),
  CompatibilityCallToolResult: union('The result of `tools/call` of any revision.', 'CallToolResult ToolResultOf2024'),
  CallToolRequestParams: params(
    'Params of `tools/call`.',
    { name: 'string # The tool to call.', 'arguments?': 'map<unknown>' },
    'TaskAugmentedRequestParams',
  ),
  CallToolRequest: message('Calls a tool.', 'tools/call', 'CallToolRequestParams'),
  ToolListChangedNotification: message(
    'Reports that the list of tools changed.',
    'notifications/tools/list_changed',
    'NotificationParams?',
  ),
  ListChangedOptionsBase: noun(
    'Options for reacting to changed lists.',
    strip({ autoRefresh: 'boolean = true', debounceMs: 'natural = 300' }),
    { exports: 'schema' },
  ),
}

const logging: Nouns = {
  LoggingLevel: noun(
    'The severity of a log message.',
    "'debug' | 'info' | 'notice' | 'warning' | 'error' | 'critical' | 'alert' | 'emergency'",
  ),
  SetLevelRequestParams: params('Params of `logging/setLevel`.', { level: 'LoggingLevel' }),
  SetLevelRequest: message('Sets the least severe level to log.', 'logging/setLevel', 'SetLevelRequestParams'),
  LoggingMessageNotificationParams: params(
    'Params of `notifications/message`.',
    { level: 'LoggingLevel', 'logger?': 'string # Name of the logger.', data: 'unknown # What to log.' },
    'NotificationParams',
  ),
  LoggingMessageNotification: message('A log message.', 'notifications/message', 'LoggingMessageNotificationParams'),
}

const samplingBlocks = 'SamplingMessageContentBlock | SamplingMessageContentBlock[]'

const sampling: Nouns = {
  ModelHint: noun('Hints at a model.', strip({ 'name?': 'string # A part of the name of the model.' })),
  ModelPreferences: noun(
    'Preferences of a server for a model.',
    strip({
      'hints?': 'ModelHint[] # Models to prefer, best first.',
      'costPriority?': 'fraction # How much low cost matters, from 0 to 1.',
      'speedPriority?': 'fraction # How much speed matters, from 0 to 1.',
      'intelligencePriority?': 'fraction # How much capability matters, from 0 to 1.',
    }),
  ),
  ToolChoice: noun('Whether the model calls tools.', strip({ 'mode?': "'auto' | 'required' | 'none'" })),
  ToolResultContent: noun(
    'The result of a tool call that a model asked for.',
    strip({
      type: "'tool_result'",
      toolUseId: {
        kind: 'code',
        code: {
          schema: "z.string().describe('The id of the tool call that this is the result of.')",
          schemaType: 'z.ZodString',
          type: 'string',
        },
      },
      content: 'ContentBlock[] = []',
      'structuredContent?': loose({}),
      'isError?': 'boolean',
      ...meta,
    }),
  ),
  SamplingContent: noun('Content that a model writes.', tagged('type', 'TextContent | ImageContent | AudioContent')),
  SamplingMessageContentBlock: noun(
    'Content of a message to or from a model.',
    tagged('type', 'TextContent | ImageContent | AudioContent | ToolUseContent | ToolResultContent'),
  ),
  SamplingMessage: noun('A message to or from a model.', strip({ role: 'Role', content: samplingBlocks, ...meta })),
  CreateMessageRequestParams: params(
    'Params of `sampling/createMessage`.',
    {
      messages: 'SamplingMessage[]',
      'modelPreferences?': 'ModelPreferences',
      'systemPrompt?': 'string',
      'includeContext?': "'none' | 'thisServer' | 'allServers' # Context of MCP servers to add to the prompt.",
      'temperature?': 'number',
      maxTokens: 'integer # The most tokens to generate.',
      'stopSequences?': 'string[]',
      'metadata?': 'object # Options of the model provider.',
      'tools?': 'Tool[] # Tools that the model may call.',
      'toolChoice?': 'ToolChoice',
    },
    'TaskAugmentedRequestParams',
  ),
  CreateMessageRequest: message(
    "Asks the client's model for a completion.",
    'sampling/createMessage',
    'CreateMessageRequestParams',
  ),
  CreateMessageResult: result('The result of `sampling/createMessage` without tools.', {
    model: 'string # The model that wrote the message.',
    'stopReason?': "'endTurn' | 'stopSequence' | 'maxTokens' | string # Why the model stopped.",
    role: 'Role',
    content: 'SamplingContent',
  }),
  CreateMessageResultWithTools: result('The result of `sampling/createMessage` with tools.', {
    model: 'string # The model that wrote the message.',
    'stopReason?': "'endTurn' | 'stopSequence' | 'maxTokens' | 'toolUse' | string # Why the model stopped.",
    role: 'Role',
    content: samplingBlocks,
  }),
}

const label = { 'title?': 'string # Label of the field.', 'description?': 'string' }
const titledOptions = { kind: 'array', items: strip({ const: 'string', title: 'string' }) } satisfies TypeNode
const itemLimits = { 'minItems?': 'number', 'maxItems?': 'number' }

const elicitation: Nouns = {
  BooleanSchema: noun('A checkbox.', strip({ type: "'boolean'", ...label, 'default?': 'boolean' })),
  StringSchema: noun(
    'A text field.',
    strip({
      type: "'string'",
      ...label,
      'minLength?': 'number',
      'maxLength?': 'number',
      'format?': "'email' | 'uri' | 'date' | 'date-time'",
      'default?': 'string',
    }),
  ),
  NumberSchema: noun(
    'A field for a number.',
    strip({
      type: "'number' | 'integer'",
      ...label,
      'minimum?': 'number',
      'maximum?': 'number',
      'default?': 'number',
    }),
  ),
  UntitledSingleSelectEnumSchema: noun(
    'A choice of one option.',
    strip({ type: "'string'", ...label, enum: 'string[]', 'default?': 'string' }),
  ),
  TitledSingleSelectEnumSchema: noun(
    'A choice of one option, with titles.',
    strip({ type: "'string'", ...label, oneOf: titledOptions, 'default?': 'string' }),
  ),
  LegacyTitledEnumSchema: noun(
    'A choice of one option, with titles in a list of their own.',
    strip({ type: "'string'", ...label, enum: 'string[]', 'enumNames?': 'string[]', 'default?': 'string' }),
  ),
  SingleSelectEnumSchema: union(
    'A choice of one option, with or without titles.',
    'UntitledSingleSelectEnumSchema TitledSingleSelectEnumSchema',
  ),
  UntitledMultiSelectEnumSchema: noun(
    'A choice of several options.',
    strip({
      type: "'array'",
      ...label,
      ...itemLimits,
      items: strip({ type: "'string'", enum: 'string[]' }),
      'default?': 'string[]',
    }),
  ),
  TitledMultiSelectEnumSchema: noun(
    'A choice of several options, with titles.',
    strip({ type: "'array'", ...label, ...itemLimits, items: strip({ anyOf: titledOptions }), 'default?': 'string[]' }),
  ),
  MultiSelectEnumSchema: union(
    'A choice of several options, with or without titles.',
    'UntitledMultiSelectEnumSchema TitledMultiSelectEnumSchema',
  ),
  EnumSchema: union('Any choice.', 'LegacyTitledEnumSchema SingleSelectEnumSchema MultiSelectEnumSchema'),
  PrimitiveSchemaDefinition: union('Any field of a form.', 'EnumSchema BooleanSchema StringSchema NumberSchema'),
  ElicitRequestFormParams: params(
    'Params of `elicitation/create` that ask the user to fill in a form.',
    {
      'mode?': "'form'",
      message: 'string # What is asked, and why.',
      requestedSchema: strip({
        type: "'object'",
        properties: 'map<PrimitiveSchemaDefinition> # The fields of the form.',
        'required?': 'string[]',
      }),
    },
    'TaskAugmentedRequestParams',
  ),
  ElicitRequestURLParams: params(
    'Params of `elicitation/create` that ask the user to open a URL.',
    {
      mode: "'url'",
      message: 'string # Why the user should open the URL.',
      elicitationId: 'string # Identifies the elicitation.',
      url: 'url # The URL to open.',
    },
    'TaskAugmentedRequestParams',
  ),
  ElicitRequestParams: union('Params of `elicitation/create`.', 'ElicitRequestFormParams ElicitRequestURLParams'),
  ElicitRequest: message('Asks the user of the client for input.', 'elicitation/create', 'ElicitRequestParams'),
  ElicitationCompleteNotificationParams: params(
    'Params of `notifications/elicitation/complete`.',
    { elicitationId: 'string' },
    'NotificationParams',
  ),
  ElicitationCompleteNotification: message(
    'Reports that the user finished what a URL asked for.',
    'notifications/elicitation/complete',
    'ElicitationCompleteNotificationParams',
  ),
  ElicitResult: result('The result of `elicitation/create`.', {
    action: "'accept' | 'decline' | 'cancel' # What the user did.",
    content: {
      kind: 'code',
      code: {
        schema:
          'z.preprocess(nullToUndefined, z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.array(z.string())])).optional())',
        schemaType:
          'z.ZodPipe<z.core.$ZodTransform<unknown, unknown>, z.ZodOptional<z.ZodRecord<z.ZodString, z.ZodUnion<readonly [z.ZodString, z.ZodNumber, z.ZodBoolean, z.ZodArray<z.ZodString>]>>>>',
        type: 'Record<string, string | number | boolean | string[]>',
        optional: true,
      },
    },
  }),
}

const completion: Nouns = {
  ResourceTemplateReference: noun(
    'Refers to a resource or resource template.',
    strip({ type: "'ref/resource'", uri: 'string # URI or URI template.' }),
  ),
  ResourceReference: alias(
    'ResourceTemplateReference',
    'Refers to a resource or resource template.',
    'Use `ResourceTemplateReference`.',
  ),
  PromptReference: noun('Refers to a prompt.', strip({ type: "'ref/prompt'", name: 'string' })),
  CompleteRequestParams: params('Params of `completion/complete`.', {
    ref: 'PromptReference | ResourceTemplateReference',
    argument: strip({ name: 'string', value: 'string # What the user has typed so far.' }),
    'context?': strip({ 'arguments?': 'map<string> # Arguments that have a value already.' }),
  }),
  CompleteRequest: message('Asks for completions of an argument.', 'completion/complete', 'CompleteRequestParams'),
  CompleteResult: result('The result of `completion/complete`.', {
    completion: loose({
      values: 'string[<=100]',
      'total?': 'integer # How many completions there are in all.',
      'hasMore?': 'boolean # There are more completions than these.',
    }),
  }),
}

const roots: Nouns = {
  Root: noun(
    'A folder or file that a server may work in.',
    strip({ uri: 'file-url # A `file:` URL.', 'name?': 'string', ...meta }),
  ),
  ListRootsRequest: message('Asks for the roots of the client.', 'roots/list', 'RequestParams?'),
  ListRootsResult: result('The result of `roots/list`.', { roots: 'Root[]' }),
  RootsListChangedNotification: message(
    'Reports that the roots changed.',
    'notifications/roots/list_changed',
    'NotificationParams?',
  ),
}

const eitherSide = 'GetTaskRequest GetTaskPayloadRequest ListTasksRequest CancelTaskRequest'
const taskResults = 'GetTaskResult ListTasksResult CreateTaskResult'

const messages: Nouns = {
  ClientRequest: union(
    'Any request of a client.',
    `PingRequest InitializeRequest CompleteRequest SetLevelRequest GetPromptRequest ListPromptsRequest
    ListResourcesRequest ListResourceTemplatesRequest ReadResourceRequest SubscribeRequest UnsubscribeRequest
    CallToolRequest ListToolsRequest ${eitherSide}`,
  ),
  ClientNotification: union(
    'Any notification of a client.',
    `CancelledNotification ProgressNotification InitializedNotification RootsListChangedNotification
    TaskStatusNotification`,
  ),
  ClientResult: union(
    'Any result of a client.',
    `EmptyResult CreateMessageResult CreateMessageResultWithTools ElicitResult ListRootsResult ${taskResults}`,
  ),
  ServerRequest: union(
    'Any request of a server.',
    `PingRequest CreateMessageRequest ElicitRequest ListRootsRequest ${eitherSide}`,
  ),
  ServerNotification: union(
    'Any notification of a server.',
    `CancelledNotification ProgressNotification LoggingMessageNotification ResourceUpdatedNotification
    ResourceListChangedNotification ToolListChangedNotification PromptListChangedNotification
    TaskStatusNotification ElicitationCompleteNotification`,
  ),
  ServerResult: union(
    'Any result of a server.',
    `EmptyResult InitializeResult CompleteResult GetPromptResult ListPromptsResult ListResourcesResult
    ListResourceTemplatesResult ReadResourceResult CallToolResult ListToolsResult ${taskResults}`,
  ),
}

/** Every noun, in an order in which none refers to a later one. */
export const protocol: Nouns = {
  ...jsonrpc,
  ...metadata,
  ...initialization,
  ...progressAndPages,
  ...tasks,
  ...resources,
  ...prompts,
  ...tools,
  ...logging,
  ...sampling,
  ...elicitation,
  ...completion,
  ...roots,
  ...messages,
}

/** The requests of the protocol: the method, and the type of its params in `tenon`. */
const requests: Readonly<Record<string, readonly [method: string, params: string | undefined]>> = {
  Initialize: ['initialize', 'InitializeParams'],
  Ping: ['ping', undefined],
  ListTools: ['tools/list', 'PaginatedParams'],
  CallTool: ['tools/call', 'CallToolParams'],
  ListPrompts: ['prompts/list', 'PaginatedParams'],
  GetPrompt: ['prompts/get', 'GetPromptParams'],
  ListResources: ['resources/list', 'PaginatedParams'],
  ListResourceTemplates: ['resources/templates/list', 'PaginatedParams'],
  ReadResource: ['resources/read', 'ReadResourceParams'],
  Subscribe: ['resources/subscribe', 'SubscribeParams'],
  Unsubscribe: ['resources/unsubscribe', 'UnsubscribeParams'],
  Complete: ['completion/complete', 'CompleteParams'],
  SetLevel: ['logging/setLevel', 'SetLevelParams'],
  CreateMessage: ['sampling/createMessage', 'CreateMessageParams'],
  Elicit: ['elicitation/create', 'ElicitParams'],
  ListRoots: ['roots/list', undefined],
}

const notifications: Readonly<Record<string, readonly [method: string, params: string | undefined]>> = {
  Cancelled: ['notifications/cancelled', 'CancelledParams'],
  Initialized: ['notifications/initialized', undefined],
  Progress: ['notifications/progress', 'ProgressParams'],
  LoggingMessage: ['notifications/message', 'LoggingMessageParams'],
  ResourceUpdated: ['notifications/resources/updated', 'ResourceUpdatedParams'],
  ResourceListChanged: ['notifications/resources/list_changed', undefined],
  ToolListChanged: ['notifications/tools/list_changed', undefined],
  PromptListChanged: ['notifications/prompts/list_changed', undefined],
  RootsListChanged: ['notifications/roots/list_changed', undefined],
  ElicitationComplete: ['notifications/elicitation/complete', 'ElicitationCompleteParams'],
}

/** A message type of the official SDK, such as `CallToolRequest`. */
export interface MessageType {
  readonly method: string
  /** The name of the type of its params in `tenon`. */
  readonly params: string | undefined
}

/** Finds the message that `CallToolRequest` or `CallToolRequestSchema` describes. */
export function messageOf(name: string): MessageType | undefined {
  const [, noun = '', kind] = /^(\w+?)(Request|Notification)(?:Schema)?$/.exec(name) ?? []
  const known = kind === 'Request' ? requests : notifications
  const entry = Object.hasOwn(known, noun) ? known[noun] : undefined
  return entry && { method: entry[0], params: entry[1] }
}

/** Finds the type in `tenon` for the params of a message: `CallToolParams` for `CallToolRequestParams`. */
export function paramsTypeOf(name: string): string | undefined {
  const [, message] = /^(\w+(?:Request|Notification))Params$/.exec(name) ?? []
  return message === undefined ? undefined : messageOf(message)?.params
}

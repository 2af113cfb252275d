import type { ClientCapabilities, ServerCapabilities } from '../generated/protocol-types.ts'

/** Throws if the client did not declare the capability that a request to it needs. */
export function assertServerRequest(method: string, client: ClientCapabilities | undefined): void {
  const [capability, what] = clientCapabilityOf.get(method) ?? []
  if (capability && !client?.[capability]) throw new Error(`Client does not support ${what} (required for ${method})`)
}

/** Throws if the capability that a notification of the server needs was not declared. */
export function assertServerNotification(
  method: string,
  server: ServerCapabilities,
  client: () => ClientCapabilities | undefined,
): void {
  const [capability, what] = notificationCapabilityOf.get(method) ?? []
  if (capability && !server[capability]) throw new Error(`Server does not support ${what} (required for ${method})`)
  if (method === 'notifications/elicitation/complete' && !client()?.elicitation?.url) {
    throw new Error(`Client does not support URL elicitation (required for ${method})`)
  }
}

/** Throws if the capability that a request handler needs was not declared. */
export function assertServerHandler(method: string, server: ServerCapabilities): void {
  const capability = handlerCapabilityOf.get(method)
  if (!capability || server[capability]) return
  const what = capability === 'tasks' ? 'tasks capability' : capability
  throw new Error(`Server does not support ${what} (required for ${method})`)
}

const clientCapabilityOf: ReadonlyMap<string, [keyof ClientCapabilities, string]> = new Map([
  ['sampling/createMessage', ['sampling', 'sampling']],
  ['elicitation/create', ['elicitation', 'elicitation']],
  ['roots/list', ['roots', 'listing roots']],
])

const notificationCapabilityOf: ReadonlyMap<string, [keyof ServerCapabilities, string]> = new Map([
  ['notifications/message', ['logging', 'logging']],
  ['notifications/resources/updated', ['resources', 'notifying about resources']],
  ['notifications/resources/list_changed', ['resources', 'notifying about resources']],
  ['notifications/tools/list_changed', ['tools', 'notifying of tool list changes']],
  ['notifications/prompts/list_changed', ['prompts', 'notifying of prompt list changes']],
])

const handlerCapabilityOf: ReadonlyMap<string, keyof ServerCapabilities> = new Map([
  ['completion/complete', 'completions'],
  ['logging/setLevel', 'logging'],
  ['prompts/get', 'prompts'],
  ['prompts/list', 'prompts'],
  ['resources/list', 'resources'],
  ['resources/templates/list', 'resources'],
  ['resources/read', 'resources'],
  ['tools/call', 'tools'],
  ['tools/list', 'tools'],
  ['tasks/get', 'tasks'],
  ['tasks/list', 'tasks'],
  ['tasks/result', 'tasks'],
  ['tasks/cancel', 'tasks'],
])

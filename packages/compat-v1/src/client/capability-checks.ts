import type { ClientCapabilities, ServerCapabilities } from '../generated/protocol-types.ts'

/** Throws if the server did not declare the capability that a request to it needs. */
export function assertClientRequest(method: string, server: ServerCapabilities | undefined): void {
  const capability = serverCapabilityOf.get(method)
  if (capability && !server?.[capability]) {
    throw new Error(`Server does not support ${capability} (required for ${method})`)
  }
  if (method === 'resources/subscribe' && !server?.resources?.subscribe) {
    throw new Error(`Server does not support resource subscriptions (required for ${method})`)
  }
}

/** Throws if the capability that a notification of the client needs was not declared. */
export function assertClientNotification(method: string, client: ClientCapabilities): void {
  if (method === 'notifications/roots/list_changed' && !client.roots?.listChanged) {
    throw new Error(`Client does not support roots list changed notifications (required for ${method})`)
  }
}

/** Throws if the capability that a request handler needs was not declared. */
export function assertClientHandler(method: string, client: ClientCapabilities): void {
  const capability = handlerCapabilityOf.get(method)
  if (capability && !client[capability]) {
    throw new Error(`Client does not support ${capability} capability (required for ${method})`)
  }
}

const serverCapabilityOf: ReadonlyMap<string, keyof ServerCapabilities> = new Map([
  ['logging/setLevel', 'logging'],
  ['prompts/get', 'prompts'],
  ['prompts/list', 'prompts'],
  ['resources/list', 'resources'],
  ['resources/templates/list', 'resources'],
  ['resources/read', 'resources'],
  ['resources/subscribe', 'resources'],
  ['resources/unsubscribe', 'resources'],
  ['tools/call', 'tools'],
  ['tools/list', 'tools'],
  ['completion/complete', 'completions'],
])

const handlerCapabilityOf: ReadonlyMap<string, keyof ClientCapabilities> = new Map([
  ['sampling/createMessage', 'sampling'],
  ['elicitation/create', 'elicitation'],
  ['roots/list', 'roots'],
  ['tasks/get', 'tasks'],
  ['tasks/list', 'tasks'],
  ['tasks/result', 'tasks'],
  ['tasks/cancel', 'tasks'],
])

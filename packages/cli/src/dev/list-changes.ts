import { type JsonObject, metaKeys, type RpcNotification, type RpcRequest } from 'tenon'
import { isObject } from 'tenon/internal'
import { metaOf } from './messages.ts'
import { listNames, type SessionMemory } from './session-memory.ts'

/**
 * Declares that the lists of a server can change. The server need not say so itself: its lists change because its code does, and
 * some clients ignore the notification otherwise. Nothing else of a result is changed.
 */
export function declareListChanges(method: string, result: JsonObject): JsonObject {
  if ((method !== 'initialize' && method !== 'server/discover') || !isObject(result.capabilities)) return result
  const { capabilities } = result
  const declared = listNames
    .filter((list) => isObject(capabilities[list]))
    .map((list) => [list, { ...(capabilities[list] as object), listChanged: true }])
  return { ...result, capabilities: { ...capabilities, ...Object.fromEntries(declared) } }
}

/** Does the same for the notification that acknowledges `subscriptions/listen` (2026-07-28). */
export function acknowledgeListChanges(
  acknowledged: RpcNotification,
  listen: RpcRequest,
  memory: SessionMemory,
): RpcNotification {
  const requested = filterOf(listen)
  const added = listNames.filter((list) => requested[filterNames[list]] === true && memory.offers(list))
  const before = isObject(acknowledged.params?.notifications) ? acknowledged.params.notifications : {}
  const notifications = { ...before, ...Object.fromEntries(added.map((list) => [filterNames[list], true])) }
  return { ...acknowledged, params: { ...acknowledged.params, notifications } }
}

/**
 * Notifications that everything may have changed, for a client of the handshake era.
 * @param memory Also has the lists that only an earlier version offered, and that are gone.
 */
export function changesFor(memory: SessionMemory): RpcNotification[] {
  if (!memory.isInitialized) return []
  const lists = listNames.filter((list) => memory.offers(list)).map((list) => listChanged(list))
  return [...lists, ...memory.subscribedUris.map((uri) => updated(uri))]
}

/** The same for one `subscriptions/listen` request, which names the changes that the client wants (2026-07-28). */
export function changesForListener(listen: RpcRequest): RpcNotification[] {
  const filter = filterOf(listen)
  const _meta = { [metaKeys.subscriptionId]: listen.id }
  const lists = listNames
    .filter((list) => filter[filterNames[list]] === true)
    .map((list) => listChanged(list, { _meta }))
  const uris = Array.isArray(filter.resourceSubscriptions) ? filter.resourceSubscriptions : []
  return [...lists, ...uris.map((uri) => updated(String(uri), { _meta }))]
}

/** The `subscriptions/listen` request that a notification belongs to. */
export function subscriptionOf(notification: RpcNotification): unknown {
  return metaOf(notification)[metaKeys.subscriptionId]
}

const filterNames = {
  tools: 'toolsListChanged',
  prompts: 'promptsListChanged',
  resources: 'resourcesListChanged',
} as const

function filterOf({ params }: RpcRequest): JsonObject {
  return isObject(params?.notifications) ? params.notifications : {}
}

function listChanged(list: string, params?: JsonObject): RpcNotification {
  return { jsonrpc: '2.0', method: `notifications/${list}/list_changed`, ...(params && { params }) }
}

function updated(uri: string, params?: JsonObject): RpcNotification {
  return { jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri, ...params } }
}

import { paramsProblem } from 'tenon'
import { SUBSCRIPTION_ID_META_KEY } from '../core/constants.ts'
import type {
  JSONRPCNotification,
  JSONRPCRequest,
  RequestId,
  ServerCapabilities,
  SubscriptionFilter,
} from '../core/types.ts'

/** A change that clients of 2026-07-28 can be notified of. */
export type ServerEvent =
  | { kind: 'tools_list_changed' }
  | { kind: 'prompts_list_changed' }
  | { kind: 'resources_list_changed' }
  | { kind: 'resource_updated'; uri: string }

/** Carries changes to the open subscriptions. Implement it to reach the other processes of a cluster. */
export interface ServerEventBus {
  publish(event: ServerEvent): void
  /** Returns a function that ends the subscription. */
  subscribe(listener: (event: ServerEvent) => void): () => void
}

/** A bus within one process. */
export class InMemoryServerEventBus implements ServerEventBus {
  private readonly _listeners = new Set<{ listen: (event: ServerEvent) => void }>()
  private readonly _tenonOnerror: ((error: Error) => void) | undefined

  constructor(onerror?: (error: Error) => void) {
    this._tenonOnerror = onerror
  }

  publish(event: ServerEvent): void {
    for (const { listen } of this._listeners) {
      try {
        listen(event)
      } catch (error) {
        this._tenonOnerror?.(error instanceof Error ? error : new Error(String(error)))
      }
    }
  }

  subscribe(listener: (event: ServerEvent) => void): () => void {
    const entry = { listen: listener }
    this._listeners.add(entry)
    return () => void this._listeners.delete(entry)
  }

  get listenerCount(): number {
    return this._listeners.size
  }
}

/** Publishes changes. */
export interface ServerNotifier {
  toolsChanged(): void
  promptsChanged(): void
  resourcesChanged(): void
  resourceUpdated(uri: string): void
}

export function createNotifier(bus: ServerEventBus): ServerNotifier {
  return {
    toolsChanged: () => bus.publish({ kind: 'tools_list_changed' }),
    promptsChanged: () => bus.publish({ kind: 'prompts_list_changed' }),
    resourcesChanged: () => bus.publish({ kind: 'resources_list_changed' }),
    resourceUpdated: (uri) => bus.publish({ kind: 'resource_updated', uri }),
  }
}

const methodsOfEvents = {
  tools_list_changed: 'notifications/tools/list_changed',
  prompts_list_changed: 'notifications/prompts/list_changed',
  resources_list_changed: 'notifications/resources/list_changed',
  resource_updated: 'notifications/resources/updated',
} as const

/** The event behind a notification; undefined if it is not about a change. */
export function eventOf({ method, params }: { method: string; params?: Record<string, unknown> }) {
  const found = Object.entries(methodsOfEvents).find(([, name]) => name === method)
  if (!found) return undefined
  return { kind: found[0], uri: String(params?.uri ?? '') } as ServerEvent
}

/** One `subscriptions/listen` request that stays open. */
export class ListenSubscription {
  readonly id: RequestId
  /** The part of the request that the server can serve. */
  readonly filter: SubscriptionFilter

  constructor({ id, params }: JSONRPCRequest, capabilities: ServerCapabilities) {
    this.id = id
    this.filter = served(params?.notifications as SubscriptionFilter, capabilities)
  }

  acknowledgement(): JSONRPCNotification {
    return this._stamp('notifications/subscriptions/acknowledged', { notifications: this.filter })
  }

  /** The notification of an event; undefined if the client does not want it. */
  notificationOf(event: ServerEvent): JSONRPCNotification | undefined {
    if (!this._wants(event)) return undefined
    return this._stamp(methodsOfEvents[event.kind], event.kind === 'resource_updated' ? { uri: event.uri } : {})
  }

  private _wants(event: ServerEvent): boolean {
    switch (event.kind) {
      case 'tools_list_changed':
        return this.filter.toolsListChanged === true
      case 'prompts_list_changed':
        return this.filter.promptsListChanged === true
      case 'resources_list_changed':
        return this.filter.resourcesListChanged === true
      case 'resource_updated':
        return this.filter.resourceSubscriptions?.includes(event.uri) ?? false
    }
  }

  private _stamp(method: string, params: Record<string, unknown>): JSONRPCNotification {
    return { jsonrpc: '2.0', method, params: { ...params, _meta: { [SUBSCRIPTION_ID_META_KEY]: this.id } } }
  }
}

/** The error response to a `subscriptions/listen` request; undefined if it can be served. */
export function listenProblem(
  request: JSONRPCRequest,
  open: number,
  limit: number,
): { code: number; message: string } | undefined {
  if (open >= limit) return { code: -32603, message: 'Subscription limit reached' }
  if (paramsProblem('subscriptions/listen', request.params) === undefined) return undefined
  const message = "Invalid params: 'notifications' is required and must be a valid SubscriptionFilter"
  return { code: -32602, message }
}

/** How many subscriptions may be open at a time, unless the options say otherwise. */
export const defaultMaxSubscriptions = 1024

function served(wanted: SubscriptionFilter, capabilities: ServerCapabilities): SubscriptionFilter {
  const { tools, prompts, resources } = capabilities
  const uris = wanted.resourceSubscriptions ?? []
  return {
    ...(wanted.toolsListChanged && tools?.listChanged && { toolsListChanged: true }),
    ...(wanted.promptsListChanged && prompts?.listChanged && { promptsListChanged: true }),
    ...(wanted.resourcesListChanged && resources?.listChanged && { resourcesListChanged: true }),
    ...(uris.length > 0 && resources?.subscribe && { resourceSubscriptions: [...uris] }),
  }
}

import type { Exchange } from '../../jsonrpc/exchange.ts'
import type { RequestId, ResultObject } from '../../jsonrpc/message.ts'
import type { ServerCapabilities } from '../../protocol/capabilities.ts'
import { metaKeys } from '../../protocol/meta.ts'
import type { SubscriptionFilter } from '../../protocol/subscriptions.ts'
import { checkAccess, grantedTo, isAllowed } from '../access.ts'
import { type Change, isSubscribed } from '../changes.ts'
import type { Caller, Definition, Reply } from '../server.ts'
import type { UriSet } from '../subscribed-uris.ts'

const filterOf = {
  tools: 'toolsListChanged',
  prompts: 'promptsListChanged',
  resources: 'resourcesListChanged',
} as const

/** One `subscriptions/listen`: acknowledged first, then every change that was asked for, until either side ends it. */
export class Subscription {
  readonly #exchange: Exchange
  readonly #definition: Definition
  readonly #complete: (result: ResultObject) => Reply
  readonly #honoured: SubscriptionFilter
  readonly #uris: UriSet
  readonly #meta: { [metaKeys.subscriptionId]: RequestId }

  /** @param taskIds Tasks that it will hear of. */
  constructor(
    exchange: Exchange,
    caller: Caller,
    definition: Definition,
    complete: (result: ResultObject) => Reply,
    taskIds: string[] | undefined,
  ) {
    this.#exchange = exchange
    this.#definition = definition
    this.#complete = complete
    const wish = exchange.request.params!.notifications as SubscriptionFilter
    const honoured = { ...honour(wish, definition.capabilities()), ...(taskIds && { taskIds }) }
    this.#uris = definition.subscribedUris.createSet(exchange)
    exchange.onEnd(() => this.#uris.clear())
    for (const uri of honoured.resourceSubscriptions ?? []) this.#uris.add(uri)
    // Matching a URI against every template takes time, so the limits of the caller come first.
    for (const uri of this.#uris.values()) checkAccess(exchange, definition.requiredScopesOf(uri))
    this.#meta = { [metaKeys.subscriptionId]: exchange.request.id }
    exchange.notify('notifications/subscriptions/acknowledged', { notifications: honoured, _meta: this.#meta })
    // The URIs are kept in the set, where clients share them, and not once more with each request.
    this.#honoured = { ...honoured, resourceSubscriptions: [] }
    wish.resourceSubscriptions = []
    exchange.onEnd(definition.changes.on((change) => this.#tell(change)))
    if (!taskIds?.length || !definition.tasks) return
    const tell = (task: ResultObject) => exchange.notify('notifications/tasks', { ...task, _meta: this.#meta })
    exchange.onEnd(definition.tasks.follow(taskIds, exchange, caller, tell))
  }

  /**
   * Ends from the server's side. Where all requests share one channel (stdio), 2026-07-28 wants `notifications/cancelled` too
   * (cancellation). On HTTP the result says it all: a client may take a cancellation for a failure.
   */
  end(): void {
    const { request, stream } = this.#exchange
    if (!stream) {
      const reason = 'The server closes the subscription'
      this.#exchange.notify('notifications/cancelled', { requestId: request.id, reason, _meta: this.#meta })
    }
    this.#exchange.reply(this.#complete({ _meta: this.#meta }))
  }

  #mayRead(uri: string): boolean {
    return isAllowed(grantedTo(this.#exchange), this.#definition.requiredScopesOf(uri))
  }

  #tell(change: Change): void {
    if ('list' in change) {
      if (!this.#honoured[filterOf[change.list]]) return
      this.#exchange.notify(`notifications/${change.list}/list_changed`, { _meta: this.#meta })
    } else if (isSubscribed(this.#uris, change) && this.#mayRead(change.updated)) {
      this.#exchange.notify('notifications/resources/updated', { uri: change.updated, _meta: this.#meta })
    }
  }
}

/** The part of the wish that this server can fulfil. */
function honour(wish: SubscriptionFilter, offered: ServerCapabilities): SubscriptionFilter {
  const { toolsListChanged, promptsListChanged, resourcesListChanged, resourceSubscriptions } = wish
  return {
    ...(toolsListChanged && offered.tools?.listChanged && { toolsListChanged }),
    ...(promptsListChanged && offered.prompts?.listChanged && { promptsListChanged }),
    ...(resourcesListChanged && offered.resources?.listChanged && { resourcesListChanged }),
    ...(resourceSubscriptions && offered.resources?.subscribe && { resourceSubscriptions }),
  }
}

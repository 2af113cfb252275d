import type { Exchange } from '../../jsonrpc/exchange.ts'
import type { RequestId, ResultObject } from '../../jsonrpc/message.ts'
import type { Caller } from '../../protocol/caller.ts'
import type { ServerCapabilities } from '../../protocol/capabilities.ts'
import { metaKeys } from '../../protocol/meta.ts'
import type { SubscriptionFilter } from '../../protocol/subscriptions.ts'
import type { Reply } from '../../replay/conversation.ts'
import { checkAccess, grantedTo, isAllowed } from '../access.ts'
import { type Change, isSubscribed } from '../changes.ts'
import type { Definition } from '../server.ts'
import type { UriSet } from '../subscribed-uris.ts'

const filterOf = {
  tools: 'toolsListChanged',
  prompts: 'promptsListChanged',
  resources: 'resourcesListChanged',
} as const

/**
 * One `subscriptions/listen` request: an acknowledgement, then the requested changes until either side ends it. Call `begin` when
 * `confirmed` has resolved.
 */
export class Subscription {
  readonly #exchange: Exchange
  readonly #caller: Caller
  readonly #definition: Definition
  readonly #complete: (result: ResultObject) => Reply
  readonly #honoured: SubscriptionFilter
  readonly #uris: UriSet
  /** Rejects if nothing of what was requested is left; undefined if nobody has to confirm the resources. */
  readonly confirmed: Promise<void> | undefined
  readonly #meta: { [metaKeys.subscriptionId]: RequestId }

  /**
   * @param taskIds The tasks that the client may follow.
   * @param uris The resources that the client may follow. Undefined: all that it asked for.
   */
  constructor(
    exchange: Exchange,
    caller: Caller,
    definition: Definition,
    complete: (result: ResultObject) => Reply,
    taskIds: string[] | undefined,
    uris: string[] | undefined,
  ) {
    this.#exchange = exchange
    this.#caller = caller
    this.#definition = definition
    this.#complete = complete
    const requested = exchange.request.params!.notifications as SubscriptionFilter
    if (uris) requested.resourceSubscriptions = uris
    this.#honoured = { ...honour(requested, definition.capabilities()), ...(taskIds && { taskIds }) }
    this.#uris = definition.subscribedUris.createSet(exchange, caller)
    exchange.onEnd(() => this.#uris.clear())
    const confirming = (this.#honoured.resourceSubscriptions ?? []).flatMap((uri) => this.#uris.add(uri) ?? [])
    if (confirming.length > 0) this.confirmed = this.#confirm(confirming)
    // Nobody waits for it after an error below.
    this.confirmed?.catch(() => {})
    // After the limits of the caller, because matching a URI against every template takes time.
    for (const uri of this.#uris.values()) checkAccess(exchange, definition.requiredScopesOf(uri))
    this.#meta = { [metaKeys.subscriptionId]: exchange.request.id }
  }

  /** Acknowledges what is honoured, and notifies of changes from now on. */
  begin(): void {
    const exchange = this.#exchange
    const { resourceSubscriptions, taskIds } = this.#honoured
    const notifications = {
      ...this.#honoured,
      ...(resourceSubscriptions && {
        resourceSubscriptions: resourceSubscriptions.filter((uri) => this.#uris.has(uri)),
      }),
    }
    exchange.notify('notifications/subscriptions/acknowledged', { notifications, _meta: this.#meta })
    // The set holds the URIs, which it shares between clients. The copies in the request are not needed any more.
    this.#honoured.resourceSubscriptions = []
    const requested = exchange.request.params!.notifications as SubscriptionFilter
    requested.resourceSubscriptions = []
    const { changes, tasks } = this.#definition
    exchange.onEnd(changes.on((change) => this.#notify(change)))
    if (!taskIds?.length || !tasks) return
    const notify = (task: ResultObject) => exchange.notify('notifications/tasks', { ...task, _meta: this.#meta })
    exchange.onEnd(tasks.follow(taskIds, exchange, this.#caller, notify))
  }

  /** A resource that is refused is not acknowledged, and does not affect the others. */
  async #confirm(confirming: readonly Promise<void>[]): Promise<void> {
    const outcomes = await Promise.allSettled(confirming)
    const { resourceSubscriptions: _uris, ...others } = this.#honoured
    const failed = outcomes.find((outcome) => outcome.status === 'rejected')
    if (failed && this.#uris.size === 0 && Object.keys(others).length === 0) throw failed.reason
  }

  /**
   * Ends the subscription from the server. If all requests share one channel (stdio), `notifications/cancelled` is required too
   * (2026-07-28 cancellation). On HTTP it is not sent, because clients may treat it as a failure.
   */
  end(): void {
    const { request, stream } = this.#exchange
    if (!stream) {
      const reason = 'The server closed the subscription'
      this.#exchange.notify('notifications/cancelled', { requestId: request.id, reason, _meta: this.#meta })
    }
    this.#exchange.reply(this.#complete({ _meta: this.#meta }))
  }

  #mayRead(uri: string): boolean {
    return isAllowed(grantedTo(this.#exchange), this.#definition.requiredScopesOf(uri))
  }

  #notify(change: Change): void {
    if ('list' in change) {
      if (!this.#honoured[filterOf[change.list]]) return
      this.#exchange.notify(`notifications/${change.list}/list_changed`, { _meta: this.#meta })
    } else if (isSubscribed(this.#uris, change) && this.#mayRead(change.updated)) {
      this.#exchange.notify('notifications/resources/updated', { uri: change.updated, _meta: this.#meta })
    }
  }
}

/** The part of the filter that the server supports. */
function honour(requested: SubscriptionFilter, offered: ServerCapabilities): SubscriptionFilter {
  const { toolsListChanged, promptsListChanged, resourcesListChanged, resourceSubscriptions } = requested
  return {
    ...(toolsListChanged && offered.tools?.listChanged && { toolsListChanged }),
    ...(promptsListChanged && offered.prompts?.listChanged && { promptsListChanged }),
    ...(resourcesListChanged && offered.resources?.listChanged && { resourcesListChanged }),
    ...(resourceSubscriptions && offered.resources?.subscribe && { resourceSubscriptions }),
  }
}

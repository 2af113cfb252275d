import type { RequestId } from '../jsonrpc/message.ts'
import type { NotificationParams, RequestParams, Result } from './base.ts'
import type { metaKeys, ResultMeta } from './meta.ts'

/** The changes that a client subscribes to. Since 2026-07-28. */
export interface SubscriptionFilter {
  toolsListChanged?: boolean
  promptsListChanged?: boolean
  resourcesListChanged?: boolean
  /** URIs of resources. */
  resourceSubscriptions?: string[]
  /** From the tasks extension. */
  taskIds?: string[]
}

/** Params of `subscriptions/listen`. Since 2026-07-28. */
export interface ListenParams extends RequestParams {
  notifications: SubscriptionFilter
}

/** Result of `subscriptions/listen`, sent only when the server ends the stream itself. Since 2026-07-28. */
export interface ListenResult extends Result {
  _meta: ResultMeta & { [metaKeys.subscriptionId]: RequestId }
}

/** Params of `notifications/subscriptions/acknowledged`. Since 2026-07-28. */
export interface SubscriptionsAcknowledgedParams extends NotificationParams {
  /** The part of the filter that the server supports. */
  notifications: SubscriptionFilter
}

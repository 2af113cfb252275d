/** An object of its own for each subscription, because a listener may subscribe twice. */
export interface Subscription {
  readonly listener: (message: string) => void
}

/** Tells everyone who subscribed; one that fails keeps nobody else from hearing. */
export function deliver(
  subscriptions: Set<Subscription> | undefined,
  message: string,
  onError: (error: unknown) => void,
): void {
  if (!subscriptions) return
  // A copy: who subscribes on hearing this message hears the next one first.
  for (const subscription of [...subscriptions]) {
    if (!subscriptions.has(subscription)) continue
    try {
      subscription.listener(message)
    } catch (error) {
      onError(error)
    }
  }
}

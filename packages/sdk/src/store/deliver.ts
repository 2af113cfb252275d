/** A separate object for each subscription, because a listener may subscribe twice. */
export interface Subscription {
  readonly listener: (message: string) => void
}

/** Calls every listener. An error in one listener does not affect the others. */
export function deliver(
  subscriptions: Set<Subscription> | undefined,
  message: string,
  onError: (error: unknown) => void,
): void {
  if (!subscriptions) return
  // Iterate over a copy: a listener that is added during delivery starts with the next message.
  for (const subscription of [...subscriptions]) {
    if (!subscriptions.has(subscription)) continue
    try {
      subscription.listener(message)
    } catch (error) {
      onError(error)
    }
  }
}

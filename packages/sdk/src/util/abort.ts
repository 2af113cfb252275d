/**
 * Waits for the work, but rejects as soon as the signal aborts. The work itself continues, for example because a
 * `fetch` ignores its signal or because a DNS lookup cannot be cancelled.
 *
 * @param toError Converts the abort reason to an error. Default: the reason itself.
 */
export function untilAborted<T>(
  work: PromiseLike<T>,
  signal: AbortSignal,
  toError: (reason: unknown) => unknown = (reason) => reason,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(toError(signal.reason))
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort)
    const settle = () => signal.removeEventListener('abort', onAbort)
    work.then(
      (value) => {
        settle()
        resolve(value)
      },
      (error) => {
        settle()
        reject(error)
      },
    )
  })
}

/** A signal that follows others until it is released. */
export interface JoinedSignal {
  readonly signal: AbortSignal
  /** Call it when the signal is not needed any more. */
  release(): void
}

/** The signals that follow each signal. */
const followers = new WeakMap<AbortSignal, Set<AbortController>>()

/**
 * Creates a signal that aborts with any of the others. For each call of `AbortSignal.any`, Node 20 leaves a weak reference on a
 * signal that lives long, such as that of a client. Here each of them has one listener, however many follow it.
 */
export function joinSignals(signals: readonly AbortSignal[]): JoinedSignal {
  const controller = new AbortController()
  const aborted = signals.find((signal) => signal.aborted)
  if (aborted) controller.abort(aborted.reason)
  else for (const signal of signals) followersOf(signal).add(controller)
  return {
    signal: controller.signal,
    release: () => {
      for (const signal of signals) followers.get(signal)?.delete(controller)
    },
  }
}

function followersOf(signal: AbortSignal): Set<AbortController> {
  const known = followers.get(signal)
  if (known) return known
  const created = new Set<AbortController>()
  followers.set(signal, created)
  const onAbort = () => {
    for (const controller of created) controller.abort(signal.reason)
  }
  signal.addEventListener('abort', onAbort, { once: true })
  return created
}

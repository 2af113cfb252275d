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

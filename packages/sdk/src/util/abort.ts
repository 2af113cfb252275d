/**
 * Waits for the work, but rejects as soon as the signal aborts. The work itself goes on, for example because a `fetch` ignores
 * its signal or because a DNS lookup cannot be cancelled.
 *
 * @param toError Makes the error of the reason that the signal was aborted with. Default: the reason itself.
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

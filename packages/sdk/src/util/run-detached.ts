/** Calls what is not ours, where nobody waits for it: a failure, now or later, is reported and goes no further. */
export function runDetached(work: () => unknown, report: (error: unknown) => void): Promise<void> {
  return (async () => {
    try {
      await work()
    } catch (error) {
      report(error)
    }
  })()
}

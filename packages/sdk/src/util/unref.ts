/** Node keeps a process alive for a timer unless told otherwise; other runtimes have nothing to tell. */
export function unref(timer: unknown): void {
  ;(timer as { unref?: () => void }).unref?.()
}

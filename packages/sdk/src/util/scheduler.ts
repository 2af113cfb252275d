/** A timer of `scheduler.setTimeout` or `scheduler.setInterval`. */
export type Timer = ReturnType<typeof setTimeout>

/** Callbacks of `new Promise` take an optional value, so they can be passed as they are. */
type Callback = (value?: undefined) => void

/**
 * The library's only source of timers. The globals are looked up at every call, because tests replace them with fake
 * timers; a simulation replaces the methods.
 */
export const scheduler = {
  setTimeout: (run: Callback, delayMs: number): Timer => setTimeout(run, delayMs),
  clearTimeout: (timer: Timer | undefined): void => clearTimeout(timer),
  setInterval: (run: Callback, intervalMs: number): Timer => setInterval(run, intervalMs),
  clearInterval: (timer: Timer | undefined): void => clearInterval(timer),
  /** Runs after pending I/O events. Node.js only. */
  setImmediate: (run: Callback): NodeJS.Immediate => setImmediate(run),
  clearImmediate: (immediate: NodeJS.Immediate | undefined): void => clearImmediate(immediate),
  /** Lets the process exit while this timer is pending. Runtimes other than Node.js never wait for timers. */
  unref: (timer: unknown): void => (timer as { unref?: () => void }).unref?.(),
}

/** Returns a signal that aborts with a `TimeoutError` after a delay. Does not keep the process running. */
export function timeoutSignal(delayMs: number): AbortSignal {
  const controller = new AbortController()
  const abort = () => controller.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError'))
  scheduler.unref(scheduler.setTimeout(abort, delayMs))
  return controller.signal
}

export interface PauseOptions {
  /** Ends the pause early. */
  signal?: AbortSignal | undefined
  /** Lets the process exit during the pause. Default false. */
  unref?: boolean | undefined
}

/** Waits. The promise never rejects: check `signal` afterwards. */
export function pause(delayMs: number, { signal, unref: isUnref = false }: PauseOptions = {}): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      scheduler.clearTimeout(timer)
      signal?.removeEventListener('abort', done)
      resolve()
    }
    const timer = scheduler.setTimeout(done, delayMs)
    if (isUnref) scheduler.unref(timer)
    signal?.addEventListener('abort', done)
    if (signal?.aborted) done()
  })
}

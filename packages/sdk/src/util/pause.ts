import { unref } from './unref.ts'

/** Waits; ends early when the signal aborts. */
export function pause(delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, delayMs)
    signal.addEventListener('abort', done)
    if (signal.aborted) done()
  })
}

/** Waits without keeping a process alive. */
export function elapsed(ms: number): Promise<void> {
  return new Promise((resolve) => unref(setTimeout(resolve, ms)))
}

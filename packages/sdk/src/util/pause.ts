import { scheduler } from './scheduler.ts'

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

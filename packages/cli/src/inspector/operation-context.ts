import { AsyncLocalStorage } from 'node:async_hooks'

/** The operation that the running code belongs to. Requests that the client sends for it are found this way. */
const running = new AsyncLocalStorage<string | undefined>()

/** Runs code that belongs to an operation, or to none. */
export function inOperation<T>(operation: string | undefined, work: () => T): T {
  return running.run(operation, work)
}

/** Returns the id of the operation that the running code belongs to. */
export function currentOperation(): string | undefined {
  return running.getStore()
}

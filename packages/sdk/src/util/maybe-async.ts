/** Go on with a value now if it is here, later if it is a promise. Saves a microtask where nothing is awaited. */
export function chain<T, R>(value: T | Promise<T>, next: (value: T) => R | Promise<R>): R | Promise<R>
export function chain<T, R>(value: T | PromiseLike<T>, next: (value: T) => R | PromiseLike<R>): R | PromiseLike<R>
export function chain<T, R>(value: T | PromiseLike<T>, next: (value: T) => R | PromiseLike<R>): R | PromiseLike<R> {
  return isThenable(value) ? toPromise(value).then(next) : next(value)
}

/** Whether `await` would wait for it: a promise of any realm, a query builder, a function with a `then`. */
export function isThenable<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  const canHaveThen = (typeof value === 'object' && value !== null) || typeof value === 'function'
  return canHaveThen && typeof (value as { then?: unknown }).then === 'function'
}

/** The `then` of a foreign object may answer at once, twice, or with something that is not a promise. */
export function toPromise<T>(value: PromiseLike<T>): Promise<T> {
  return value instanceof Promise ? value : Promise.resolve(value)
}

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

/** Calls `next` immediately with a value, or later if the value is a promise. Saves a microtask for plain values. */
export function chain<T, R>(value: T | Promise<T>, next: (value: T) => R | Promise<R>): R | Promise<R>
export function chain<T, R>(value: T | PromiseLike<T>, next: (value: T) => R | PromiseLike<R>): R | PromiseLike<R>
export function chain<T, R>(value: T | PromiseLike<T>, next: (value: T) => R | PromiseLike<R>): R | PromiseLike<R> {
  return isThenable(value) ? toPromise(value).then(next) : next(value)
}

/** Whether `await` would wait for the value: a promise of any realm, a query builder, or a function with a `then`. */
export function isThenable<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  const canHaveThen = (typeof value === 'object' && value !== null) || typeof value === 'function'
  return canHaveThen && typeof (value as { then?: unknown }).then === 'function'
}

/** Wraps foreign objects, whose `then` may resolve synchronously, resolve twice, or not return a promise. */
export function toPromise<T>(value: PromiseLike<T>): Promise<T> {
  return value instanceof Promise ? value : Promise.resolve(value)
}

/** Calls foreign code without waiting for it. Errors are reported, also asynchronous ones, and never thrown. */
export function runDetached(work: () => unknown, report: (error: unknown) => void): Promise<void> {
  return (async () => {
    try {
      await work()
    } catch (error) {
      report(error)
    }
  })()
}

export type AnyClass = abstract new (...args: never[]) => unknown

/** The body of a static `isInstance`. Throws if it was called without its class. */
export function isInstanceOf<T extends AnyClass>(Class: T, value: unknown): value is InstanceType<T> {
  if (typeof Class !== 'function') {
    throw new TypeError('isInstance must be called on the class: (value) => OAuthClientFlowError.isInstance(value)')
  }
  return value instanceof Class
}

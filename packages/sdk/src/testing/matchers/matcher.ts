/** What a matcher returns to `expect`. */
export interface MatcherResult {
  readonly pass: boolean
  readonly message: () => string
  readonly actual?: unknown
  readonly expected?: unknown
}

/** The part of `this` that vitest and Jest give to a matcher and that is used here. */
export interface MatcherContext {
  readonly isNot?: boolean
  equals(a: unknown, b: unknown, customTesters?: never[], strict?: boolean): boolean
  readonly utils: {
    printReceived(value: unknown): string
    printExpected(value: unknown): string
    matcherHint(name: string, received?: string, expected?: string, options?: { isNot?: boolean }): string
  }
}

/** What a matcher found, before it is described for a failure. */
export interface Check {
  readonly name: string
  readonly pass: boolean
  /** What was expected, as one line without the label; `not` is written before it if needed. */
  readonly expected: string
  /** What was there instead, as one or more lines. */
  readonly received: string
  /** Values that the test runner can show as a difference. */
  readonly values?: { readonly actual: unknown; readonly expected: unknown } | undefined
}

/** Describes a check in the style of the built-in matchers. */
export function toResult(context: MatcherContext, check: Check): MatcherResult {
  const { name, pass, expected, received, values } = check
  const message = () =>
    [
      context.utils.matcherHint(name, 'received', '', { isNot: context.isNot === true }),
      '',
      `Expected: ${context.isNot ? 'not ' : ''}${expected}`,
      `Received: ${received}`,
    ].join('\n')
  return { pass, message, ...values }
}

/**
 * A value of the wrong kind is a mistake in the test, so it fails with and without `.not`.
 * @param accepted What the matcher takes, such as "a tool result".
 */
export function wrongKind(context: MatcherContext, name: string, received: unknown, accepted: string): never {
  const isPromise = typeof (received as { then?: unknown } | null | undefined)?.then === 'function'
  const advice = isPromise ? 'It is a promise: write "await" in front of the call, or use ".resolves".' : ''
  throw new TypeError(
    `${name} takes ${accepted}, but received ${isPromise ? 'a promise' : context.utils.printReceived(received)}. ${advice}`.trimEnd(),
  )
}

/** A text that must be equal as a whole, or an expression that must match anywhere. */
export type TextPattern = string | RegExp

/** Whether a text is the expected one. */
export function matchesText(text: string, pattern: TextPattern): boolean {
  return typeof pattern === 'string' ? text === pattern : text.search(pattern) !== -1
}

/** Whether every member that is expected is there. Values may be asymmetric matchers such as `expect.any(Number)`. */
export function matchesMembers(context: MatcherContext, value: object, expected: object): boolean {
  return Object.entries(expected).every(([key, member]) => context.equals(Reflect.get(value, key), member))
}

/** The three functions of a test runner that the suites use; those of vitest, jest and bun fit. */
export interface TestRunner {
  describe(name: string, body: () => void): unknown
  it(title: string, body: () => Promise<void>): unknown
  expect(value: unknown): { toBe(expected: unknown): unknown; toEqual(expected: unknown): unknown }
}

/** How to get what is tested, once for every test, and how to get rid of it. */
export interface Driver<T> {
  /** Gives an empty one. */
  open(): T | Promise<T>
  close?(opened: T): void | Promise<void>
}

export type Test<T> = (title: string, body: (opened: T) => Promise<void>) => void

/** The runner's `it`, with a fresh driver for every test. */
export function testsOf<T>(runner: TestRunner, driver: Driver<T>): Test<T> {
  return (title, body) => {
    runner.it(title, async () => {
      const opened = await driver.open()
      try {
        await body(opened)
      } finally {
        await driver.close?.(opened)
      }
    })
  }
}

export async function errorOf(run: () => unknown): Promise<unknown> {
  try {
    await run()
  } catch (error) {
    return error
  }
  return undefined
}

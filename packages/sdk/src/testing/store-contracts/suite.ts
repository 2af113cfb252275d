/** The functions of a test runner that the suites use. Those of vitest, jest and bun fit. */
export interface TestRunner {
  describe(name: string, body: () => void): unknown
  it(title: string, body: () => Promise<void>): unknown
  expect(value: unknown): { toBe(expected: unknown): unknown; toEqual(expected: unknown): unknown }
}

/** Opens the tested object before each test, and closes it afterwards. */
export interface Driver<T> {
  /** Opens an empty one. */
  open(): T | Promise<T>
  close?(opened: T): void | Promise<void>
}

export type Test<T> = (title: string, body: (opened: T) => Promise<void>) => void

/** Returns the `it` of the runner, which opens the driver for every test. */
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

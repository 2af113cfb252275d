import type { TestRunner } from './suite.ts'
import { expiring, keeping, limiting, listing } from './task-records.ts'
import { entriesOf, type Suite, type TaskStoreDriver, testsOf } from './task-store-suite.ts'
import { watching } from './task-watchers.ts'
import { dying, stopping, takingTurns, working, workingAgain } from './task-workers.ts'

/** The test suite that every task store must pass. It advances the time by about four seconds. */
export function taskStoreContract(runner: TestRunner, name: string, driver: TaskStoreDriver): void {
  const suite: Suite = { it: testsOf(runner, driver), expect: runner.expect, driver, entry: entriesOf(driver) }

  runner.describe(`${name}, a task store`, () => {
    keeping(suite)
    listing(suite)
    expiring(suite)
    limiting(suite)
    working(suite)
    takingTurns(suite)
    workingAgain(suite)
    stopping(suite)
    watching(suite)
    if (driver.join) dying(suite)
  })
}

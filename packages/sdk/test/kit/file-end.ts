/** What to do at the end of the test file that runs. */
const ends: (() => void | Promise<void>)[] = []

/**
 * Closes something that the tests of a file share, when all of them have run. `afterAll` in a module of helpers would run only
 * for the first of the files that share a worker, because the module is loaded once.
 */
export function atFileEnd(end: () => void | Promise<void>): void {
  ends.push(end)
}

/** Runs what `atFileEnd` was given, the latest first. */
export async function endFile(): Promise<void> {
  for (let end = ends.pop(); end; end = ends.pop()) await end()
}

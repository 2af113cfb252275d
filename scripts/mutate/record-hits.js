// Writes which functions and branches of the sources ran in a test file. Files share a process, so the record begins anew with each.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect } from 'vitest'

afterAll(() => {
  const { testPath } = expect.getState()
  const hits = {}
  for (const [path, functions] of globalThis.__tenonHits ?? []) {
    const run = [...functions.keys()].filter((index) => functions[index] === 1)
    functions.fill(0)
    if (run.length > 0) hits[path] = run
  }
  writeFileSync(join(process.env.TENON_HITS, encodeURIComponent(testPath)), JSON.stringify(hits))
})

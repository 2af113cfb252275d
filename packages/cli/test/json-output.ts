import { readFileSync } from 'node:fs'
import { compileJsonSchema } from 'tenon/server'
import { expect } from 'vitest'

/** Parses the output of `--json` and expects that it matches the documented schema in `test/schemas`. */
export function parseOutput(stdout: string, schema: string): ReturnType<typeof JSON.parse> {
  const value = JSON.parse(stdout)
  const text = readFileSync(new URL(`./schemas/${schema}.json`, import.meta.url), 'utf8')
  expect(compileJsonSchema(JSON.parse(text), { formats: true })(value)).toBeUndefined()
  return value
}

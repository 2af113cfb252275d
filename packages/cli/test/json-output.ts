import { readFileSync } from 'node:fs'
import { compileJsonSchema } from 'tenon/server'
import { expect } from 'vitest'

/** Parses the output of `--json`, and checks it against the schema of the command in `schemas/`. */
export function readJson(name: string, text: string): ReturnType<typeof JSON.parse> {
  const schema = JSON.parse(readFileSync(new URL(`./schemas/${name}.json`, import.meta.url), 'utf8'))
  const value = JSON.parse(text)
  const problems = compileJsonSchema(schema, { formats: true })(value)
  expect(problems, `${name} --json`).toBeUndefined()
  return value
}

import { readFileSync } from 'node:fs'
import { expect } from 'vitest'
import { compileJsonSchema, type JsonSchema } from '../../sdk/src/schema/json-schema.ts'

/** Parses the output of `--json`, and checks it against the schema of the command in `schemas/`. */
// biome-ignore lint/suspicious/noExplicitAny: tests read members of the document directly
export function readJson(name: string, text: string): any {
  const schema: JsonSchema = JSON.parse(readFileSync(new URL(`./schemas/${name}.json`, import.meta.url), 'utf8'))
  const value: unknown = JSON.parse(text)
  const problems = compileJsonSchema(schema)(value)
  expect(problems, `${name} --json`).toBeUndefined()
  return value
}

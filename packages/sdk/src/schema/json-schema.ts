import { compileRoot } from './compile.ts'
import { Library } from './library.ts'
import { createRunner } from './run.ts'
import type { SchemaError } from './schema-error.ts'

export { SchemaError } from './schema-error.ts'

/** A JSON Schema object. */
export type JsonSchema = { [keyword: string]: unknown }

/** One thing that is wrong with a value. */
export interface SchemaIssue {
  /** JSON Pointer into the value; `''` is the root. A missing property is named by its own path. */
  path: string
  message: string
}

/** Checks a value: its issues (at most 20), or `undefined` when it is valid. */
export type JsonSchemaCheck = (value: unknown) => SchemaIssue[] | undefined

export interface CompileOptions {
  /** Other schemas a `$ref` may name, by absolute URI. Nothing is ever fetched. Default: none. */
  documents?: Record<string, JsonSchema | boolean>
  /** Check the formats email, uri, date, time, date-time, uuid, ipv4 and ipv6. Default: false, `format` only annotates. */
  formats?: boolean
  /** Levels of nesting a value may have; a deeper one is an issue. Default: 256. */
  maxDepth?: number
  /** Steps one check may take; one that needs more ends with an issue. Default: 10,000,000. */
  maxSteps?: number
  /** Levels of nesting a schema may have. Default: 128. */
  maxSchemaDepth?: number
  /** Subschemas a schema may have, together with every document it refers to. Default: 10,000. */
  maxSubschemas?: number
  /** Characters a `pattern` may have. Default: 1,000. */
  maxPatternLength?: number
  /**
   * Called for each part of the schema that cannot be used, such as a keyword with a wrong value, an unknown reference or
   * an unsupported pattern. That part is then left out of the check instead of failing the compilation. Values are
   * never refused because something was left out.
   */
  onSkip?: (reason: SchemaError) => void
}

/**
 * Compiles a JSON Schema once, to check values against it many times.
 *
 * Dialects: 2020-12 (also when there is no `$schema`) and draft-07. A property whose value is `undefined` counts as
 * absent, as it does in `JSON.stringify`.
 *
 * ```ts
 * const check = compileJsonSchema({ type: 'object', properties: { age: { type: 'integer' } }, required: ['age'] })
 * check({ age: 'ten' }) // [{ path: '/age', message: 'must be an integer, got string' }]
 * ```
 *
 * @throws SchemaError when the schema is malformed, over a limit, or refers to something that is not at hand
 */
export function compileJsonSchema(
  schema: JsonSchema | boolean,
  {
    documents = {},
    formats = false,
    maxDepth = 256,
    maxSteps = 10_000_000,
    maxSchemaDepth = 128,
    maxSubschemas = 10_000,
    maxPatternLength = 1_000,
    onSkip,
  }: CompileOptions = {},
): JsonSchemaCheck {
  const library = new Library(schema, { documents, maxSchemaDepth, maxSubschemas, onSkip })
  const root = compileRoot(library, formats, maxPatternLength)
  return createRunner(root, library.root.base, maxDepth, maxSteps)
}

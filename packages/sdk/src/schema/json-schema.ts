import { compileCheck } from './compile-check.ts'
import { allFormats } from './more-formats.ts'
import type { SchemaError } from './schema-error.ts'

export { SchemaError } from './schema-error.ts'

/** A JSON Schema object. */
export type JsonSchema = { [keyword: string]: unknown }

/** An issue of a value. */
export interface SchemaIssue {
  /** JSON Pointer into the value; `''` is the root. The path of a missing property includes its name. */
  path: string
  message: string
}

/** Checks a value. Returns its issues (at most 20), or `undefined` if it is valid. */
export type JsonSchemaCheck = (value: unknown) => SchemaIssue[] | undefined

/**
 * Compiles a JSON Schema into a check, as `compileJsonSchema` does. Throws if the schema cannot be used.
 *
 * Pass one of yours as `compileJsonSchema` to `McpServer` or `Client` to use another validator.
 *
 * @example
 * ```ts
 * const ajv = new Ajv2020({ allErrors: true })
 * const compile: JsonSchemaCompiler = (schema) => {
 *   const validate = ajv.compile(schema)
 *   return (value) =>
 *     validate(value)
 *       ? undefined
 *       : validate.errors?.map(({ instancePath, message = 'is invalid' }) => ({ path: instancePath, message }))
 * }
 * const client = new Client({ name: 'app', version: '1.0.0' }, { compileJsonSchema: compile })
 * ```
 */
export type JsonSchemaCompiler = (schema: JsonSchema) => JsonSchemaCheck

export interface CompileOptions {
  /** Other schemas that a `$ref` may point to, by absolute URI. They are never fetched. Default: none. */
  documents?: Record<string, JsonSchema | boolean>
  /** Checks all formats of JSON Schema 2020-12. Default: false (`format` annotates). */
  formats?: boolean
  /** The maximum nesting depth of a value. A deeper value has an issue. Default: 256. */
  maxDepth?: number
  /** The maximum number of steps of one check. A check that needs more ends with an issue. Default: 10,000,000. */
  maxSteps?: number
  /** The maximum nesting depth of a schema. Default: 128. */
  maxSchemaDepth?: number
  /** The maximum number of subschemas, including those of every document that the schema refers to. Default: 10,000. */
  maxSubschemas?: number
  /** The maximum length of a `pattern` in characters. Default: 1,000. */
  maxPatternLength?: number
  /**
   * Called for each part of the schema that cannot be used, such as a keyword with a wrong value, an unknown reference
   * or an unsupported pattern. That part is then skipped instead of failing the compilation. Values are never rejected
   * because of a skipped part.
   */
  onSkip?: (reason: SchemaError) => void
}

/**
 * Compiles a JSON Schema once, so that many values can be checked against it.
 *
 * Dialects: 2020-12 (also when there is no `$schema`) and draft-07. A property whose value is `undefined` counts as
 * absent, as it does in `JSON.stringify`.
 *
 * ```ts
 * const check = compileJsonSchema({ type: 'object', properties: { age: { type: 'integer' } }, required: ['age'] })
 * check({ age: 'ten' }) // [{ path: '/age', message: 'must be an integer, got string' }]
 * ```
 *
 * @throws SchemaError if the schema is malformed, exceeds a limit, or refers to a schema that is not available
 */
export function compileJsonSchema(
  schema: JsonSchema | boolean,
  { formats = false, ...options }: CompileOptions = {},
): JsonSchemaCheck {
  return compileCheck(schema, options, formats ? allFormats : undefined)
}

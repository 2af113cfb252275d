import { createCompiler } from './compile.ts'
import { DEFAULT_DIALECT } from './dialect.ts'
import { Library } from './library.ts'
import { createRunner } from './run.ts'
import { SchemaError } from './schema-error.ts'

export { SchemaError }

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
  /** Other schemas a `$ref` or `$schema` may name, by absolute URI. Nothing is ever fetched. Default: none. */
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
}

/**
 * Compiles a JSON Schema once, to check values against it many times.
 *
 * Dialects: 2020-12 (also when there is no `$schema`), 2019-09, draft-07 and draft-06. A property whose value is
 * `undefined` counts as absent, as it does in `JSON.stringify`.
 *
 * ```ts
 * const check = compileJsonSchema({ type: 'object', properties: { age: { type: 'integer' } }, required: ['age'] })
 * check({ age: 'ten' }) // [{ path: '/age', message: 'must be an integer, got string' }]
 * ```
 *
 * @throws SchemaError when the schema is malformed, over a limit, or refers to something that is not at hand
 */
export function compileJsonSchema(schema: JsonSchema | boolean, options: CompileOptions = {}): JsonSchemaCheck {
  const limits = {
    maxDepth: options.maxDepth ?? 256,
    maxSteps: options.maxSteps ?? 10_000_000,
    maxSchemaDepth: options.maxSchemaDepth ?? 128,
    maxSubschemas: options.maxSubschemas ?? 10_000,
    maxPatternLength: options.maxPatternLength ?? 1_000,
  }
  const library = new Library(options.documents ?? {}, limits)
  const root = library.addRoot(schema, DEFAULT_DIALECT)
  checkCustomMetaschema(schema, root.dialect.metaschema, options)
  const check = createCompiler(library, options.formats ?? false, limits.maxPatternLength).compile(root)
  return createRunner(check, root.resource, limits)
}

function checkCustomMetaschema(schema: unknown, metaschema: JsonSchema | undefined, options: CompileOptions): void {
  if (metaschema === undefined) return
  const issue = compileJsonSchema(metaschema, options)(schema)?.[0]
  if (issue) throw new SchemaError(`The schema does not follow its own $schema: ${issue.message}`, issue.path)
}

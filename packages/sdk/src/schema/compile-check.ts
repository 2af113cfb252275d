import { compileRoot } from './compile.ts'
import type { Formats } from './formats.ts'
import type { CompileOptions, JsonSchema, JsonSchemaCheck } from './json-schema.ts'
import { Library } from './library.ts'
import { createRunner } from './run.ts'

/**
 * Compiles a JSON Schema. `compileJsonSchema` without the formats, so that bundles of servers do not include them.
 * @param formats The formats to check. Default: none.
 */
export function compileCheck(
  schema: JsonSchema | boolean,
  {
    documents = {},
    maxDepth = 256,
    maxSteps = 10_000_000,
    maxSchemaDepth = 128,
    maxSubschemas = 10_000,
    maxPatternLength = 1_000,
    onSkip,
  }: Omit<CompileOptions, 'formats'> = {},
  formats?: Formats,
): JsonSchemaCheck {
  const library = new Library(schema, { documents, maxSchemaDepth, maxSubschemas, onSkip })
  const root = compileRoot(library, formats, maxPatternLength)
  return createRunner(root, library.root.base, maxDepth, maxSteps)
}

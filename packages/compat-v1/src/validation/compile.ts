import { compileJsonSchema, type JsonSchema, type SchemaIssue } from 'tenon/server'
import type { JsonSchemaType, JsonSchemaValidator } from './types.ts'

/** Compiles a schema with Tenon's own engine. Formats are checked, as the validators of version 1 do. */
export function compile<T>(
  schema: JsonSchemaType,
  describe: (issues: SchemaIssue[]) => string,
): JsonSchemaValidator<T> {
  const check = compileJsonSchema(schema as JsonSchema, { formats: true })
  return (input) => {
    const issues = check(input)
    return issues
      ? { valid: false, data: undefined, errorMessage: describe(issues) }
      : { valid: true, data: input as T, errorMessage: undefined }
  }
}

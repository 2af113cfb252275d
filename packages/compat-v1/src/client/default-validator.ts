import { compileJsonSchema } from 'tenon/server'
import type { JsonSchemaType, JsonSchemaValidator, jsonSchemaValidator } from '../validation/types.ts'

/** Checks values with the JSON Schema engine of Tenon. */
export const defaultValidator: jsonSchemaValidator = {
  getValidator<T>(schema: JsonSchemaType): JsonSchemaValidator<T> {
    const check = compileJsonSchema(schema as Record<string, unknown>)
    return (input) => {
      const issues = check(input)
      if (!issues) return { valid: true, data: input as T, errorMessage: undefined }
      const errorMessage = issues.map(({ path, message }) => `data${path} ${message}`).join(', ')
      return { valid: false, data: undefined, errorMessage }
    }
  },
}

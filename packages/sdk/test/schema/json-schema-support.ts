import { type CompileOptions, compileJsonSchema, type JsonSchema, SchemaError } from '../../src/schema/json-schema.ts'

export function isValid(schema: JsonSchema | boolean, value: unknown, options?: CompileOptions): boolean {
  return compileJsonSchema(schema, options)(value) === undefined
}

export function refusal(schema: JsonSchema, options?: CompileOptions): SchemaError {
  try {
    compileJsonSchema(schema, options)
  } catch (error) {
    if (error instanceof SchemaError) return error
    throw error
  }
  throw new Error('The schema was accepted')
}

/** A JSON Schema. */
export type JsonSchemaType = Record<string, unknown>

/** The result of a check: the value with its type, or what is wrong with it. */
export type JsonSchemaValidatorResult<T> =
  | { valid: true; data: T; errorMessage: undefined }
  | { valid: false; data: undefined; errorMessage: string }

/** Checks values against one schema. */
export type JsonSchemaValidator<T> = (input: unknown) => JsonSchemaValidatorResult<T>

/** Creates checks for JSON Schemas. */
export interface jsonSchemaValidator {
  getValidator<T>(schema: JsonSchemaType): JsonSchemaValidator<T>
}

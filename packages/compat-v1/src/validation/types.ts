/** A JSON Schema, of 2020-12 or draft-07. */
export interface JsonSchemaType {
  $schema?: string | undefined
  $id?: string | undefined
  $ref?: string | undefined
  $anchor?: string | undefined
  $dynamicRef?: string | undefined
  $dynamicAnchor?: string | undefined
  $comment?: string | undefined
  $defs?: Record<string, JsonSchemaType | boolean> | undefined
  $vocabulary?: Record<string, boolean> | undefined
  title?: string | undefined
  description?: string | undefined
  default?: unknown
  examples?: unknown[] | undefined
  deprecated?: boolean | undefined
  readOnly?: boolean | undefined
  writeOnly?: boolean | undefined
  type?: JsonSchemaTypeName | JsonSchemaTypeName[] | undefined
  const?: unknown
  enum?: unknown[] | undefined
  format?: string | undefined
  minLength?: number | undefined
  maxLength?: number | undefined
  pattern?: string | undefined
  contentEncoding?: string | undefined
  contentMediaType?: string | undefined
  contentSchema?: JsonSchemaType | boolean | undefined
  minimum?: number | undefined
  maximum?: number | undefined
  exclusiveMinimum?: number | undefined
  exclusiveMaximum?: number | undefined
  multipleOf?: number | undefined
  items?: JsonSchemaType | boolean | undefined
  prefixItems?: (JsonSchemaType | boolean)[] | undefined
  contains?: JsonSchemaType | boolean | undefined
  minContains?: number | undefined
  maxContains?: number | undefined
  minItems?: number | undefined
  maxItems?: number | undefined
  uniqueItems?: boolean | undefined
  unevaluatedItems?: JsonSchemaType | boolean | undefined
  properties?: Record<string, JsonSchemaType | boolean> | undefined
  patternProperties?: Record<string, JsonSchemaType | boolean> | undefined
  additionalProperties?: JsonSchemaType | boolean | undefined
  propertyNames?: JsonSchemaType | boolean | undefined
  required?: string[] | undefined
  minProperties?: number | undefined
  maxProperties?: number | undefined
  dependentRequired?: Record<string, string[]> | undefined
  dependentSchemas?: Record<string, JsonSchemaType | boolean> | undefined
  unevaluatedProperties?: JsonSchemaType | boolean | undefined
  allOf?: (JsonSchemaType | boolean)[] | undefined
  anyOf?: (JsonSchemaType | boolean)[] | undefined
  oneOf?: (JsonSchemaType | boolean)[] | undefined
  not?: JsonSchemaType | boolean | undefined
  if?: JsonSchemaType | boolean | undefined
  then?: JsonSchemaType | boolean | undefined
  else?: JsonSchemaType | boolean | undefined
}

type JsonSchemaTypeName = 'array' | 'boolean' | 'integer' | 'null' | 'number' | 'object' | 'string'

/** What a check says about a value. */
export type JsonSchemaValidatorResult<T> =
  | { valid: true; data: T; errorMessage: undefined }
  | { valid: false; data: undefined; errorMessage: string }

/** Checks a value against the schema that it was made for. */
export type JsonSchemaValidator<T> = (input: unknown) => JsonSchemaValidatorResult<T>

/** Makes checks from JSON Schemas. Implement it to use another validator in `Client` and `Server`. */
export interface jsonSchemaValidator {
  /** Compiles a schema. Throws if it cannot be used. */
  getValidator<T>(schema: JsonSchemaType): JsonSchemaValidator<T>
}

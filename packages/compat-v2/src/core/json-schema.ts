import { compileJsonSchema, type JsonSchema, type SchemaIssue } from 'tenon/server'
import type { StandardSchemaWithJSON } from './standard-schema.ts'

/** A JSON Schema of any dialect. */
export type JsonSchemaType = Record<string, unknown>

export type JsonSchemaValidatorResult<T> =
  | { valid: true; data: T; errorMessage: undefined }
  | { valid: false; data: undefined; errorMessage: string }

/** Checks a value against one schema. */
export type JsonSchemaValidator<T> = (input: unknown) => JsonSchemaValidatorResult<T>

/** Compiles JSON Schemas. Implement it to use a validator of your own. */
export interface jsonSchemaValidator {
  getValidator<T>(schema: JsonSchemaType): JsonSchemaValidator<T>
}

/** The validator of Tenon, for every runtime: it compiles schemas without generating code. */
export class TenonJsonSchemaValidator implements jsonSchemaValidator {
  getValidator<T>(schema: JsonSchemaType): JsonSchemaValidator<T> {
    const check = compileJsonSchema(toCurrentDialect(schema), { formats: true })
    return (input) => {
      const issues = check(input)
      if (!issues || issues.length === 0) return { valid: true, data: input as T, errorMessage: undefined }
      return { valid: false, data: undefined, errorMessage: issues.map(describe).join(', ') }
    }
  }
}

/** Schemas of 2019-09 that tools use mean the same in 2020-12, which Tenon implements. */
function toCurrentDialect(schema: JsonSchemaType): JsonSchema {
  const { $schema, ...rest } = schema
  return (/\/draft\/2019-09\/schema#?$/.test(String($schema)) ? rest : schema) as JsonSchema
}

/** The texts of Ajv, which programs show to models and users. */
function describe({ path, message }: SchemaIssue): string {
  const cut = path.lastIndexOf('/')
  const [parent, name] = [
    path.slice(0, cut),
    path
      .slice(cut + 1)
      .replaceAll('~1', '/')
      .replaceAll('~0', '~'),
  ]
  if (message === 'is required') return `data${parent} must have required property '${name}'`
  if (message === 'is not a known property') return `data${parent} must NOT have additional properties`
  return `data${path} ${message}`
}

const validators = { default: undefined as jsonSchemaValidator | undefined }

/** The validator that is used if a program names none. */
export function defaultValidator(): jsonSchemaValidator {
  validators.default ??= new TenonJsonSchemaValidator()
  return validators.default
}

/** Makes a schema for tools and prompts from JSON Schema. */
export function fromJsonSchema<T = unknown>(
  schema: JsonSchemaType,
  validator: jsonSchemaValidator = defaultValidator(),
): StandardSchemaWithJSON<T, T> {
  const check = validator.getValidator<T>(schema)
  return {
    '~standard': {
      version: 1,
      vendor: '@modelcontextprotocol/json-schema',
      jsonSchema: { input: () => schema, output: () => schema },
      validate: (value) => {
        const result = check(value)
        return result.valid ? { value: result.data } : { issues: [{ message: result.errorMessage }] }
      },
    },
  }
}

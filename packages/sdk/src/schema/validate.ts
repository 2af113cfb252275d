import { isObject } from '../util/objects.ts'
import { toStandardIssues } from './issues.ts'
import { compileJsonSchema, type JsonSchema, SchemaError } from './json-schema.ts'
import { readShape, validateShape } from './shape.ts'
import { isSchemaShape, isStandardSchema, type SchemaLike, type StandardResult } from './standard.ts'

export type Validate = (value: unknown) => StandardResult<unknown> | Promise<StandardResult<unknown>>

/** The check of any schema. Unlike `compileSchema` it does not need the schema to describe itself as JSON Schema. */
export function createValidator(schema: SchemaLike): Validate {
  if (isStandardSchema(schema)) return (value) => schema['~standard'].validate(value)
  if (!isObject(schema)) throw new SchemaError('A schema must be an object')
  if (isSchemaShape(schema)) {
    const fields = readShape(schema)
    return (value) => validateShape(fields, value)
  }
  return createJsonValidator(schema)
}

export function createJsonValidator(schema: JsonSchema): Validate {
  const check = compileJsonSchema(schema)
  return (value) => {
    const issues = check(value)
    return issues ? { issues: toStandardIssues(issues) } : { value }
  }
}

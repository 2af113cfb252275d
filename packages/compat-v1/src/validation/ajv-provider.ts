import type { SchemaIssue } from 'tenon/server'
import { compile } from './compile.ts'
import type { JsonSchemaType, JsonSchemaValidator, jsonSchemaValidator } from './types.ts'

/** The part of an Ajv instance that is used. */
export interface AjvInstance {
  compile(schema: object): AjvCheck
  getSchema(id: string): AjvCheck | undefined
  errorsText(errors?: AjvErrors): string
}

/**
 * Checks values with an Ajv instance of yours, or with Tenon's own engine if you pass none.
 *
 * @example
 * const ajv = new Ajv2020({ strict: false, allErrors: true })
 * new Client({ name: 'app', version: '1.0.0' }, { jsonSchemaValidator: new AjvJsonSchemaValidator(ajv) })
 */
export class AjvJsonSchemaValidator implements jsonSchemaValidator {
  private readonly _ajv: AjvInstance | undefined

  constructor(ajv?: AjvInstance) {
    this._ajv = ajv
  }

  getValidator<T>(schema: JsonSchemaType): JsonSchemaValidator<T> {
    return this._ajv ? compileWith(this._ajv, schema) : compile(schema, describe)
  }
}

type AjvErrors = Parameters<AjvErrorsText>[0]
// biome-ignore lint/suspicious/noExplicitAny: each version of Ajv has its own type of errors
type AjvErrorsText = (errors?: any[] | null) => string

// biome-ignore lint/suspicious/noExplicitAny: Ajv declares its checks as type guards of `any`
type AjvCheck = ((value: any) => unknown) & { errors?: AjvErrors }

function compileWith<T>(ajv: AjvInstance, schema: JsonSchemaType): JsonSchemaValidator<T> {
  // Ajv refuses to compile a second schema with an id that it knows.
  const check = (typeof schema.$id === 'string' ? ajv.getSchema(schema.$id) : undefined) ?? ajv.compile(schema)
  return (input) =>
    check(input)
      ? { valid: true, data: input as T, errorMessage: undefined }
      : { valid: false, data: undefined, errorMessage: ajv.errorsText(check.errors) }
}

/** The issues in the form of Ajv: `data/age must be integer, data must have required property 'name'`. */
function describe(issues: SchemaIssue[]): string {
  return issues.map(({ path, message }) => `data${path} ${message}`).join(', ')
}

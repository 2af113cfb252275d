// Reads zod schemas of programs, of zod 3 and 4, without importing zod: the servers start without loading it.

/** A schema of zod 4, zod mini or `zod/v4`, described by the part that all of them have. */
export interface Zod4Schema {
  readonly _zod: { readonly output: unknown; readonly input: unknown }
}

/** A schema of zod 3, described by the part that all of its versions have. */
export interface Zod3Schema {
  readonly _output: unknown
  readonly _input: unknown
  readonly _def: unknown
}

/**
 * A schema of zod 3 or 4.
 *
 * The types of zod are not named here. Comparing a schema with them takes the compiler long and fails between two
 * copies of zod; these two properties are all that inference needs.
 */
export type AnySchema = Zod3Schema | Zod4Schema

/** A schema of zod 3 or 4 for an object. */
export type AnyObjectSchema = AnySchema

/** Schemas by the name of a field. */
export type ZodRawShapeCompat = Record<string, AnySchema>

/** The type that a schema returns. */
export type SchemaOutput<Schema> = Schema extends { _zod: { output: infer Output } }
  ? Output
  : Schema extends { _output: infer Output }
    ? Output
    : never

/** The type that a schema accepts. */
export type SchemaInput<Schema> = Schema extends { _zod: { input: infer Input } }
  ? Input
  : Schema extends { _input: infer Input }
    ? Input
    : never

/** The types that the schemas of a shape return. */
export type ShapeOutput<Shape extends ZodRawShapeCompat> = { [Key in keyof Shape]: SchemaOutput<Shape[Key]> }

/** What parsing returns, in every version of zod. */
export type ParseResult<Output> = { success: true; data: Output } | { success: false; error: unknown }

/** What zod 3 keeps in a schema. */
export interface ZodV3Internal {
  _def?: {
    typeName?: string
    value?: unknown
    values?: unknown[]
    shape?: Record<string, AnySchema> | (() => Record<string, AnySchema>)
    description?: string
  }
  shape?: Record<string, AnySchema> | (() => Record<string, AnySchema>)
  value?: unknown
}

/** What zod 4 keeps in a schema. */
export interface ZodV4Internal {
  _zod?: {
    def?: {
      type?: string
      value?: unknown
      values?: unknown[]
      shape?: Record<string, AnySchema> | (() => Record<string, AnySchema>)
    }
  }
  value?: unknown
}

/** Whether a schema is one of zod 4, zod mini or `zod/v4`. */
export function isZ4Schema(schema: AnySchema): schema is Zod4Schema {
  return Boolean((schema as ZodV4Internal)._zod)
}

/** Whether a value is a schema of any version of zod. */
export function isZodSchema(value: unknown): value is AnySchema {
  if (typeof value !== 'object' || value === null) return false
  return '_zod' in value || '_def' in value || typeof (value as { parse?: unknown }).parse === 'function'
}

/** Parses a value. */
export function safeParse<Schema extends AnySchema>(schema: Schema, data: unknown): ParseResult<SchemaOutput<Schema>> {
  return (schema as unknown as Parser<SchemaOutput<Schema>>).safeParse(data)
}

/** Parses a value with a schema that may have asynchronous parts. */
export async function safeParseAsync<Schema extends AnySchema>(
  schema: Schema,
  data: unknown,
): Promise<ParseResult<SchemaOutput<Schema>>> {
  return (schema as unknown as Parser<SchemaOutput<Schema>>).safeParseAsync(data)
}

interface Parser<Output> {
  safeParse(data: unknown): ParseResult<Output>
  safeParseAsync(data: unknown): Promise<ParseResult<Output>>
}

/** The fields of an object schema; undefined if the schema is not one. */
export function getObjectShape(schema: AnyObjectSchema | undefined): Record<string, AnySchema> | undefined {
  if (!schema) return undefined
  const shape = isZ4Schema(schema) ? (schema as ZodV4Internal)._zod?.def?.shape : (schema as ZodV3Internal).shape
  if (typeof shape !== 'function') return shape
  try {
    return shape()
  } catch {
    return undefined
  }
}

/** The value of a literal; undefined if the schema is not one. */
export function getLiteralValue(schema: AnySchema): unknown {
  const def = (schema as ZodV4Internal)._zod?.def ?? (schema as ZodV3Internal)._def
  return def?.value ?? def?.values?.[0] ?? (schema as { value?: unknown }).value
}

/**
 * The method of a request or notification schema, such as `tools/call`.
 *
 * @throws Error if the schema has none
 */
export function methodOf(schema: AnyObjectSchema): string {
  const method = getObjectShape(schema)?.method
  if (!method) throw new Error('Schema is missing a method literal')
  const value = getLiteralValue(method)
  if (typeof value !== 'string') throw new Error('Schema method literal must be a string')
  return value
}

/** The description of a schema, if it has one. */
export function getSchemaDescription(schema: AnySchema): string | undefined {
  return (schema as { description?: string }).description
}

/** Whether a schema accepts a missing value by being optional. */
export function isSchemaOptional(schema: AnySchema): boolean {
  if (isZ4Schema(schema)) return (schema as ZodV4Internal)._zod?.def?.type === 'optional'
  const { isOptional } = schema as { isOptional?: () => boolean }
  return isOptional ? isOptional.call(schema) : (schema as ZodV3Internal)._def?.typeName === 'ZodOptional'
}

/** What a parse error says: every issue with its path, one per line. */
export function getParseErrorMessage(error: unknown): string {
  if (typeof error !== 'object' || error === null) return String(error)
  const { issues, message } = error as { issues?: Issue[]; message?: unknown }
  if (Array.isArray(issues) && issues.length > 0) return issues.map(describeIssue).join('\n')
  if (typeof message === 'string') return message
  try {
    return JSON.stringify(error)
  } catch {
    return String(error)
  }
}

interface Issue {
  message: string
  path?: (string | number)[]
}

function describeIssue({ message, path = [] }: Issue): string {
  if (path.length === 0) return message
  const [first, ...rest] = path
  const steps = rest.map((key) => (typeof key === 'number' ? `[${key}]` : `.${key}`))
  return `${message} at ${first}${steps.join('')}`
}

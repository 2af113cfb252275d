import { isObject } from 'tenon/internal'
import { createValidator, type SchemaShape, type StandardIssue, type StandardResult, type Validate } from 'tenon/server'
import { type AnySchema, isZ4Schema, type ParseResult, type ZodRawShapeCompat } from './zod-reading.ts'

/** The problems with a value, in the form of a zod error. */
export class ShapeError extends Error {
  readonly issues: readonly StandardIssue[]

  constructor(issues: readonly StandardIssue[]) {
    super(JSON.stringify(issues, null, 2))
    this.name = 'ZodError'
    this.issues = issues
  }
}

/**
 * Checks an object by the schemas of its fields, as `z.object(shape)` does: other keys are dropped.
 *
 * Programs pass `{ name: z.string() }` where an object schema is expected. Building the object with zod would load a
 * second version of zod for programs that use zod 3, and zod itself for every server.
 */
export class ShapeSchema {
  readonly shape: ZodRawShapeCompat
  private readonly _validate: Validate
  private readonly _fields: readonly (readonly [string, AnySchema])[]

  /** @throws Error if the fields are schemas of different versions of zod */
  constructor(shape: ZodRawShapeCompat) {
    this._fields = Object.entries(shape)
    const isZ4 = ([, schema]: readonly [string, AnySchema]) => isZ4Schema(schema)
    if (this._fields.some(isZ4) && !this._fields.every(isZ4)) {
      throw new Error('Mixed Zod versions detected in object shape.')
    }
    this.shape = shape
    this._validate = createValidator(shape as unknown as SchemaShape)
  }

  /** Whether the shape still has the fields, in the same order, that it had when this object was created. */
  isCurrent(): boolean {
    const names = Object.keys(this.shape)
    const isSame = (name: string, at: number) => {
      const [known, schema] = this._fields[at]!
      return name === known && this.shape[name] === schema
    }
    return names.length === this._fields.length && names.every(isSame)
  }

  /** Checks a value. */
  safeParse(value: unknown): ParseResult<Record<string, unknown>> {
    const result = isObject(value) ? this._validate(value) : { issues: [notAnObject(value)] }
    if (result instanceof Promise) throw new Error('The schema has asynchronous parts. Use safeParseAsync instead.')
    return toParseResult(result)
  }

  /** Checks a value with fields that may be asynchronous. */
  async safeParseAsync(value: unknown): Promise<ParseResult<Record<string, unknown>>> {
    return toParseResult(isObject(value) ? await this._validate(value) : { issues: [notAnObject(value)] })
  }

  /** Checks a value. Throws a `ShapeError` if it does not fit. */
  parse(value: unknown): Record<string, unknown> {
    const result = this.safeParse(value)
    if (!result.success) throw result.error
    return result.data
  }
}

/** Whether an object is a shape: not a schema itself, and every value a schema. */
export function isShape(value: object): value is ZodRawShapeCompat {
  return !isSchema(value) && Object.values(value).every(isSchema)
}

function isSchema(value: unknown): value is AnySchema {
  return typeof value === 'object' && value !== null && ('_zod' in value || '_def' in value || 'safeParse' in value)
}

function toParseResult({ issues, ...result }: StandardResult<unknown>): ParseResult<Record<string, unknown>> {
  if (issues) return { success: false, error: new ShapeError(issues) }
  return { success: true, data: (result as { value: Record<string, unknown> }).value }
}

function notAnObject(value: unknown): StandardIssue {
  const received = value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value
  return { message: `Invalid input: expected object, received ${received}` }
}

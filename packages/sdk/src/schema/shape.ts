import { isThenable, toPromise } from '../util/maybe-async.ts'
import { define, isObject, type JsonObject } from '../util/objects.ts'
import type { StandardIssue, StandardResult, StandardSchema } from './standard.ts'

/** One property of a shape, and how its absence is handled. */
export interface Field {
  readonly name: string
  readonly schema: StandardSchema
  /** Whether a value without the property is rejected even if the schema accepts `undefined`. */
  readonly isRequired: boolean
  /** Whether an absent property stays absent, even if the schema converts `undefined` to a value. */
  readonly staysAbsent: boolean
  /** Whether an absent property is accepted even if the schema rejects `undefined`. */
  readonly ignoresIssues: boolean
  /** Whether a property is kept if its checked value is `undefined`. */
  readonly keepsUndefined: 'never' | 'if-present' | 'always'
}

/** Reads a shape once, so that it checks values like `z.object(shape)` of the same version of zod. */
export function readShape(shape: Record<string, StandardSchema>): Field[] {
  return Object.entries(shape).map(([name, schema]) => ({ name, schema, ...readField(schema) }))
}

/** Checks each property separately. The result contains only the properties of the shape. */
export function validateShape(
  fields: readonly Field[],
  given: unknown,
): StandardResult<unknown> | Promise<StandardResult<unknown>> {
  if (!isObject(given)) return { issues: [{ message: 'must be an object' }] }
  const results = fields.map(({ name, schema }) =>
    schema['~standard'].validate(Object.hasOwn(given, name) ? given[name] : undefined),
  )
  return results.some((result) => isThenable(result))
    ? Promise.all(results).then((settled) => joinResults(fields, given, settled))
    : joinResults(fields, given, results as StandardResult<unknown>[])
}

/** The internals of zod that are used: in version 4 how a schema behaves in an object, in version 3 its type name. */
export interface ZodSchema {
  _zod?: { optin?: 'optional' | 'defaulted'; optout?: 'optional'; version?: { minor: number } }
  _def?: { typeName?: string }
}

// Reads the internals of zod, because a trial with undefined would run user-defined checks.
function readField(schema: StandardSchema): Omit<Field, 'name' | 'schema'> {
  const { _zod, _def } = schema as ZodSchema
  if (!_zod) {
    const isZod3 = _def?.typeName !== undefined
    return {
      isRequired: !isZod3 && !acceptsUndefined(schema),
      staysAbsent: false,
      ignoresIssues: false,
      keepsUndefined: isZod3 ? 'if-present' : 'never',
    }
  }
  const { optin, optout, version } = _zod
  const isOptionalOut = optout === 'optional'
  // Before 4.5, "optional" also covered schemas with a default, which supply a value.
  const tellsDefaults = (version?.minor ?? 0) >= 5
  return {
    isRequired: optin === undefined,
    staysAbsent: optin === 'optional' && isOptionalOut && tellsDefaults,
    ignoresIssues: optin !== undefined && isOptionalOut,
    keepsUndefined: optin === 'defaulted' && !isOptionalOut ? 'always' : 'if-present',
  }
}

function joinResults(
  fields: readonly Field[],
  given: JsonObject,
  results: readonly StandardResult<unknown>[],
): StandardResult<unknown> {
  const value: JsonObject = {}
  const issues: StandardIssue[] = []
  results.forEach((result, index) => {
    const field = fields[index]!
    const isPresent = Object.hasOwn(given, field.name)
    if (!isPresent && (field.staysAbsent || (field.ignoresIssues && result.issues))) return
    if (result.issues) issues.push(...under(field.name, result.issues))
    else if (!isPresent && field.isRequired) issues.push({ message: 'is required', path: [field.name] })
    else if (result.value !== undefined || keepsUndefined(field, isPresent)) define(value, field.name, result.value)
  })
  return issues.length > 0 ? { issues } : { value }
}

function keepsUndefined(field: Field, isPresent: boolean): boolean {
  return field.keepsUndefined === 'always' || (field.keepsUndefined === 'if-present' && isPresent)
}

function under(name: string, issues: readonly StandardIssue[]): StandardIssue[] {
  return issues.map(({ message, path = [] }) => ({ message, path: [name, ...path] }))
}

function acceptsUndefined(schema: StandardSchema): boolean {
  try {
    const result = schema['~standard'].validate(undefined)
    if (!isThenable(result)) return result.issues === undefined
    // An asynchronous check cannot be awaited here, and its failure does not matter.
    toPromise(result).catch(() => {})
  } catch {
    // A check that throws for undefined does not accept it.
  }
  return false
}

import type { StandardSchemaV1 } from '../core/standard-schema.ts'

const completer: unique symbol = Symbol.for('mcp.completable') as never

/** Suggests values for an argument. */
export type CompleteCallback<T extends StandardSchemaV1 = StandardSchemaV1> = (
  value: StandardSchemaV1.InferInput<T>,
  context?: { arguments?: Record<string, string> },
) => StandardSchemaV1.InferInput<T>[] | Promise<StandardSchemaV1.InferInput<T>[]>

/** A schema that suggests values. */
export type CompletableSchema<T extends StandardSchemaV1> = T & {
  [completer]: { complete: CompleteCallback<T> }
}

/** Adds suggestions to the schema of a prompt argument. */
export function completable<T extends StandardSchemaV1>(
  schema: T,
  complete: CompleteCallback<T>,
): CompletableSchema<T> {
  Object.defineProperty(schema, completer, { value: { complete } })
  return schema as CompletableSchema<T>
}

export function isCompletable(schema: unknown): schema is CompletableSchema<StandardSchemaV1> {
  return typeof schema === 'object' && schema !== null && completer in schema
}

/** The suggestions of a schema, also of one that was made optional afterwards. */
export function completerOf(schema: unknown): CompleteCallback | undefined {
  if (isCompletable(schema)) return schema[completer].complete
  const inner = (schema as { def?: { innerType?: unknown } } | undefined)?.def?.innerType
  return isCompletable(inner) ? inner[completer].complete : undefined
}

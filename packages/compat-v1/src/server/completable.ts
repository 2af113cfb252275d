import type { AnySchema, SchemaInput } from '../shared/zod-reading.ts'

/** The property of a schema that has its completion callback. */
export const COMPLETABLE_SYMBOL: unique symbol = Symbol.for('mcp.completable')

/** Returns completions of what the user has typed so far. */
export type CompleteCallback<T extends AnySchema = AnySchema> = (
  value: SchemaInput<T>,
  context?: { arguments?: Record<string, string> },
) => SchemaInput<T>[] | Promise<SchemaInput<T>[]>

/** What `completable` adds to a schema. */
export type CompletableMeta<T extends AnySchema = AnySchema> = { complete: CompleteCallback<T> }

/** A schema with completion. */
export type CompletableSchema<T extends AnySchema> = T & { [COMPLETABLE_SYMBOL]: CompletableMeta<T> }

/**
 * Adds completion to the schema of a prompt argument.
 *
 * @example
 * server.registerPrompt('greet', {
 *   argsSchema: { language: completable(z.string(), (value) => languages.filter((name) => name.startsWith(value))) },
 * }, ...)
 */
export function completable<T extends AnySchema>(schema: T, complete: CompleteCallback<T>): CompletableSchema<T> {
  Object.defineProperty(schema, COMPLETABLE_SYMBOL, { value: { complete } })
  return schema as CompletableSchema<T>
}

/** Whether a schema has completion. */
export function isCompletable(schema: unknown): schema is CompletableSchema<AnySchema> {
  return typeof schema === 'object' && schema !== null && COMPLETABLE_SYMBOL in schema
}

/** The completion callback of a schema, if it has one. */
export function getCompleter<T extends AnySchema>(schema: T): CompleteCallback<T> | undefined {
  return (schema as { [COMPLETABLE_SYMBOL]?: CompletableMeta<T> })[COMPLETABLE_SYMBOL]?.complete
}

/** The schema itself. Completion is a property of the schema, so there is nothing to remove. */
export function unwrapCompletable<T extends AnySchema>(schema: CompletableSchema<T>): T {
  return schema
}

/** @deprecated Completable schemas have no kind of their own. Use `isCompletable`. */
export const McpZodTypeKind = { Completable: 'McpCompletable' } as const
export type McpZodTypeKind = (typeof McpZodTypeKind)['Completable']

/** @deprecated Completable schemas have no definition of their own. Use `getCompleter`. */
export interface CompletableDef<T extends AnySchema = AnySchema> {
  type: T
  complete: CompleteCallback<T>
  typeName: McpZodTypeKind
}

/**
 * Tells the schemas of `types.js` from those of programs, without importing zod: a request handler that was registered
 * with one of ours needs no second check of its params, and the servers start without loading zod.
 */

const schemas = new WeakSet<object>()

/** Adds schemas of the protocol. */
export function addProtocolSchemas(added: readonly object[]): void {
  for (const schema of added) schemas.add(schema)
}

/** Whether a schema is one of `types.js`, unchanged. */
export function isProtocolSchema(schema: object): boolean {
  return schemas.has(schema)
}

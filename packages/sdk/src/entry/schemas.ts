/**
 * `tenon/schemas`: JSON Schemas and types of every message of every revision.
 *
 * @module
 */

export type { JsonSchema } from '../schema/json-schema.ts'
export { type MethodMessages, methodsOf, schemaFor } from '../schemas/schemas.ts'
export type { Messages } from '../schemas/types.ts'

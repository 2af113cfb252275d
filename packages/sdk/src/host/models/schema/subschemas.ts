import type { JsonSchema } from '../../../schema/json-schema.ts'

/** The types that a schema allows, as a list; undefined if it allows every type. */
export function typesOf({ type }: JsonSchema): readonly string[] | undefined {
  if (typeof type === 'string') return [type]
  return Array.isArray(type) ? type.filter((each) => typeof each === 'string') : undefined
}

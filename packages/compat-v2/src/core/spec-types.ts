import * as oauthSchemas from '@tenon/compat-v1/shared/auth.js'
import * as protocolSchemas from '@tenon/compat-v1/types.js'
import type * as z from 'zod/v4'
import { isStandardSchema, type StandardSchemaV1Sync } from './standard-schema.ts'

type Schemas = typeof protocolSchemas & typeof oauthSchemas
type SchemaKey = { [K in keyof Schemas]: K extends `${string}Schema` ? K : never }[keyof Schemas]
type NameOf<K> = K extends `${infer Name}Schema` ? Name : never
type Output<S> = S extends z.ZodType ? z.output<S> : never
type Input<S> = S extends z.ZodType ? z.input<S> : never

/** The types of the protocol and of OAuth, by name. */
export type SpecTypes = { [K in SchemaKey as NameOf<K>]: Output<Schemas[K]> }
export type SpecTypeName = keyof SpecTypes

type SchemaRecord = {
  readonly [K in SchemaKey as NameOf<K>]: StandardSchemaV1Sync<Input<Schemas[K]>, Output<Schemas[K]>>
}
type GuardRecord = { readonly [K in SchemaKey as NameOf<K>]: (value: unknown) => value is Input<Schemas[K]> }

/** The schema of each type, for programs that check messages themselves. */
export const specTypeSchemas: SchemaRecord = /* @__PURE__ */ collect()

/** Whether a value has one of the types: `isSpecType.CallToolResult(value)`. */
export const isSpecType: GuardRecord = /* @__PURE__ */ Object.fromEntries(
  Object.entries(specTypeSchemas).map(([name, schema]) => [
    name,
    (value: unknown) => schema['~standard'].validate(value).issues === undefined,
  ]),
) as never

function collect(): SchemaRecord {
  const all = Object.entries({ ...protocolSchemas, ...oauthSchemas })
  const schemas = all.filter(([key, schema]) => key.endsWith('Schema') && isStandardSchema(schema))
  return Object.fromEntries(schemas.map(([key, schema]) => [key.slice(0, -'Schema'.length), schema])) as never
}

/** Builds the schemas of the protocol before the first request. They are built when the module is loaded, so that there is nothing left to do. */
export function preloadSchemas(): void {}

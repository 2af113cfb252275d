import type { JsonSchema } from './json-schema.ts'

/**
 * The parts of the Standard Schema interface (standardschema.dev) that are used. Every library that implements it can
 * check values here, and none is a dependency.
 */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>
    readonly types?: { readonly input: Input; readonly output: Output } | undefined
    /** Standard JSON Schema: newer versions of the libraries can describe their schemas as JSON Schema. */
    readonly jsonSchema?: {
      readonly input: (options: { target: string }) => Record<string, unknown>
      readonly output: (options: { target: string }) => Record<string, unknown>
    }
  }
}

export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] }

export interface StandardIssue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

/** Schemas by property name, such as `{ a: z.number(), b: z.number() }`. */
export interface SchemaShape {
  readonly [property: string]: StandardSchema
}

/** A schema that describes and checks a value: a Standard Schema, a shape of them, or a JSON Schema. */
export type SchemaLike = StandardSchema | SchemaShape | JsonSchema

type OutputOf<S> = S extends { readonly '~standard': { readonly types?: infer T } }
  ? NonNullable<T> extends { readonly output: infer O }
    ? O
    : unknown
  : never
type InputOf<S> = S extends { readonly '~standard': { readonly types?: infer T } }
  ? NonNullable<T> extends { readonly input: infer I }
    ? I
    : unknown
  : never

type OptionalWhereUndefined<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: T[K]
}
/** The intersection makes editors show the properties instead of the names of these types. */
type Flat<T> = { [K in keyof T]: T[K] } & {}

/** The type of a checked value, as a handler receives it. */
export type InferOutput<S> = S extends StandardSchema
  ? OutputOf<S>
  : S extends SchemaShape
    ? Flat<OptionalWhereUndefined<{ -readonly [K in keyof S]: OutputOf<S[K]> }>>
    : S extends JsonSchema
      ? Record<string, unknown>
      : Record<string, never>

/** The type of a value before it is checked, as a caller passes it. */
export type InferInput<S> = S extends StandardSchema
  ? InputOf<S>
  : S extends SchemaShape
    ? Flat<OptionalWhereUndefined<{ -readonly [K in keyof S]: InputOf<S[K]> }>>
    : S extends JsonSchema
      ? unknown
      : never

export function isStandardSchema(value: unknown): value is StandardSchema {
  const type = typeof value
  return ((type === 'object' && value !== null) || type === 'function') && '~standard' in (value as object)
}

export function isSchemaShape(value: object): value is Record<string, StandardSchema> {
  return Object.values(value).every(isStandardSchema)
}

/** The interface that schema libraries share: https://standardschema.dev */
export interface StandardSchemaV1<Input = unknown, Output = Input> {
  readonly '~standard': StandardSchemaV1.Props<Input, Output>
}

export declare namespace StandardSchemaV1 {
  interface Props<Input = unknown, Output = Input> {
    readonly version: 1
    readonly vendor: string
    readonly types?: Types<Input, Output> | undefined
    readonly validate: (value: unknown, options?: Options | undefined) => Result<Output> | Promise<Result<Output>>
  }
  interface Options {
    readonly libraryOptions?: Record<string, unknown> | undefined
  }
  interface Types<Input = unknown, Output = Input> {
    readonly input: Input
    readonly output: Output
  }
  type Result<Output> = SuccessResult<Output> | FailureResult
  interface SuccessResult<Output> {
    readonly value: Output
    readonly issues?: undefined
  }
  interface FailureResult {
    readonly issues: ReadonlyArray<Issue>
  }
  interface Issue {
    readonly message: string
    readonly path?: ReadonlyArray<PropertyKey | PathSegment> | undefined
  }
  interface PathSegment {
    readonly key: PropertyKey
  }
  type InferInput<Schema extends StandardTyped> = NonNullable<Schema['~standard']['types']>['input']
  type InferOutput<Schema extends StandardTyped> = NonNullable<Schema['~standard']['types']>['output']
}

interface StandardTyped {
  readonly '~standard': { readonly types?: StandardSchemaV1.Types | undefined }
}

/** A schema that validates without waiting. */
export interface StandardSchemaV1Sync<Input = unknown, Output = Input> extends StandardSchemaV1<Input, Output> {
  readonly '~standard': StandardSchemaV1Sync.Props<Input, Output>
}

export declare namespace StandardSchemaV1Sync {
  interface Props<Input = unknown, Output = Input> extends StandardSchemaV1.Props<Input, Output> {
    readonly validate: (
      value: unknown,
      options?: StandardSchemaV1.Options | undefined,
    ) => StandardSchemaV1.Result<Output>
  }
  type InferInput<Schema extends StandardTyped> = StandardSchemaV1.InferInput<Schema>
  type InferOutput<Schema extends StandardTyped> = StandardSchemaV1.InferOutput<Schema>
}

/** A schema that can also be written as JSON Schema. */
export interface StandardSchemaWithJSON<Input = unknown, Output = Input> {
  readonly '~standard': StandardSchemaWithJSON.Props<Input, Output>
}

export declare namespace StandardSchemaWithJSON {
  interface Props<Input = unknown, Output = Input> extends StandardSchemaV1.Props<Input, Output> {
    readonly jsonSchema: Converter
  }
  interface Converter {
    readonly input: (options: ConverterOptions) => Record<string, unknown>
    readonly output: (options: ConverterOptions) => Record<string, unknown>
  }
  interface ConverterOptions {
    readonly target: 'draft-2020-12' | 'draft-07' | 'openapi-3.0' | (string & {})
    readonly libraryOptions?: Record<string, unknown> | undefined
  }
  type InferInput<Schema extends StandardTyped> = StandardSchemaV1.InferInput<Schema>
  type InferOutput<Schema extends StandardTyped> = StandardSchemaV1.InferOutput<Schema>
}

/** Whether a value is a schema of any library. */
export function isStandardSchema(schema: unknown): schema is StandardSchemaV1 {
  if (schema === null || (typeof schema !== 'object' && typeof schema !== 'function')) return false
  return typeof (schema as Partial<StandardSchemaV1>)['~standard']?.validate === 'function'
}

/** The value that a schema returned, or all its issues as one text. */
export type Checked<T> = { ok: true; value: T } | { ok: false; error: string }

/** Checks a value; asynchronously only if the schema is asynchronous. */
export function check<T>(schema: StandardSchemaV1<unknown, T>, value: unknown): Checked<T> | Promise<Checked<T>> {
  const result = schema['~standard'].validate(value)
  return result instanceof Promise ? result.then(toChecked<T>) : toChecked(result)
}

function toChecked<T>(result: StandardSchemaV1.Result<T>): Checked<T> {
  if (!result.issues || result.issues.length === 0) {
    return { ok: true, value: (result as StandardSchemaV1.SuccessResult<T>).value }
  }
  return { ok: false, error: result.issues.map(describe).join(', ') }
}

function describe({ message, path }: StandardSchemaV1.Issue): string {
  if (!path?.length) return message
  return `${path.map((part) => String(typeof part === 'object' ? part.key : part)).join('.')}: ${message}`
}

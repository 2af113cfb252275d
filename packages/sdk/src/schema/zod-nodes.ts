import { isObject, type JsonObject } from '../util/objects.ts'
import type { JsonSchema } from './json-schema.ts'
import { SchemaError } from './schema-error.ts'

/** A zod schema of any version, in the form that the conversion uses. */
export type ZodNode = { meta: JsonSchema } & (
  | { kind: 'json'; json: JsonSchema; optional?: boolean }
  | {
      kind: 'wrapper'
      inner: object
      /** On which sides the value may be absent, if that differs from the inner schema. */
      optional?: Direction[]
      nullable?: boolean
      default?: () => unknown
      inputOnly?: boolean
    }
  | { kind: 'array'; element: object; limits: JsonSchema }
  | { kind: 'tuple'; items: object[]; rest: object | null }
  | {
      kind: 'object'
      shape: Record<string, object>
      /** The schema of other keys, or whether they are allowed. Undefined: allowed in the input, not in the output. */
      extra: object | boolean | undefined
    }
  | { kind: 'record'; key: object; value: object; keys: string[] | undefined; exhaustive: boolean }
  | { kind: 'union'; options: object[] }
  | { kind: 'intersection'; left: object; right: object }
  | { kind: 'pipe'; in: object; out: object }
  | { kind: 'lazy'; get: () => object }
  | { kind: 'transform' }
  | { kind: 'undefined' | 'refused'; name: string }
)

/** Whether an object is a zod schema, of version 3 or 4. */
export function isZod(schema: unknown): schema is object {
  return isObject(schema) && (version4(schema) ?? version3(schema)) !== undefined
}

export function readZod(schema: object): ZodNode {
  const four = version4(schema)
  if (four) return { meta: readMeta4(schema), ...(READ[four.type as string] ?? refuse)(four, schema) }
  const three = version3(schema)
  if (!three) throw new SchemaError('A part of the zod schema is not a zod schema')
  const { description } = three
  const type = String(three.typeName).slice('Zod'.length).toLowerCase()
  const read = READ_3[type] ?? READ[type] ?? refuse
  return { meta: typeof description === 'string' ? { description } : {}, ...read(three, schema) }
}

type Direction = 'input' | 'output'
type Def = JsonObject
type Unnamed<Node> = Node extends unknown ? Omit<Node, 'meta'> : never
type Wrapper = Extract<Unnamed<ZodNode>, { kind: 'wrapper' }>
type Read = (def: Def, schema: object) => Unnamed<ZodNode>

function version4(schema: object): Def | undefined {
  const { _zod } = schema as { _zod?: unknown }
  const def = isObject(_zod) ? _zod.def : undefined
  return isObject(def) && typeof def.type === 'string' ? def : undefined
}

function version3(schema: object): Def | undefined {
  const { _def } = schema as { _def?: unknown }
  return isObject(_def) && typeof _def.typeName === 'string' ? _def : undefined
}

function readMeta4(schema: object): JsonSchema {
  const { meta } = schema as { meta?: () => unknown }
  const found = typeof meta === 'function' ? meta.call(schema) : undefined
  if (!isObject(found)) return {}
  const { id: _name, ...rest } = found
  return rest
}

const json = (json: JsonSchema, optional = false): Unnamed<ZodNode> => ({ kind: 'json', json, optional })
const wrap = (inner: unknown, rest?: Partial<Wrapper>): Wrapper => ({
  kind: 'wrapper',
  inner: inner as object,
  ...rest,
})

const refuse: Read = (def) => ({ kind: 'refused', name: nameOf(def) })
const anything: Read = () => json({})
const optionalAnything: Read = () => json({}, true)
const plain =
  (type: string): Read =>
  () =>
    json({ type })
const inside: Read = (def) => wrap(def.innerType)
const undefinedValue: Read = (def) => ({ kind: 'undefined', name: nameOf(def) })
const pipe: Read = (def) => ({ kind: 'pipe', in: def.in as object, out: def.out as object })
const union: Read = (def) => ({
  kind: 'union',
  options: def.options instanceof Map ? [...def.options.values()] : (def.options as object[]),
})
/** By the type names of zod 4, most of which zod 3 shares. */
const READ: Record<string, Read> = {
  string: (def) => json(toText(checksOf4(def))),
  number: (def) => json(toNumber(checksOf4(def))),
  boolean: plain('boolean'),
  success: plain('boolean'),
  null: plain('null'),
  any: anything,
  unknown: anything,
  custom: anything,
  never: () => json({ not: {} }),
  undefined: undefinedValue,
  void: undefinedValue,
  literal: (def) => toLiteral(def.values as unknown[]),
  enum: (def) => toLiteral(enumValues(def.entries as JsonObject)),
  template_literal: (_def, schema) => json(toPatterns([internals(schema)?.pattern])),
  array: (def) => ({ kind: 'array', element: def.element as object, limits: toLimits(checksOf4(def), 'Items') }),
  tuple: (def) => ({
    kind: 'tuple',
    items: def.items as object[],
    rest: def.rest as object | null,
  }),
  object: (def) => ({ kind: 'object', shape: def.shape as Record<string, object>, extra: extraKeys4(def.catchall) }),
  record: (def) => ({
    kind: 'record',
    key: def.keyType as object,
    value: def.valueType as object,
    keys: keyNames4(def.keyType as object),
    exhaustive: def.partial !== true,
  }),
  union,
  intersection: (def) => ({ kind: 'intersection', left: def.left as object, right: def.right as object }),
  optional: (def) => wrap(def.innerType, { optional: ['input', 'output'] }),
  nullable: (def) => wrap(def.innerType, { nullable: true }),
  nonoptional: (def) => wrap(def.innerType, { optional: [] }),
  default: (def) => withDefault(def, () => def.defaultValue),
  prefault: (def) => withDefault(def, () => def.defaultValue, true),
  catch: inside,
  readonly: inside,
  pipe,
  lazy: (def) => ({ kind: 'lazy', get: def.getter as () => object }),
  transform: () => ({ kind: 'transform' }),
}

/** The types that only zod 3 has, by their names in lower case and without `Zod`. */
const READ_3: Record<string, Read> = {
  string: (def) => json(toText((def.checks as Check3[]).map(toTextCheck))),
  number: (def) => json(toNumber((def.checks as Check3[]).map(toNumberCheck))),
  any: optionalAnything,
  unknown: optionalAnything,
  literal: (def) => toLiteral([def.value]),
  enum: (def) => toLiteral(def.values as unknown[]),
  nativeenum: (def) => toLiteral(enumValues(def.values as JsonObject)),
  array: (def) => ({ kind: 'array', element: def.type as object, limits: toLimits(lengthsOf3(def), 'Items') }),
  object: (def) => ({
    kind: 'object',
    shape: (def.shape as () => Record<string, object>)(),
    extra: extraKeys3(def),
  }),
  discriminatedunion: union,
  default: (def) => withDefault(def, def.defaultValue as () => unknown),
  branded: (def) => wrap(def.type),
  pipeline: pipe,
  effects: (def) => {
    const { type } = def.effect as { type?: string }
    return type === 'transform' ? { kind: 'pipe', in: def.schema as object, out: TRANSFORM_3 } : wrap(def.schema)
  },
}

function nameOf(def: Def): string {
  return String(def.typeName ?? def.type)
}

function internals(schema: object): JsonObject | undefined {
  return (schema as { _zod?: JsonObject })._zod
}

function withDefault(def: Def, value: () => unknown, inputOnly = false): Wrapper {
  return wrap(def.innerType, { optional: ['input'], default: value, inputOnly })
}

function toLiteral(values: unknown[]): Unnamed<ZodNode> {
  const [first] = values
  if (values.length === 1 && first === undefined) return { kind: 'undefined', name: 'literal undefined' }
  const stranger = values.find((value) => !['string', 'number', 'boolean'].includes(typeof value) && value !== null)
  if (stranger !== undefined || values.includes(undefined)) {
    return { kind: 'refused', name: `${typeof stranger} literal` }
  }
  if (values.length !== 1) return json({ ...typeOf(values), enum: values })
  return json(first === null ? { type: 'null' } : { ...typeOf(values), const: first })
}

function typeOf(values: unknown[]): JsonSchema {
  const types = new Set(values.map((value) => (value === null ? 'null' : typeof value)))
  return types.size === 1 ? { type: [...types][0] } : {}
}

/** Returns the values of a TypeScript enum, which also maps its numbers back to their names. */
function enumValues(entries: JsonObject): unknown[] {
  return Object.keys(entries)
    .filter((key) => typeof entries[entries[key] as string] !== 'number')
    .map((key) => entries[key])
}

function extraKeys4(catchall: unknown): object | boolean | undefined {
  if (!isObject(catchall)) return undefined
  const type = version4(catchall)?.type
  return type === 'unknown' || type === 'any' || (type !== 'never' && catchall)
}

function extraKeys3({ catchall, unknownKeys }: Def): object | boolean | undefined {
  const type = isObject(catchall) ? version3(catchall)?.typeName : undefined
  if (type !== undefined && type !== 'ZodNever') return catchall as object
  return unknownKeys === 'strip' ? undefined : unknownKeys === 'passthrough'
}

function keyNames4(key: object): string[] | undefined {
  const values = internals(key)?.values
  return values instanceof Set && values.size > 0 ? [...values].map(String) : undefined
}

// zod 3 keeps transforms inside its effects. Here they are a separate step, as in zod 4.
const TRANSFORM_3 = { _zod: { def: { type: 'transform' } } }

/** Returns the checks of zod 4: of the schema itself, if it is a check such as `z.email()`, then those added to it. */
function checksOf4(def: Def): Def[] {
  const added = (def.checks ?? []) as { _zod: { def: Def } }[]
  return [...(def.check === undefined ? [] : [def]), ...added.map((check) => check._zod.def)]
}

interface Check3 extends Def {
  kind: string
}

/** Converts a check of zod 3 to the form of zod 4. */
function toTextCheck({ kind, value, regex, version, local }: Check3): Def {
  if (kind === 'min') return { minimum: value }
  if (kind === 'max') return { maximum: value }
  if (kind === 'length') return { minimum: value, maximum: value }
  const text = String(value).replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
  const patterns: Record<string, unknown> = {
    regex,
    startsWith: new RegExp(`^${text}`),
    endsWith: new RegExp(`${text}$`),
    includes: new RegExp(text),
  }
  return { check: 'string_format', format: kind === 'ip' ? `ip${version}` : kind, pattern: patterns[kind], local }
}

function toNumberCheck({ kind, value, inclusive }: Check3): Def {
  const checks: Record<string, string> = { min: 'greater_than', max: 'less_than', multipleOf: 'multiple_of' }
  return kind === 'int' ? { check: 'number_format', format: 'safeint' } : { check: checks[kind], value, inclusive }
}

function lengthsOf3({ minLength, maxLength, exactLength }: Def): Def[] {
  const [minimum, maximum, length] = [minLength, maxLength, exactLength].map((limit) => (limit as Def | null)?.value)
  return [
    { minimum, maximum },
    { minimum: length, maximum: length },
  ]
}

const FORMATS: Record<string, string> = {
  email: 'email',
  url: 'uri',
  uuid: 'uuid',
  guid: 'uuid',
  datetime: 'date-time',
  date: 'date',
  duration: 'duration',
  ipv4: 'ipv4',
  ipv6: 'ipv6',
}

function toText(checks: Def[]): JsonSchema {
  const formats = checks.filter(({ check }) => check === 'string_format')
  const format = formats.map(formatOf).find(Boolean)
  const encoding = formats.find((check) => check.format === 'base64' || check.format === 'base64url')
  const patterns = formats.filter((check) => !formatOf(check)).map(({ pattern }) => pattern)
  return withoutEmpty({
    ...toPatterns(patterns),
    ...toLimits(checks, 'Length'),
    format,
    contentEncoding: encoding?.format,
  })
}

function formatOf({ format, local }: Def): string | undefined {
  // A local time has no offset, which RFC 3339 and therefore the format requires.
  return format === 'datetime' && local === true ? undefined : FORMATS[format as string]
}

/** Returns the strictest length checks, as keywords that end in `Length` or `Items`. */
function toLimits(checks: Def[], what: 'Length' | 'Items'): JsonSchema {
  return withoutEmpty({
    [`min${what}`]: Math.max(...numbers(checks.map(({ minimum, length }) => length ?? minimum))),
    [`max${what}`]: Math.min(...numbers(checks.map(({ maximum, length }) => length ?? maximum))),
  })
}

/** Returns a schema without keywords that have no effect: undefined, infinite or an empty array. */
export function withoutEmpty(json: JsonSchema): JsonSchema {
  const entries = Object.entries(json).filter(([, value]) =>
    Array.isArray(value) ? value.length > 0 : value !== undefined && Math.abs(value as number) !== Infinity,
  )
  return Object.fromEntries(entries)
}

function numbers(values: unknown[]): number[] {
  return values.filter((value) => Number.isFinite(value)) as number[]
}

function toPatterns(patterns: unknown[]): JsonSchema {
  // JSON Schema has no flags, so only zod checks a pattern that needs them.
  const [pattern, ...rest] = patterns
    .filter((pattern) => pattern instanceof RegExp)
    .filter(({ flags }) => !/[imsv]/.test(flags))
    .map(({ source }) => source)
  return withoutEmpty({ type: 'string', pattern, allOf: rest.map((pattern) => ({ pattern })) })
}

const INTEGERS: Record<string, [min: number, max: number]> = {
  safeint: [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY],
  int32: [-(2 ** 31), 2 ** 31 - 1],
  uint32: [0, 2 ** 32 - 1],
}

function toNumber(checks: Def[]): JsonSchema {
  const ranges = checks.flatMap(({ check, format }) => {
    const range = check === 'number_format' ? INTEGERS[format as string] : undefined
    return range ? [range] : []
  })
  const values = (wanted: string, closed?: boolean) =>
    numbers(checks.map(({ check, inclusive, value }) => (check === wanted && inclusive === closed ? value : undefined)))
  const [multipleOf, ...steps] = values('multiple_of')
  return withoutEmpty({
    type: ranges.length > 0 ? 'integer' : 'number',
    minimum: Math.max(...values('greater_than', true), ...ranges.map(([min]) => min)),
    exclusiveMinimum: Math.max(...values('greater_than', false)),
    maximum: Math.min(...values('less_than', true), ...ranges.map(([, max]) => max)),
    exclusiveMaximum: Math.min(...values('less_than', false)),
    multipleOf,
    allOf: steps.map((multipleOf) => ({ multipleOf })),
  })
}

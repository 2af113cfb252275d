import type { JsonSchema } from './json-schema.ts'
import { SchemaError } from './schema-error.ts'
import { isObject, type JsonObject } from './values.ts'

/** A zod schema of any version, as the conversion sees it. */
export type ZodNode = { meta: JsonSchema } & (
  | { kind: 'json'; json: JsonSchema; optional?: boolean }
  | {
      kind: 'wrapper'
      inner: object
      optional?: Sides
      nullable?: boolean
      default?: () => unknown
      inputOnly?: boolean
    }
  | { kind: 'array'; element: object; limits: JsonSchema }
  | { kind: 'tuple'; items: object[]; rest: object | undefined }
  | { kind: 'object'; shape: Record<string, object>; extra: 'strip' | 'strict' | 'loose' | object }
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
  if (typeof schema !== 'object' || schema === null) return false
  return version4(schema) !== undefined || version3(schema) !== undefined
}

export function readZod(schema: object): ZodNode {
  const four = version4(schema)
  if (four) return { meta: readMeta4(schema), ...(READ_4[four.type as string] ?? refuse)(four, schema) }
  const three = version3(schema)
  if (!three) throw new SchemaError('A part of the zod schema is no zod schema')
  const { description } = three
  const read = READ_3[three.typeName as string] ?? refuse
  return { meta: typeof description === 'string' ? { description } : {}, ...read(three, schema) }
}

interface Sides {
  input: boolean
  output: boolean
}

type Def = JsonObject
type Unnamed<Node> = Node extends unknown ? Omit<Node, 'meta'> : never
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

const OPTIONAL: Sides = { input: true, output: true }
const OPTIONAL_INPUT: Sides = { input: true, output: false }
const NEVER_OPTIONAL: Sides = { input: false, output: false }

const refuse: Read = (def) => ({ kind: 'refused', name: String(def.typeName ?? def.type) })
const anything: Read = () => ({ kind: 'json', json: {} })
const nothing: Read = () => ({ kind: 'json', json: { not: {} } })
const plain =
  (type: string): Read =>
  () => ({ kind: 'json', json: { type } })
const inside: Read = (def) => ({ kind: 'wrapper', inner: def.innerType as object })
const optional: Read = (def) => ({ kind: 'wrapper', inner: def.innerType as object, optional: OPTIONAL })
const nullable: Read = (def) => ({ kind: 'wrapper', inner: def.innerType as object, nullable: true })
const undefinedValue: Read = (def) => ({ kind: 'undefined', name: String(def.typeName ?? def.type) })
const intersection: Read = (def) => ({ kind: 'intersection', left: def.left as object, right: def.right as object })
const lazy: Read = (def) => ({ kind: 'lazy', get: def.getter as () => object })
const pipe: Read = (def) => ({ kind: 'pipe', in: def.in as object, out: def.out as object })
const union: Read = (def) => ({
  kind: 'union',
  options: def.options instanceof Map ? [...def.options.values()] : (def.options as object[]),
})
const tuple: Read = (def) => ({
  kind: 'tuple',
  items: def.items as object[],
  rest: (def.rest as object | null) ?? undefined,
})

const READ_4: Record<string, Read> = {
  string: (def) => ({ kind: 'json', json: toString4(checksOf4(def)) }),
  number: (def) => ({ kind: 'json', json: toNumber4(checksOf4(def)) }),
  boolean: plain('boolean'),
  success: plain('boolean'),
  null: plain('null'),
  any: anything,
  unknown: anything,
  custom: anything,
  never: nothing,
  undefined: undefinedValue,
  void: undefinedValue,
  literal: (def) => toLiteral(def.values as unknown[]),
  enum: (def) => toLiteral(enumValues(def.entries as JsonObject)),
  template_literal: (_def, schema) => ({ kind: 'json', json: toPatterns([internals(schema).pattern as RegExp]) }),
  array: (def) => ({ kind: 'array', element: def.element as object, limits: toLimits4(checksOf4(def), 'Items') }),
  tuple,
  object: (def) => ({ kind: 'object', shape: def.shape as Record<string, object>, extra: extraKeys4(def.catchall) }),
  record: (def) => ({
    kind: 'record',
    key: def.keyType as object,
    value: def.valueType as object,
    keys: keyNames4(def.keyType as object),
    exhaustive: def.partial !== true,
  }),
  union,
  intersection,
  optional,
  nullable,
  nonoptional: (def) => ({ kind: 'wrapper', inner: def.innerType as object, optional: NEVER_OPTIONAL }),
  default: (def) => withDefault(def, () => def.defaultValue),
  prefault: (def) => ({ ...withDefault(def, () => def.defaultValue), inputOnly: true }),
  catch: inside,
  readonly: inside,
  pipe,
  lazy,
  transform: () => ({ kind: 'transform' }),
}

const READ_3: Record<string, Read> = {
  ZodString: (def) => ({ kind: 'json', json: toString3(def.checks as Check3[]) }),
  ZodNumber: (def) => ({ kind: 'json', json: toNumber3(def.checks as Check3[]) }),
  ZodBoolean: plain('boolean'),
  ZodNull: plain('null'),
  ZodAny: () => ({ kind: 'json', json: {}, optional: true }),
  ZodUnknown: () => ({ kind: 'json', json: {}, optional: true }),
  ZodNever: nothing,
  ZodUndefined: undefinedValue,
  ZodVoid: undefinedValue,
  ZodLiteral: (def) => toLiteral([def.value]),
  ZodEnum: (def) => toLiteral(def.values as unknown[]),
  ZodNativeEnum: (def) => toLiteral(enumValues(def.values as JsonObject)),
  ZodArray: (def) => ({ kind: 'array', element: def.type as object, limits: toLimits3(def) }),
  ZodTuple: tuple,
  ZodObject: (def) => ({
    kind: 'object',
    shape: (def.shape as () => Record<string, object>)(),
    extra: extraKeys3(def),
  }),
  ZodRecord: (def) => ({
    kind: 'record',
    key: def.keyType as object,
    value: def.valueType as object,
    keys: undefined,
    exhaustive: false,
  }),
  ZodUnion: union,
  ZodDiscriminatedUnion: union,
  ZodIntersection: intersection,
  ZodOptional: optional,
  ZodNullable: nullable,
  ZodDefault: (def) => withDefault(def, def.defaultValue as () => unknown),
  ZodCatch: inside,
  ZodReadonly: inside,
  ZodBranded: (def) => ({ kind: 'wrapper', inner: def.type as object }),
  ZodPipeline: pipe,
  ZodLazy: lazy,
  ZodEffects: (def) => toEffects(def),
}

function internals(schema: object): JsonObject {
  return (schema as { _zod: JsonObject })._zod
}

function withDefault(def: Def, value: () => unknown): Unnamed<ZodNode> & { kind: 'wrapper' } {
  return { kind: 'wrapper', inner: def.innerType as object, optional: OPTIONAL_INPUT, default: value }
}

function toLiteral(values: unknown[]): Unnamed<ZodNode> {
  if (values.length === 1 && values[0] === undefined) return { kind: 'undefined', name: 'literal undefined' }
  const stranger = values.find((value) => !['string', 'number', 'boolean'].includes(typeof value) && value !== null)
  if (stranger !== undefined || values.includes(undefined)) {
    return { kind: 'refused', name: `${typeof stranger} literal` }
  }
  if (values.length === 1 && values[0] !== null) return { kind: 'json', json: { ...typeOf(values), const: values[0] } }
  return { kind: 'json', json: values.length === 1 ? { type: 'null' } : { ...typeOf(values), enum: values } }
}

function typeOf(values: unknown[]): JsonSchema {
  const types = new Set(values.map((value) => (value === null ? 'null' : typeof value)))
  return types.size === 1 ? { type: [...types][0] } : {}
}

/** The values of a TypeScript enum, which also maps its numbers back to their names. */
function enumValues(entries: JsonObject): unknown[] {
  return Object.keys(entries)
    .filter((key) => typeof entries[entries[key] as string] !== 'number')
    .map((key) => entries[key])
}

function extraKeys4(catchall: unknown): 'strip' | 'strict' | 'loose' | object {
  if (typeof catchall !== 'object' || catchall === null) return 'strip'
  const type = version4(catchall)?.type
  if (type === 'never') return 'strict'
  return type === 'unknown' || type === 'any' ? 'loose' : catchall
}

function extraKeys3({ catchall, unknownKeys }: Def): 'strip' | 'strict' | 'loose' | object {
  const type = typeof catchall === 'object' && catchall !== null ? version3(catchall)?.typeName : undefined
  if (type !== undefined && type !== 'ZodNever') return catchall as object
  return unknownKeys === 'strict' ? 'strict' : unknownKeys === 'passthrough' ? 'loose' : 'strip'
}

function keyNames4(key: object): string[] | undefined {
  const { values } = internals(key)
  return values instanceof Set && values.size > 0 ? [...values].map(String) : undefined
}

function toEffects(def: Def): Unnamed<ZodNode> {
  const { type } = def.effect as { type?: string }
  const inner = def.schema as object
  if (type === 'transform') return { kind: 'pipe', in: inner, out: TRANSFORM_3 }
  return { kind: 'wrapper', inner }
}

// zod 3 keeps transforms inside of its effects; here they are a step of their own, as in zod 4.
const TRANSFORM_3 = { _zod: { def: { type: 'transform' } } }

/** Checks of zod 4: those of the schema itself, when it is a check such as `z.email()`, then those added to it. */
function checksOf4(def: Def): Def[] {
  const added = (def.checks ?? []) as { _zod: { def: Def } }[]
  return [...(def.check === undefined ? [] : [def]), ...added.map((check) => check._zod.def)]
}

const FORMATS_4: Record<string, string> = {
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

function toString4(checks: Def[]): JsonSchema {
  const formats = checks.filter(({ check }) => check === 'string_format')
  const known = formats.filter((check) => formatOf4(check) !== undefined)
  const patterns = formats.filter((check) => !known.includes(check)).map(({ pattern }) => pattern)
  const encoding = formats.map(({ format }) => format).find((format) => format === 'base64' || format === 'base64url')
  return {
    type: 'string',
    ...toLimits4(checks, 'Length'),
    ...(known.length > 0 && { format: formatOf4(known[0]!) }),
    ...(encoding !== undefined && { contentEncoding: encoding }),
    ...toPatterns(patterns.filter((pattern) => pattern instanceof RegExp)),
  }
}

function formatOf4({ format, local }: Def): string | undefined {
  // A local time has no offset, which RFC 3339 and so the format asks for.
  return format === 'datetime' && local === true ? undefined : FORMATS_4[format as string]
}

/** The tightest of the length checks, as keywords that end in `Length` or `Items`. */
function toLimits4(checks: Def[], what: 'Length' | 'Items'): JsonSchema {
  const mins = checks.map(({ check, minimum, length }) => (check === 'length_equals' ? length : minimum))
  const maxs = checks.map(({ check, maximum, length }) => (check === 'length_equals' ? length : maximum))
  return toLimits(mins, maxs, what)
}

function toLimits(mins: unknown[], maxs: unknown[], what: 'Length' | 'Items'): JsonSchema {
  const min = Math.max(...mins.filter((limit) => typeof limit === 'number'))
  const max = Math.min(...maxs.filter((limit) => typeof limit === 'number'))
  return { ...(Number.isFinite(min) && { [`min${what}`]: min }), ...(Number.isFinite(max) && { [`max${what}`]: max }) }
}

function toPatterns(patterns: RegExp[]): JsonSchema {
  // JSON Schema has no flags, so a pattern that needs them is left to zod.
  const sources = patterns.filter(({ flags }) => !/[imsv]/.test(flags)).map(({ source }) => source)
  const [first, ...rest] = sources
  if (first === undefined) return { type: 'string' }
  return { type: 'string', pattern: first, ...(rest.length > 0 && { allOf: rest.map((pattern) => ({ pattern })) }) }
}

const RANGES_4: Record<string, { integer: boolean; minimum?: number; maximum?: number }> = {
  safeint: { integer: true },
  int32: { integer: true, minimum: -(2 ** 31), maximum: 2 ** 31 - 1 },
  uint32: { integer: true, minimum: 0, maximum: 2 ** 32 - 1 },
}

function toNumber4(checks: Def[]): JsonSchema {
  const bounds = checks.flatMap(({ check, value, inclusive, format }): Bound[] => {
    const range = check === 'number_format' ? RANGES_4[format as string] : undefined
    if (range) return [{ ...range, inclusive: true }]
    if (check === 'greater_than') return [{ minimum: value as number, inclusive: inclusive === true }]
    if (check === 'less_than') return [{ maximum: value as number, inclusive: inclusive === true }]
    return check === 'multiple_of' ? [{ step: value as number, inclusive: true }] : []
  })
  return toNumber(bounds)
}

interface Bound {
  integer?: boolean
  minimum?: number
  maximum?: number
  step?: number
  inclusive: boolean
}

function toNumber(bounds: Bound[]): JsonSchema {
  const pick = (key: 'minimum' | 'maximum', inclusive: boolean) =>
    bounds
      .filter((bound) => bound.inclusive === inclusive)
      .map((bound) => bound[key])
      .filter((limit) => limit !== undefined && Number.isFinite(limit)) as number[]
  const [minimum, above] = [pick('minimum', true), pick('minimum', false)]
  const [maximum, below] = [pick('maximum', true), pick('maximum', false)]
  const steps = bounds.map(({ step }) => step).filter((step) => step !== undefined)
  return {
    type: bounds.some(({ integer }) => integer) ? 'integer' : 'number',
    ...(minimum.length > 0 && { minimum: Math.max(...minimum) }),
    ...(above.length > 0 && { exclusiveMinimum: Math.max(...above) }),
    ...(maximum.length > 0 && { maximum: Math.min(...maximum) }),
    ...(below.length > 0 && { exclusiveMaximum: Math.min(...below) }),
    ...(steps.length > 0 && { multipleOf: steps[0] }),
    ...(steps.length > 1 && { allOf: steps.slice(1).map((multipleOf) => ({ multipleOf })) }),
  }
}

interface Check3 {
  kind: string
  value?: unknown
  regex?: RegExp
  inclusive?: boolean
  version?: string
  local?: boolean
}

const FORMATS_3: Record<string, string> = {
  email: 'email',
  url: 'uri',
  uuid: 'uuid',
  datetime: 'date-time',
  date: 'date',
  duration: 'duration',
}

function toString3(checks: Check3[]): JsonSchema {
  const exact = checks.filter(({ kind }) => kind === 'length')
  const mins = [...exact, ...checks.filter(({ kind }) => kind === 'min')].map(({ value }) => value)
  const maxs = [...exact, ...checks.filter(({ kind }) => kind === 'max')].map(({ value }) => value)
  const format = checks.map(formatOf3).find(Boolean)
  const encoding = checks.find(({ kind }) => kind === 'base64' || kind === 'base64url')?.kind
  return {
    type: 'string',
    ...toLimits(mins, maxs, 'Length'),
    ...(format && { format }),
    ...(encoding && { contentEncoding: encoding }),
    ...toPatterns(checks.map(patternOf3).filter((pattern) => pattern !== undefined)),
  }
}

function formatOf3({ kind, version, local }: Check3): string | undefined {
  if (kind === 'ip') return version === 'v4' ? 'ipv4' : version === 'v6' ? 'ipv6' : undefined
  return kind === 'datetime' && local ? undefined : FORMATS_3[kind]
}

function patternOf3({ kind, value, regex }: Check3): RegExp | undefined {
  if (kind === 'regex') return regex
  const text = String(value).replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
  if (kind === 'startsWith') return new RegExp(`^${text}`)
  if (kind === 'endsWith') return new RegExp(`${text}$`)
  return kind === 'includes' ? new RegExp(text) : undefined
}

function toNumber3(checks: Check3[]): JsonSchema {
  return toNumber(
    checks.map(({ kind, value, inclusive = true }) => ({
      integer: kind === 'int',
      minimum: kind === 'min' ? (value as number) : undefined,
      maximum: kind === 'max' ? (value as number) : undefined,
      step: kind === 'multipleOf' ? (value as number) : undefined,
      inclusive,
    })),
  )
}

function toLimits3({ minLength, maxLength, exactLength }: Def): JsonSchema {
  const value = (limit: unknown) => (isObject(limit) ? limit.value : undefined)
  return toLimits([value(minLength), value(exactLength)], [value(maxLength), value(exactLength)], 'Items')
}

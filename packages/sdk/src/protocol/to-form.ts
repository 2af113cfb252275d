import type { JsonSchema } from '../schema/json-schema.ts'
import { isKeyword } from '../schema/keywords.ts'
import { SchemaError } from '../schema/schema-error.ts'
import { escapeToken, keysOf, show } from '../schema/values.ts'
import { define, isObject, type JsonObject, pick } from '../util/objects.ts'
import type { ElicitSchema, EnumOption, PrimitiveSchemaDefinition } from './elicitation.ts'
import { FORM_FORMATS, fieldProblem } from './form.ts'

/**
 * The form that asks for what a JSON Schema describes: a flat object of texts, numbers, yes or no, and choices
 * (2025-11-25 elicitation, requested schema). What checks nothing is left out.
 *
 * @throws SchemaError that names the field, what a form cannot say of it, and the way out
 */
export function toForm(json: JsonSchema): ElicitSchema {
  const root: Part = { name: undefined, at: '', document: json, schema: json }
  const { schema } = resolve(root)
  const isRecord = [schema.additionalProperties, schema.unevaluatedProperties].some(
    (others) => isObject(others) && keysOf(others).length > 0,
  )
  if (isRecord) throw refusal(root, 'has only the fields that it names', 'name each of them')
  if (schema.type !== 'object' && !(schema.type === undefined && isObject(schema.properties))) {
    throw refusal(root, 'is one object', 'merge the parts of it, or make a single value its only property')
  }
  checkKeywords({ ...root, schema }, ROOT_KEYWORDS)
  const properties = toFields(json, isObject(schema.properties) ? schema.properties : {})
  const required = toRequired(root, schema.required, properties)
  return { type: 'object', properties, ...(required.length > 0 && { required }) }
}

/** A schema on the way to become a field. */
interface Part {
  /** The name of the field; the form itself has none. */
  name: string | undefined
  /** A JSON Pointer to where it stands. */
  at: string
  /** Where references start from. */
  document: JsonSchema
  schema: JsonSchema
}

/** Nobody fills in more, and clients have to show them all. */
const MAX_FIELDS = 100
const MAX_REFERENCES = 32

const ROOT_KEYWORDS = ['type', 'properties', 'required', 'additionalProperties', 'unevaluatedProperties']

/** What says something to the reader and checks nothing. */
const ANNOTATIONS = new Set(
  (
    'title description default examples deprecated readOnly writeOnly $schema $id $anchor $dynamicAnchor $comment ' +
    '$defs definitions'
  ).split(' '),
)

function toFields(document: JsonSchema, given: JsonObject): ElicitSchema['properties'] {
  const names = keysOf(given)
  if (names.length > MAX_FIELDS) {
    throw new SchemaError(`A form has at most ${MAX_FIELDS} fields, not ${names.length}; ask in several steps`)
  }
  const properties: JsonObject = {}
  for (const name of names) {
    const schema = given[name]
    const part = { name, at: `/properties/${escapeToken(name)}`, document, schema: isObject(schema) ? schema : {} }
    define(properties, name, toField(resolve(part)))
  }
  return properties as ElicitSchema['properties']
}

function toRequired(root: Part, given: unknown, properties: JsonObject): string[] {
  const required = Array.isArray(given) ? (given as string[]) : []
  const unknown = required.find((name) => !Object.hasOwn(properties, name))
  if (unknown === undefined) return required
  throw refusal({ ...root, name: unknown }, 'has to say what a required field is', 'add it to properties')
}

function toField(part: Part): PrimitiveSchemaDefinition {
  refuseNull(part)
  const field = fieldOf(part)
  if (field.default === undefined) return field
  const problem = fieldProblem(field, field.default)
  if (problem === undefined) return field
  throw new SchemaError(`Field ${show(part.name)}: Its default ${problem}; give one that the field accepts`, part.at)
}

function fieldOf(part: Part): PrimitiveSchemaDefinition {
  if (isChoice(part.schema)) return toChoice(part)
  switch (typeOf(part.schema)) {
    case 'string':
      return toText(part)
    case 'number':
    case 'integer':
      return toNumber(part)
    case 'boolean':
      return toBoolean(part)
    case 'array':
      return toChoices(part)
    case 'object':
      throw refusal(part, 'is flat and takes no object inside', 'make its members fields of the form')
    default:
      throw refusal(part, 'needs one type for a field', 'use a string, a number, a boolean or a choice of strings')
  }
}

function typeOf({ type }: JsonSchema): unknown {
  return Array.isArray(type) && type.length === 1 ? type[0] : type
}

function refuseNull(part: Part): void {
  const { type, anyOf, oneOf, enum: values } = part.schema
  const parts = [anyOf, oneOf].flatMap((options) => (Array.isArray(options) ? options : []))
  const takesNull =
    [type].flat().includes('null') ||
    (Array.isArray(values) && values.includes(null)) ||
    parts.some((option) => isObject(option) && (option.type === 'null' || option.const === null))
  if (takesNull) throw refusal(part, 'knows no null', 'make the field optional instead of nullable')
}

function toText(part: Part): PrimitiveSchemaDefinition {
  const { schema } = part
  // Libraries write how they check a format beside it.
  const known = FORM_FORMATS.has(schema.format) ? ['format', 'pattern'] : []
  if (schema.format !== undefined && known.length === 0) throw unsayable(part, `the format ${show(schema.format)}`)
  checkKeywords(part, ['type', 'minLength', 'maxLength', ...known])
  return { type: 'string', ...labels(schema), ...pick(schema, ['minLength', 'maxLength', 'format', 'default']) }
}

function toNumber(part: Part): PrimitiveSchemaDefinition {
  const { schema } = part
  const whole = typeOf(schema) === 'integer' || schema.multipleOf === 1
  checkKeywords(part, [
    ...['type', 'minimum', 'maximum'],
    ...(whole ? ['exclusiveMinimum', 'exclusiveMaximum'] : []),
    ...(schema.multipleOf === 1 ? ['multipleOf'] : []),
  ])
  return { type: whole ? 'integer' : 'number', ...labels(schema), ...toRange(schema), ...pick(schema, ['default']) }
}

/** The range with both ends in it. Ends that no number gets past are left out: zod has them for every integer. */
function toRange({ minimum, maximum, exclusiveMinimum, exclusiveMaximum }: JsonSchema): JsonObject {
  const low = Math.max(toLimit(minimum, -Infinity), Math.floor(toLimit(exclusiveMinimum, -Infinity)) + 1)
  const high = Math.min(toLimit(maximum, Infinity), Math.ceil(toLimit(exclusiveMaximum, Infinity)) - 1)
  return {
    ...(low > Number.MIN_SAFE_INTEGER && { minimum: low }),
    ...(high < Number.MAX_SAFE_INTEGER && { maximum: high }),
  }
}

function toLimit(value: unknown, otherwise: number): number {
  return typeof value === 'number' ? value : otherwise
}

function toBoolean(part: Part): PrimitiveSchemaDefinition {
  checkKeywords(part, ['type'])
  return { type: 'boolean', ...labels(part.schema), ...pick(part.schema, ['default']) }
}

function toChoice(part: Part): PrimitiveSchemaDefinition {
  const { schema } = part
  const { options, titled } = readChoice(part)
  const rest = { ...labels(schema), ...pick(schema, ['default']) }
  if (titled) return { type: 'string', ...rest, oneOf: options }
  const values = options.map((option) => option.const)
  return { type: 'string', ...rest, enum: values, ...enumNames(part, values.length) }
}

function toChoices(part: Part): PrimitiveSchemaDefinition {
  const { schema } = part
  const items = resolve({ ...part, at: `${part.at}/items`, schema: isObject(schema.items) ? schema.items : {} })
  if (!isChoice(items.schema)) throw refusal(items, 'takes a list only as a choice', 'let items be an enum of strings')
  // What is chosen is chosen once, so uniqueItems need not be said.
  checkKeywords(part, ['type', 'items', 'minItems', 'maxItems', 'uniqueItems'])
  const { options, titled } = readChoice(items)
  const rest = { ...labels(schema), ...pick(schema, ['minItems', 'maxItems', 'default']) }
  if (titled) return { type: 'array', ...rest, items: { anyOf: options } }
  return { type: 'array', ...rest, items: { type: 'string', enum: options.map((option) => option.const) } }
}

function isChoice(schema: JsonSchema): boolean {
  return CHOICES.some((keyword) => schema[keyword] !== undefined)
}

const CHOICES = ['enum', 'const', 'oneOf', 'anyOf']

/** The options of a schema that has one of the keywords above. Those of which none has a title are bare values. */
function readChoice(part: Part): { options: EnumOption[]; titled: boolean } {
  const { schema } = part
  const keyword = CHOICES.find((candidate) => schema[candidate] !== undefined)!
  checkKeywords(part, ['type', keyword])
  const value = schema[keyword]
  const given = keyword === 'const' ? [value] : Array.isArray(value) ? value : []
  const isUnion = keyword === 'oneOf' || keyword === 'anyOf'
  const parts: JsonObject[] = isUnion
    ? given.map((option) => readOption(part, option))
    : given.map((item) => ({ const: item }))
  if (parts.length === 0 || !parts.every(isOption)) {
    throw refusal(
      part,
      'takes a choice only among strings',
      'let each option be one string, or check the value with a refinement',
    )
  }
  const options = parts.map((option) => ({ const: option.const, title: option.title ?? option.const }))
  return { options, titled: parts.some((option) => option.title !== undefined) }
}

/** One option of a union, which has to be one value. */
function readOption(part: Part, option: unknown): JsonObject {
  if (!isObject(option)) return {}
  const { schema } = resolve({ ...part, schema: option })
  const { enum: values } = schema
  const value = schema.const ?? (Array.isArray(values) && values.length === 1 ? values[0] : undefined)
  if (typeof value !== 'string') return {}
  checkKeywords({ ...part, schema }, ['type', 'const', 'enum'])
  return { const: value, ...(typeof schema.title === 'string' && { title: schema.title }) }
}

function isOption(option: JsonObject): option is { const: string; title?: string } {
  return typeof option.const === 'string'
}

/** 2025-06-18 had the titles of a choice in a list of their own, which is still understood. */
function enumNames(part: Part, count: number): { enumNames?: string[] } {
  const names = part.schema.enumNames
  if (names === undefined || part.schema.enum === undefined) return {}
  const fits = Array.isArray(names) && names.length === count && names.every((name) => typeof name === 'string')
  if (fits) return { enumNames: names }
  throw refusal(part, 'needs a name for each value of enum', 'give enumNames as many strings as enum')
}

function labels({ title, description }: JsonSchema): { title?: string; description?: string } {
  return { ...(typeof title === 'string' && { title }), ...(typeof description === 'string' && { description }) }
}

/** Refuses what checks something that a form cannot say. Words that JSON Schema does not know check nothing. */
function checkKeywords(part: Part, known: readonly string[]): void {
  const stranger = keysOf(part.schema).find(
    (keyword) => isKeyword(keyword) && !known.includes(keyword) && !ANNOTATIONS.has(keyword),
  )
  if (stranger !== undefined) throw unsayable(part, stranger)
}

/** The schema that a reference names, with what stands beside the reference. */
function resolve(part: Part): Part {
  let { schema } = part
  for (let hops = 0; schema.$ref !== undefined; hops++) {
    const { $ref, ...beside } = schema
    const target = hops < MAX_REFERENCES ? follow(part.document, $ref) : undefined
    if (!target) throw refusal(part, `cannot follow the reference ${show($ref)}`, 'write the schema in its place')
    schema = { ...target, ...beside }
  }
  return { ...part, schema }
}

function follow(document: JsonSchema, reference: unknown): JsonSchema | undefined {
  if (typeof reference !== 'string' || !/^#(?:\/|$)/.test(reference)) return undefined
  let value: unknown = document
  for (const token of decode(reference).split('/').slice(1)) {
    const key = token.replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
    value = (value as JsonObject)[key]
  }
  return isObject(value) ? value : undefined
}

function decode(reference: string): string {
  try {
    return decodeURIComponent(reference)
  } catch {
    return reference
  }
}

function unsayable(part: Part, what: string): SchemaError {
  return refusal(
    part,
    `cannot say ${what}`,
    'say it in the description and check it with a refinement: what JSON Schema does not show is checked on the answer',
  )
}

function refusal({ name, at }: Part, rule: string, way: string): SchemaError {
  return new SchemaError(`${name === undefined ? '' : `Field ${show(name)}: `}A form ${rule}; ${way}`, at)
}

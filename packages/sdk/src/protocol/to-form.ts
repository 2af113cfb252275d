import { type JsonSchema, SchemaError } from '../schema/json-schema.ts'
import { isKeyword } from '../schema/keywords.ts'
import { escapeToken, keysOf, show } from '../schema/values.ts'
import { define, isObject, type JsonObject, pick } from '../util/objects.ts'
import type { ElicitSchema, EnumOption, PrimitiveSchemaDefinition } from './elicitation.ts'
import { FORM_FORMATS, fieldProblem } from './form.ts'

/**
 * Converts a JSON Schema to an elicitation form: a flat object of strings, numbers, booleans and choices (2025-11-25
 * elicitation, requested schema). Keywords that validate nothing are dropped.
 *
 * @throws SchemaError that names the field and what a form does not support
 */
export function toForm(json: JsonSchema): ElicitSchema {
  const root: Part = { name: undefined, at: '', document: json, schema: json }
  const { schema } = resolve(root)
  const isRecord = [schema.additionalProperties, schema.unevaluatedProperties].some(
    (others) => isObject(others) && keysOf(others).length > 0,
  )
  if (isRecord) throw formError(root, 'cannot have additional properties', 'Name each field.')
  if (schema.type !== 'object' && !(schema.type === undefined && isObject(schema.properties))) {
    throw formError(root, 'must be one object', 'Merge its parts, or make a single value its only property.')
  }
  checkKeywords({ ...root, schema }, ROOT_KEYWORDS)
  const properties = toFields(json, isObject(schema.properties) ? schema.properties : {})
  const required = toRequired(root, schema.required, properties)
  return { type: 'object', properties, ...(required.length > 0 && { required }) }
}

/** A schema that is being converted. */
interface Part {
  /** The name of the field; undefined for the form itself. */
  name: string | undefined
  /** A JSON Pointer to the schema. */
  at: string
  /** The root of the schema, for references. */
  document: JsonSchema
  schema: JsonSchema
}

/** Clients have to show all fields at once. */
const MAX_FIELDS = 100
const MAX_REFERENCES = 32

const ROOT_KEYWORDS = ['type', 'properties', 'required', 'additionalProperties', 'unevaluatedProperties']

/** Keywords that validate nothing. */
const ANNOTATIONS = new Set(
  (
    'title description default examples deprecated readOnly writeOnly $schema $id $anchor $dynamicAnchor $comment ' +
    '$defs definitions'
  ).split(' '),
)

function toFields(document: JsonSchema, given: JsonObject): ElicitSchema['properties'] {
  const names = keysOf(given)
  if (names.length > MAX_FIELDS) {
    throw new SchemaError(`A form has at most ${MAX_FIELDS} fields, not ${names.length}. Ask in several steps.`)
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
  throw formError({ ...root, name: unknown }, 'must describe every required field', 'Add it to properties.')
}

function toField(part: Part): PrimitiveSchemaDefinition {
  rejectNull(part)
  const field = fieldOf(part)
  if (field.default === undefined) return field
  const problem = fieldProblem(field, field.default)
  if (problem === undefined) return field
  throw new SchemaError(`Field ${show(part.name)}: The default ${problem}. Set one that the field accepts.`, part.at)
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
      throw formError(part, 'cannot contain nested objects', 'Make its members fields of the form.')
    default:
      throw formError(
        part,
        'needs exactly one type per field',
        'Use a string, a number, a boolean or a choice of strings.',
      )
  }
}

function typeOf({ type }: JsonSchema): unknown {
  return Array.isArray(type) && type.length === 1 ? type[0] : type
}

function rejectNull(part: Part): void {
  const { type, anyOf, oneOf, enum: values } = part.schema
  const parts = [anyOf, oneOf].flatMap((options) => (Array.isArray(options) ? options : []))
  const takesNull =
    [type].flat().includes('null') ||
    (Array.isArray(values) && values.includes(null)) ||
    parts.some((option) => isObject(option) && (option.type === 'null' || option.const === null))
  if (takesNull) throw formError(part, 'does not support null', 'Make the field optional instead of nullable.')
}

function toText(part: Part): PrimitiveSchemaDefinition {
  const { schema } = part
  // Schema libraries add a pattern to the formats they check.
  const known = FORM_FORMATS.has(schema.format) ? ['format', 'pattern'] : []
  if (schema.format !== undefined && known.length === 0) throw unsupported(part, `the format ${show(schema.format)}`)
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

/** The inclusive range. Bounds outside the safe integers are dropped: zod adds them to every integer. */
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
  if (!isChoice(items.schema))
    throw formError(items, 'supports arrays only as a multiple choice', 'Make items an enum of strings.')
  // A multiple choice is unique anyway, so `uniqueItems` is dropped.
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

/** The options of a choice, and whether at least one has a title. */
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
    throw formError(
      part,
      'supports only choices of strings',
      'Make each option one string, or check the value with a refinement.',
    )
  }
  const options = parts.map((option) => ({ const: option.const, title: option.title ?? option.const }))
  return { options, titled: parts.some((option) => option.title !== undefined) }
}

/** Reads one option of a union, which must be a single string. */
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

/** 2025-06-18 has the titles of a choice in a separate array, which is still accepted. */
function enumNames(part: Part, count: number): { enumNames?: string[] } {
  const names = part.schema.enumNames
  if (names === undefined || part.schema.enum === undefined) return {}
  const fits = Array.isArray(names) && names.length === count && names.every((name) => typeof name === 'string')
  if (fits) return { enumNames: names }
  throw formError(part, 'needs one name per value of enum', 'Give enumNames as many strings as enum.')
}

function labels({ title, description }: JsonSchema): { title?: string; description?: string } {
  return { ...(typeof title === 'string' && { title }), ...(typeof description === 'string' && { description }) }
}

/** Rejects keywords that a form does not support. Unknown keywords validate nothing and are ignored. */
function checkKeywords(part: Part, known: readonly string[]): void {
  const other = keysOf(part.schema).find(
    (keyword) => isKeyword(keyword) && !known.includes(keyword) && !ANNOTATIONS.has(keyword),
  )
  if (other !== undefined) throw unsupported(part, other)
}

/** Replaces a reference by its target, merged with the keywords beside the reference. */
function resolve(part: Part): Part {
  let { schema } = part
  for (let hops = 0; schema.$ref !== undefined; hops++) {
    const { $ref, ...beside } = schema
    const target = hops < MAX_REFERENCES ? follow(part.document, $ref) : undefined
    if (!target) throw formError(part, `cannot resolve the reference ${show($ref)}`, 'Write the schema in its place.')
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

function unsupported(part: Part, what: string): SchemaError {
  return formError(
    part,
    `does not support ${what}`,
    'Mention it in the description and check it with a refinement, which runs on the answer.',
  )
}

function formError({ name, at }: Part, rule: string, advice: string): SchemaError {
  return new SchemaError(`${name === undefined ? '' : `Field ${show(name)}: `}A form ${rule}. ${advice}`, at)
}

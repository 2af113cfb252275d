import { isObject } from '../util/objects.ts'
import { KINDS, show } from './values.ts'

const words = (text: string) => new Set(text.split(' '))

/** Keywords whose subschemas apply to the same value, not to its members. */
export const IN_PLACE = words('allOf anyOf oneOf not if then else dependencies dependentSchemas')

const ONE_SCHEMA = words(
  'not if then else additionalProperties propertyNames items additionalItems contains unevaluatedItems ' +
    'unevaluatedProperties contentSchema',
)
const MANY_SCHEMAS = words(
  'allOf anyOf oneOf prefixItems properties patternProperties dependencies dependentSchemas $defs definitions',
)
const NOT_IN_DRAFT_07 = words(
  '$anchor $dynamicRef $dynamicAnchor $defs dependentSchemas dependentRequired prefixItems unevaluatedItems ' +
    'unevaluatedProperties minContains maxContains deprecated contentSchema',
)

const isString = (value: unknown) => typeof value === 'string'
const isSet = (value: unknown) => Array.isArray(value) && new Set(value).size === value.length
const isNames = (value: unknown) => isSet(value) && (value as unknown[]).every(isString)

const RULES: [keywords: string, wanted: string, isSound: (value: unknown) => boolean][] = [
  [
    '$schema $id $ref $dynamicRef $comment pattern format title description contentEncoding contentMediaType',
    'a string',
    isString,
  ],
  ['$anchor $dynamicAnchor', 'a name of letters, digits and -._', (value) => /^[a-z_][-\w.]*$/i.test(String(value))],
  ['uniqueItems readOnly writeOnly deprecated', 'true or false', (value) => typeof value === 'boolean'],
  ['minimum maximum exclusiveMinimum exclusiveMaximum', 'a number', Number.isFinite],
  ['multipleOf', 'a number greater than 0', (value) => Number.isFinite(value) && (value as number) > 0],
  [
    'minLength maxLength minItems maxItems minContains maxContains minProperties maxProperties',
    'an integer of 0 or more',
    (value) => Number.isInteger(value) && (value as number) >= 0,
  ],
  // The metaschema forbids an empty tuple, but zod generates it and its meaning is clear.
  ['enum examples prefixItems', 'an array', Array.isArray],
  ['allOf anyOf oneOf', 'a non-empty array', (value) => Array.isArray(value) && value.length > 0],
  ['properties patternProperties dependentSchemas $defs definitions', 'an object', isObject],
  ['required', 'an array of unique property names', isNames],
  [
    'dependentRequired',
    'an object with arrays of unique property names',
    (value) => isObject(value) && Object.values(value).every(isNames),
  ],
  [
    'dependencies',
    'an object with schemas or arrays of unique property names',
    (value) => isObject(value) && Object.values(value).every((part) => !Array.isArray(part) || isNames(part)),
  ],
  [
    'type',
    `one or more of ${KINDS.join(', ')}`,
    (value) => {
      const types = [value].flat()
      return types.length > 0 && isSet(types) && types.every((type) => KINDS.includes(type as string))
    },
  ],
]

const RULE_OF = new Map(RULES.flatMap((rule) => rule[0].split(' ').map((keyword) => [keyword, rule])))

export function isKnown(keyword: string, draft07: boolean): boolean {
  return draft07 ? !NOT_IN_DRAFT_07.has(keyword) : keyword !== 'additionalItems'
}

const WITHOUT_RULE = words(
  'const default not if then else items contains propertyNames additionalProperties additionalItems ' +
    'unevaluatedItems unevaluatedProperties contentSchema',
)

/** Whether JSON Schema defines this keyword. */
export function isKeyword(name: string): boolean {
  return RULE_OF.has(name) || WITHOUT_RULE.has(name)
}

/** Describes what is wrong with the value of a keyword. Returns undefined if it is valid. */
export function faultOf(keyword: string, value: unknown, draft07: boolean): string | undefined {
  if (keyword === 'items' && Array.isArray(value) && !draft07) {
    return 'items must be a schema. Use prefixItems for a tuple, or set $schema to draft-07.'
  }
  const [, wanted, isSound] = RULE_OF.get(keyword) ?? []
  return isSound?.(value) === false ? `${keyword} must be ${wanted}, not ${show(value)}` : undefined
}

/** Returns the subschemas of a keyword, with their keys if there are several. */
export function subschemasOf(keyword: string, value: unknown): [key: string | undefined, schema: unknown][] {
  if (MANY_SCHEMAS.has(keyword) || (keyword === 'items' && Array.isArray(value))) {
    return Object.entries(value as object).filter(
      ([, schema]) => schema !== undefined && !(keyword === 'dependencies' && Array.isArray(schema)),
    )
  }
  return ONE_SCHEMA.has(keyword) ? [[undefined, value]] : []
}

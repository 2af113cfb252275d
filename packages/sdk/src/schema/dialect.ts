import type { JsonSchema } from './json-schema.ts'
import { isObject, show } from './values.ts'

/** A dialect of JSON Schema: the draft it is built on and the vocabularies that are switched on. */
export interface Dialect {
  draft: Draft
  vocabularies: ReadonlySet<Vocabulary>
  /** The caller's own metaschema, where `$schema` names one of the handed-in documents. */
  metaschema?: JsonSchema
}

/** Drafts as numbers that sort by age. */
export type Draft = 6 | 7 | 2019 | 2020

/** How a keyword holds subschemas: one, a list, a map, or a mixture that older drafts allowed. */
export type Holds = 'schema' | 'list' | 'map' | 'schema-or-list' | 'map-or-names'

export interface Keyword {
  vocabulary: Vocabulary
  /** Says what a value of this keyword must be, when it is not. */
  fault?: (value: unknown) => string | undefined
  holds?: Holds
}

export const SUPPORTED_DIALECTS = '2020-12, 2019-09, draft-07, draft-06'

/** The keywords a dialect knows, by name. */
export function keywordsOf(dialect: Dialect): ReadonlyMap<string, Keyword> {
  let known = keywordCache.get(dialect)
  if (!known) {
    known = new Map(
      Object.entries(KEYWORDS)
        .map(([name, versions]) => [name, versions.find((version) => isKnown(version, dialect))] as const)
        .filter((entry): entry is [string, VersionedKeyword] => entry[1] !== undefined),
    )
    keywordCache.set(dialect, known)
  }
  return known
}

/** The dialect a `$schema` URI of json-schema.org names, if it is one of the supported ones. */
export function standardDialect(uri: string): Dialect | undefined {
  return STANDARD.get(uri.replace(/#$/, '').replace(/^http:/, 'https:'))
}

/** A dialect limited to the vocabularies a metaschema lists; a string is a required vocabulary nobody here knows. */
export function withVocabularies(base: Dialect, listed: Record<string, unknown>): Dialect | string {
  const vocabularies = new Set<Vocabulary>(['core'])
  for (const [uri, required] of Object.entries(listed)) {
    const name = /^https:\/\/json-schema\.org\/draft\/(?:2019-09|2020-12)\/vocab\/([a-z-]+)$/.exec(uri)?.[1]
    const known = name === undefined ? undefined : VOCABULARIES[name]
    if (known) for (const vocabulary of known(base.draft)) vocabularies.add(vocabulary)
    else if (required === true) return uri
  }
  return { ...base, vocabularies }
}

type Vocabulary = 'core' | 'applicator' | 'unevaluated' | 'validation' | 'format' | 'format-assertion' | 'annotation'

interface VersionedKeyword extends Keyword {
  since: Draft
  until: Draft
}

const ORDINARY: ReadonlySet<Vocabulary> = new Set<Vocabulary>([
  'core',
  'applicator',
  'unevaluated',
  'validation',
  'format',
  'annotation',
])

/** JSON Schema 2020-12: the dialect of a schema without `$schema`. */
export const DEFAULT_DIALECT: Dialect = { draft: 2020, vocabularies: ORDINARY }

const STANDARD = new Map<string, Dialect>([
  ['https://json-schema.org/draft/2020-12/schema', DEFAULT_DIALECT],
  ['https://json-schema.org/draft/2019-09/schema', { draft: 2019, vocabularies: ORDINARY }],
  ['https://json-schema.org/draft-07/schema', { draft: 7, vocabularies: ORDINARY }],
  ['https://json-schema.org/draft-06/schema', { draft: 6, vocabularies: ORDINARY }],
])

const VOCABULARIES: Record<string, (draft: Draft) => Vocabulary[]> = {
  core: () => ['core'],
  applicator: (draft) => (draft === 2019 ? ['applicator', 'unevaluated'] : ['applicator']),
  unevaluated: () => ['unevaluated'],
  validation: () => ['validation'],
  format: () => ['format'],
  'format-annotation': () => ['format'],
  'format-assertion': () => ['format', 'format-assertion'],
  'meta-data': () => ['annotation'],
  content: () => ['annotation'],
}

const keywordCache = new WeakMap<Dialect, ReadonlyMap<string, Keyword>>()

function isKnown(keyword: VersionedKeyword, dialect: Dialect): boolean {
  const { since, until, vocabulary } = keyword
  return since <= dialect.draft && dialect.draft <= until && dialect.vocabularies.has(vocabulary)
}

const TYPES = ['string', 'number', 'integer', 'boolean', 'null', 'array', 'object']

const aString = (value: unknown) => (typeof value === 'string' ? undefined : 'must be a string')
const aBoolean = (value: unknown) => (typeof value === 'boolean' ? undefined : 'must be true or false')
const aNumber = (value: unknown) => (Number.isFinite(value) ? undefined : 'must be a number')
const anArray = (value: unknown) => (Array.isArray(value) ? undefined : 'must be an array')
const aCount = (value: unknown) =>
  Number.isInteger(value) && (value as number) >= 0 ? undefined : 'must be a whole number, 0 or more'
const aStep = (value: unknown) =>
  Number.isFinite(value) && (value as number) > 0 ? undefined : 'must be a number above 0'
const anAnchor = (allowed: RegExp) => (value: unknown) =>
  typeof value === 'string' && allowed.test(value) ? undefined : `must match ${allowed.source}`
const anAnchor2019 = anAnchor(/^[A-Za-z][-A-Za-z0-9.:_]*$/)
const anAnchor2020 = anAnchor(/^[A-Za-z_][-A-Za-z0-9._]*$/)

function names(value: unknown): string | undefined {
  const sound = Array.isArray(value) && value.every((name) => typeof name === 'string')
  if (!sound) return 'must be an array of property names'
  return new Set(value).size === value.length ? undefined : 'must not name a property twice'
}

function nameLists(value: unknown): string | undefined {
  if (!isObject(value)) return 'must be an object'
  return Object.values(value).map(names).find(Boolean)
}

function typeNames(value: unknown): string | undefined {
  const list = Array.isArray(value) ? value : [value]
  const stranger = list.find((name) => !TYPES.includes(name as string))
  if (stranger !== undefined || list.length === 0) {
    return `${stranger === undefined ? 'must not be empty' : `${show(stranger)} is no JSON type`}; use ${TYPES.join(', ')}`
  }
  return new Set(list).size === list.length ? undefined : 'must not name a type twice'
}

function vocabularyList(value: unknown): string | undefined {
  const sound = isObject(value) && Object.values(value).every((required) => typeof required === 'boolean')
  return sound ? undefined : 'must map vocabulary URIs to true or false'
}

function recursiveReference(value: unknown): string | undefined {
  return value === '#' ? undefined : 'must be "#"'
}

const keyword = (vocabulary: Vocabulary, rest: Partial<VersionedKeyword> = {}): VersionedKeyword[] => [
  { vocabulary, since: 6, until: 2020, ...rest },
]
const core = (fault?: Keyword['fault'], since: Draft = 6, until: Draft = 2020) =>
  keyword('core', { fault, since, until })
const applicator = (holds: Holds, since: Draft = 6, until: Draft = 2020) =>
  keyword('applicator', { holds, since, until })
const validation = (fault?: Keyword['fault'], since: Draft = 6) => keyword('validation', { fault, since })
const annotation = (fault?: Keyword['fault'], since: Draft = 6) => keyword('annotation', { fault, since })

const KEYWORDS: Record<string, VersionedKeyword[]> = {
  $schema: core(aString),
  $id: core(aString),
  $ref: core(aString),
  $comment: core(aString, 7),
  $anchor: [...core(anAnchor2019, 2019, 2019), ...core(anAnchor2020, 2020)],
  $vocabulary: core(vocabularyList, 2019),
  $recursiveRef: core(recursiveReference, 2019, 2019),
  $recursiveAnchor: core(aBoolean, 2019, 2019),
  $dynamicRef: core(aString, 2020),
  $dynamicAnchor: core(anAnchor2020, 2020),
  $defs: keyword('core', { holds: 'map', since: 2019 }),
  definitions: keyword('core', { holds: 'map' }),

  allOf: applicator('list'),
  anyOf: applicator('list'),
  oneOf: applicator('list'),
  not: applicator('schema'),
  if: applicator('schema', 7),
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  then: applicator('schema', 7),
  else: applicator('schema', 7),
  properties: applicator('map'),
  patternProperties: applicator('map'),
  additionalProperties: applicator('schema'),
  propertyNames: applicator('schema'),
  dependencies: applicator('map-or-names'),
  dependentSchemas: applicator('map', 2019),
  prefixItems: applicator('list', 2020),
  items: [...applicator('schema-or-list', 6, 2019), ...applicator('schema', 2020)],
  additionalItems: applicator('schema', 6, 2019),
  contains: applicator('schema'),
  unevaluatedItems: keyword('unevaluated', { holds: 'schema', since: 2019 }),
  unevaluatedProperties: keyword('unevaluated', { holds: 'schema', since: 2019 }),

  type: validation(typeNames),
  enum: validation(anArray),
  const: validation(),
  multipleOf: validation(aStep),
  minimum: validation(aNumber),
  maximum: validation(aNumber),
  exclusiveMinimum: validation(aNumber),
  exclusiveMaximum: validation(aNumber),
  minLength: validation(aCount),
  maxLength: validation(aCount),
  pattern: validation(aString),
  minItems: validation(aCount),
  maxItems: validation(aCount),
  uniqueItems: validation(aBoolean),
  minContains: validation(aCount, 2019),
  maxContains: validation(aCount, 2019),
  minProperties: validation(aCount),
  maxProperties: validation(aCount),
  required: validation(names),
  dependentRequired: validation(nameLists, 2019),

  format: keyword('format', { fault: aString }),

  title: annotation(aString),
  description: annotation(aString),
  examples: annotation(anArray),
  readOnly: annotation(aBoolean, 7),
  writeOnly: annotation(aBoolean, 7),
  deprecated: annotation(aBoolean, 2019),
  contentEncoding: annotation(aString, 7),
  contentMediaType: annotation(aString, 7),
  contentSchema: keyword('annotation', { holds: 'schema', since: 2019 }),
}

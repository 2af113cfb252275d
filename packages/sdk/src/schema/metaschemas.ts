import type { JsonSchema } from './json-schema.ts'

/** The metaschema document with this URI, without its titles and defaults. */
export function metaschema(uri: string): JsonSchema | undefined {
  if (uri.startsWith(MODERN)) return modernMetaschema(uri.slice(MODERN.length))
  if (uri === 'http://json-schema.org/draft-07/schema') return classicMetaschema(uri, DRAFT_07)
  if (uri === 'http://json-schema.org/draft-06/schema') return classicMetaschema(uri, {})
  return undefined
}

const MODERN = 'https://json-schema.org/draft/'

const text = { type: 'string' }
const flag = { type: 'boolean' }
const number = { type: 'number' }
const step = { type: 'number', exclusiveMinimum: 0 }
const list = { type: 'array', items: true }
const reference = { type: 'string', format: 'uri-reference' }
const address = { type: 'string', format: 'uri' }
const regex = { type: 'string', format: 'regex' }
const count = { type: 'integer', minimum: 0 }
const names = { type: 'array', items: text, uniqueItems: true }
const simpleTypes = { enum: ['array', 'boolean', 'integer', 'null', 'number', 'object', 'string'] }
const mapOf = (schema: JsonSchema) => ({ type: 'object', additionalProperties: schema })
const defined = (folder: string, name: string) => ({ $ref: `#/${folder}/${name}` })

const DRAFT_07: JsonSchema = {
  $comment: text,
  readOnly: flag,
  writeOnly: flag,
  contentMediaType: text,
  contentEncoding: text,
  if: { $ref: '#' },
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  then: { $ref: '#' },
  else: { $ref: '#' },
}

function classicMetaschema(uri: string, more: JsonSchema): JsonSchema {
  const self = { $ref: '#' }
  const schemas = defined('definitions', 'schemaArray')
  return {
    $schema: `${uri}#`,
    $id: `${uri}#`,
    definitions: {
      schemaArray: { type: 'array', minItems: 1, items: self },
      nonNegativeInteger: count,
      nonNegativeIntegerDefault0: defined('definitions', 'nonNegativeInteger'),
      simpleTypes,
      stringArray: names,
    },
    type: ['object', 'boolean'],
    properties: {
      ...more,
      $id: reference,
      $schema: address,
      $ref: reference,
      title: text,
      description: text,
      default: true,
      examples: list,
      ...validationKeywords('definitions'),
      additionalItems: self,
      items: { anyOf: [self, schemas] },
      contains: self,
      additionalProperties: self,
      definitions: mapOf(self),
      properties: mapOf(self),
      patternProperties: { ...mapOf(self), propertyNames: { format: 'regex' } },
      dependencies: mapOf({ anyOf: [self, defined('definitions', 'stringArray')] }),
      propertyNames: self,
      format: text,
      allOf: schemas,
      anyOf: schemas,
      oneOf: schemas,
      not: self,
    },
  }
}

function validationKeywords(folder: string): JsonSchema {
  const size = defined(folder, 'nonNegativeInteger')
  const sizeOrZero = defined(folder, 'nonNegativeIntegerDefault0')
  const types = defined(folder, 'simpleTypes')
  return {
    type: { anyOf: [types, { type: 'array', items: types, minItems: 1, uniqueItems: true }] },
    const: true,
    enum: list,
    multipleOf: step,
    maximum: number,
    exclusiveMaximum: number,
    minimum: number,
    exclusiveMinimum: number,
    maxLength: size,
    minLength: sizeOrZero,
    pattern: regex,
    maxItems: size,
    minItems: sizeOrZero,
    uniqueItems: flag,
    maxProperties: size,
    minProperties: sizeOrZero,
    required: defined(folder, 'stringArray'),
  }
}

function modernMetaschema(path: string): JsonSchema | undefined {
  const [version = '', name = ''] = path.split(/\/(?:meta\/)?(?=[a-z-]+$)/)
  const build = Object.hasOwn(MODERN_PARTS, version) ? MODERN_PARTS[version] : undefined
  const parts = build?.()
  if (!parts) return undefined
  const names = Object.keys(parts.vocabularies)
  const head = (part: string, vocabularies: string[]) => ({
    $schema: `${MODERN}${version}/schema`,
    $id: `${MODERN}${version}/${part}`,
    $vocabulary: Object.fromEntries(
      vocabularies.map((vocabulary) => [`${MODERN}${version}/vocab/${vocabulary}`, parts.isRequired(vocabulary)]),
    ),
    ...parts.anchor,
    type: ['object', 'boolean'],
  })
  if (path === `${version}/schema`) {
    return { ...head('schema', names), allOf: names.map((part) => ({ $ref: `meta/${part}` })), ...parts.deprecated }
  }
  const body = path === `${version}/meta/${name}` && Object.hasOwn(parts.all, name) ? parts.all[name] : undefined
  return body && { ...head(`meta/${name}`, [name]), ...body }
}

interface ModernParts {
  anchor: JsonSchema
  /** The parts the metaschema itself is made of. */
  vocabularies: Record<string, JsonSchema>
  all: Record<string, JsonSchema>
  deprecated: JsonSchema
  isRequired(vocabulary: string): boolean
}

const MODERN_PARTS: Record<string, () => ModernParts> = { '2020-12': parts2020, '2019-09': parts2019 }

function parts2020(): ModernParts {
  const self = { $dynamicRef: '#meta' }
  const { unevaluatedItems, unevaluatedProperties, ...applicators } = applicatorKeywords(self)
  const anchorName = defined('$defs', 'anchorString')
  const vocabularies = {
    core: {
      properties: {
        ...coreKeywords(self),
        $id: { $ref: '#/$defs/uriReferenceString', pattern: '^[^#]*#?$' },
        $schema: defined('$defs', 'uriString'),
        $ref: defined('$defs', 'uriReferenceString'),
        $anchor: anchorName,
        $dynamicRef: defined('$defs', 'uriReferenceString'),
        $dynamicAnchor: anchorName,
      },
      $defs: {
        anchorString: { type: 'string', pattern: '^[A-Za-z_][-A-Za-z0-9._]*$' },
        uriString: address,
        uriReferenceString: reference,
      },
    },
    applicator: {
      properties: { ...applicators, prefixItems: defined('$defs', 'schemaArray'), items: self },
      $defs: { schemaArray: { type: 'array', minItems: 1, items: self } },
    },
    unevaluated: { properties: { unevaluatedItems, unevaluatedProperties } },
    validation: validationPart(),
    'meta-data': metadataPart(),
    'format-annotation': { properties: { format: text } },
    content: contentPart(self),
  }
  return {
    anchor: { $dynamicAnchor: 'meta' },
    vocabularies,
    all: { ...vocabularies, 'format-assertion': { properties: { format: text } } },
    deprecated: {
      properties: {
        definitions: mapOf(self),
        dependencies: mapOf({ anyOf: [self, { $ref: 'meta/validation#/$defs/stringArray' }] }),
        $recursiveAnchor: { $ref: 'meta/core#/$defs/anchorString' },
        $recursiveRef: { $ref: 'meta/core#/$defs/uriReferenceString' },
      },
    },
    isRequired: () => true,
  }
}

function parts2019(): ModernParts {
  const self = { $recursiveRef: '#' }
  const schemas = defined('$defs', 'schemaArray')
  const vocabularies = {
    core: {
      properties: {
        ...coreKeywords(self),
        $id: { ...reference, pattern: '^[^#]*#?$' },
        $schema: address,
        $anchor: { type: 'string', pattern: '^[A-Za-z][-A-Za-z0-9.:_]*$' },
        $ref: reference,
        $recursiveRef: reference,
        $recursiveAnchor: flag,
      },
    },
    applicator: {
      properties: { ...applicatorKeywords(self), additionalItems: self, items: { anyOf: [self, schemas] } },
      $defs: { schemaArray: { type: 'array', minItems: 1, items: self } },
    },
    validation: validationPart(),
    'meta-data': metadataPart(),
    format: { properties: { format: text } },
    content: contentPart(self),
  }
  return {
    anchor: { $recursiveAnchor: true },
    vocabularies,
    all: vocabularies,
    deprecated: {
      properties: {
        definitions: mapOf(self),
        dependencies: mapOf({ anyOf: [self, { $ref: 'meta/validation#/$defs/stringArray' }] }),
      },
    },
    isRequired: (vocabulary) => vocabulary !== 'format',
  }
}

function coreKeywords(self: JsonSchema): JsonSchema {
  return {
    $vocabulary: { type: 'object', propertyNames: address, additionalProperties: flag },
    $comment: text,
    $defs: mapOf(self),
  }
}

function applicatorKeywords(self: JsonSchema): JsonSchema {
  const schemas = defined('$defs', 'schemaArray')
  return {
    contains: self,
    additionalProperties: self,
    properties: mapOf(self),
    patternProperties: { ...mapOf(self), propertyNames: { format: 'regex' } },
    dependentSchemas: mapOf(self),
    propertyNames: self,
    if: self,
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: self,
    else: self,
    allOf: schemas,
    anyOf: schemas,
    oneOf: schemas,
    not: self,
    unevaluatedItems: self,
    unevaluatedProperties: self,
  }
}

function validationPart(): JsonSchema {
  return {
    properties: {
      ...validationKeywords('$defs'),
      maxContains: defined('$defs', 'nonNegativeInteger'),
      minContains: defined('$defs', 'nonNegativeInteger'),
      dependentRequired: mapOf(defined('$defs', 'stringArray')),
    },
    $defs: {
      nonNegativeInteger: count,
      nonNegativeIntegerDefault0: defined('$defs', 'nonNegativeInteger'),
      simpleTypes,
      stringArray: names,
    },
  }
}

function metadataPart(): JsonSchema {
  return {
    properties: {
      title: text,
      description: text,
      default: true,
      deprecated: flag,
      readOnly: flag,
      writeOnly: flag,
      examples: list,
    },
  }
}

function contentPart(self: JsonSchema): JsonSchema {
  return { properties: { contentEncoding: text, contentMediaType: text, contentSchema: self } }
}
